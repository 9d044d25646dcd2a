import { codeInOptions, type ExecutedByCall, executedBy, isInterpreter, isShell } from './executed-code.ts';
import { type FileUse, fileOperands, looksLikePath, unpackTarget } from './file-operands.ts';
import { filesOfFind, innerCallsOfFind, readFound } from './find/find-call.ts';
import { innerCallsOfGit } from './git/git-call.ts';
import { manuals } from './manuals.ts';
import { UNKNOWN } from './marks.ts';
import { type Note, Notes } from './notes.ts';
import { resolveCommand } from './npm-options.ts';
import { readOptions } from './options.ts';
import { plainCommandWords } from './plain-words.ts';
import { openWrapper, type WrappedCall } from './wrappers.ts';

/** What one program call does, as far as its words show. Each property is computed when it is read. */
export interface ProgramReading {
  /** Files that it reads and writes, spelled as in the call, in the order in which a card shows them. */
  readonly files: readonly FileUse[];
  /** Files whose content it executes. */
  readonly runs: readonly ExecutedByCall[];
  /** Directories that an archive is unpacked into. The archive decides which files are written there. */
  readonly unpacksInto: readonly string[];
  /** Whether it cannot do its work without network. */
  readonly network: boolean;
  /** What it executes in turn: programs, lines for a shell, code. */
  readonly innerCalls: readonly InnerCall[];
  /** What its manual says, word by word; execute_command judges these. Without a manual, each word may be a path. */
  readonly notes: readonly Note[];
  /** Set if the call only starts another program, which its words name: `env A=b program`. */
  readonly wrapper: WrappedCall | undefined;
}

/**
 * Reads the words of any program, for execute_command and for shell lines (docs/decisions/0021). Without a manual for the
 * program, a doubtful word counts as a file, and an unknown option takes no value. `contentOf` returns the known content of
 * a file.
 */
export function readProgram(
  [name = '', ...args]: readonly string[],
  contentOf: (file: string) => string = () => UNKNOWN,
): ProgramReading {
  return {
    get notes() {
      const manual = manuals.get(name);
      const notes = new Notes(manual);
      if (manual) manual.read(args, notes);
      else notes.unknownWords(args);
      return notes.list;
    },
    get files() {
      if (isFind(name)) return filesOfFind(readFound(name, args, contentOf));
      if (manuals.get(name)?.inShell) return filesInNotes(this.notes);
      return [...fileOperands(name, args), ...(isFetcher(name, args) ? savedFiles(name, args) : [])];
    },
    get unpacksInto() {
      if (manuals.get(name)?.inShell) return unpackedInNotes(this.notes);
      return unpackTarget(name, args);
    },
    get runs() {
      return executedBy(name, args);
    },
    get network() {
      return needsNetwork(name, args);
    },
    get innerCalls() {
      return [
        ...codeInOptions(name, args).map((code): InnerCall => ({ code, certainty: 'possible' })),
        ...(name === 'git' ? innerCallsOfGit(args) : []),
        ...(isFind(name) ? innerCallsOfFind(readFound(name, args, contentOf)) : []),
        ...(this.wrapper?.calls ?? []),
      ];
    },
    get wrapper() {
      // `bun x` runs a script: bun counts as an interpreter, not as a wrapper.
      return isShell(name) || isInterpreter(name) ? undefined : openWrapper(name, args);
    },
  };
}

export const isFind = (name: string): boolean => /^(g?find|fd|fdfind)$/.test(name);

/** The files in a manual's notes, in order. Paths after `-C` stay as they are written. */
function filesInNotes(notes: readonly Note[]): readonly FileUse[] {
  const unpacked = unpackedInNotes(notes).map((path): FileUse => ({ path, use: 'write' }));
  const named = notes.flatMap((note): FileUse[] => {
    if (note.kind === 'path' || note.kind === 'directory')
      return [{ path: note.text, use: note.use === 'name' ? 'read' : note.use }];
    const isPattern = note.kind === 'pattern' || (note.kind === 'maybe path' && looksLikePath(note.text));
    return isPattern ? [{ path: note.text, use: 'read' }] : [];
  });
  return [...unpacked, ...named];
}

function unpackedInNotes(notes: readonly Note[]): readonly string[] {
  let directory = '.';
  return notes.flatMap((note) => {
    const from = note.fromStart ? '.' : directory;
    if (note.kind !== 'directory' && note.kind !== 'unpack') return [];
    const place =
      note.text === '.'
        ? from
        : note.text.startsWith('/') || from === '.'
          ? note.text
          : `${from}/${note.text}`;
    if (note.kind === 'unpack') return [place];
    directory = place;
    return [];
  });
}

/** Something that a program executes in turn. */
export type InnerCall = (
  | /** A program with its words. */ { readonly words: readonly string[] }
  | /** A line for a shell. */ { readonly line: string }
  | /** Text that is executed as a shell line or as code of another language. */ { readonly code: string }
) & {
  /** `guess`: executed only if the unknown words before it belong to the wrapper. A guess adds no reasons to a card. */
  readonly certainty: 'sure' | 'possible' | 'guess';
};

/** Programs whose output, or the file they save, comes from the network. */
const FETCHERS =
  /^(curl|wget|fetch|aria2c|axel|https?|xh|httpie|curlie|wcurl|nc|ncat|netcat|socat|telnet|ftp|lftp|sftp|scp|rclone|tftp|ssh|GET|lynx|w3m|e?links|lwp-(request|download)|grpcurl|websocat|wscat|hurl|xidel|yt-dlp|youtube-dl|smbclient|mosquitto_sub|ldapsearch|bitsadmin|curl\.exe|wget\.exe|dig|host|nslookup|gh|aws|gsutil|gcloud|az|whois|ipfs|magic-wormhole|wormhole)$/;

const NETWORK_SUBCOMMANDS: Readonly<Record<string, RegExp>> = {
  git: /^(fetch|pull|push|clone|ls-remote|submodule|remote|lfs|send-email|archive)$/,
  npm: /^(ci|install|update|publish|exec|view|audit|outdated|login|search|ping|init|pack|install-test|install-ci-test|uninstall|dedupe|fund)$/,
  pnpm: /^(i|install|add|update|up|publish|dlx|create|audit|outdated|fetch)$/,
  yarn: /^(install|add|upgrade|up|publish|dlx|create|audit|npm)$/,
  bun: /^(i|install|add|update|publish|x|create)$/,
  pip: /^(install|download|search|index)$/,
  pip3: /^(install|download|search|index)$/,
  pipx: /^(install|run|upgrade)$/,
  uv: /^(pip|add|sync|tool|lock|run|publish)$/,
  poetry: /^(install|add|update|publish|lock)$/,
  conda: /^(install|create|update|search)$/,
  cargo: /^(install|add|update|fetch|publish|search)$/,
  go: /^(get|install|mod)$/,
  dotnet: /^(nuget|restore|tool|workload)$/,
  twine: /^(upload|register)$/,
  gem: /^(install|update|push|fetch)$/,
  bundle: /^(install|update)$/,
  composer: /^(install|update|require)$/,
  docker: /^(pull|push|build|run|login|compose|buildx|search)$/,
  podman: /^(pull|push|build|run|login|search)$/,
  mvn: /./,
  gradle: /./,
  kubectl: /./,
  helm: /./,
  terraform: /^(init|apply|plan|destroy)$/,
};
const NETWORK_PROGRAMS =
  /^(npx|bunx|pnpx|apt|apt-get|aptitude|yum|dnf|zypper|pacman|yay|apk|brew|snap|flatpak|emerge|ping|ping6|traceroute|mtr|nmap|rdate|ntpdate|ssh-copy-id|mosh|svn|hg|mail|sendmail|mutt|redis-cli|psql|mysql|mongosh?)$/;

/** Whether a program call cannot do its work without network. */
function needsNetwork(name: string, args: readonly string[]): boolean {
  if (FETCHERS.test(name) || NETWORK_PROGRAMS.test(name)) return true;
  if (/^python[\d.]*$/.test(name) && args[0] === '-m') return needsNetwork(args[1] ?? '', args.slice(2));
  if (name === 'rsync')
    return args.some((word) => /^[\w.@-]+::?\S/.test(word) || word.startsWith('rsync://'));
  const subcommands = Object.hasOwn(NETWORK_SUBCOMMANDS, name) ? NETWORK_SUBCOMMANDS[name] : undefined;
  if (!subcommands) return false;
  const first = args.find((word) => !word.startsWith('-'));
  if (name === 'yarn' && first === undefined) return true;
  const found = name === 'git' ? [] : [name === 'npm' ? resolveCommand(first ?? '') : first];
  // A word after an unknown option of npm may be the value or the subcommand: both readings count.
  if (name === 'git' || name === 'npm') found.push(plainCommandWords([name, ...args])[1]);
  return found.some((subcommand) => subcommand !== undefined && subcommands.test(subcommand));
}

/** First words with which a program prints its own text instead of a download: `gh completion -s bash`. */
const PRINTS_ITSELF = /^(completion|completions|help|version|--help|--version)$/;

export const isFetcher = (name: string, args: readonly string[]): boolean =>
  (FETCHERS.test(name) && !PRINTS_ITSELF.test(args[0] ?? '')) ||
  (name === 'openssl' && args[0] === 's_client');

/** Files that a fetching program writes its download to. */
export const savedFiles = (name: string, args: readonly string[]): readonly FileUse[] =>
  targetsOf(name, args)
    .filter((path) => !isStandardOutput(path))
    .map((path) => ({ path, use: 'write', makes: true }));

/** Whether a fetching program prints its download. */
export function printsFetched(name: string, args: readonly string[]): boolean {
  const targets = targetsOf(name, args);
  return targets.length === 0 || targets.some(isStandardOutput);
}

const isStandardOutput = (target: string): boolean => target === '-' || target === '/dev/stdout';

function targetsOf(name: string, args: readonly string[]): readonly string[] {
  switch (name) {
    case 'curl':
    case 'curlie': {
      const { flags, values, every, operands } = readOptions(
        args,
        '-A -b -c -C -d -D -e -E -F -h -H -K -m -o -P -Q -r -t -T -u -U -w -x -X -y -Y -z --output --header --data --request --user --url --output-dir --max-time --retry --connect-timeout --user-agent --cookie --data-raw --form',
      );
      const named = [...every('o', 'output')];
      if (flags.has('O') || flags.has('remote-name') || flags.has('remote-name-all'))
        named.push(...[...operands, ...every('url')].map(urlName));
      const directory = values.get('output-dir');
      return directory === undefined ? named : named.map((file) => `${directory}/${file}`);
    }
    case 'wget': {
      const { values, operands } = readOptions(
        args,
        '-O -P -o -U -e -i -t -T -w -Q -a -A -B -D -I -R -X -l -Y --output-document --directory-prefix --header --user-agent --post-data --post-file --tries --timeout',
      );
      const named = values.get('O') ?? values.get('output-document');
      if (named !== undefined) return [named];
      const prefix = values.get('P') ?? values.get('directory-prefix');
      return operands.map((url) => (prefix ? `${prefix}/${urlName(url)}` : urlName(url)));
    }
    case 'aria2c':
    case 'axel':
    case 'fetch':
    case 'http':
    case 'https':
    case 'xh': {
      const { values, operands } = readOptions(args, '-o -d -a -s -x --out --output --dir');
      const named = values.get('o') ?? values.get('out') ?? values.get('output');
      return named !== undefined ? [named] : /^(aria2c|axel|fetch)$/.test(name) ? operands.map(urlName) : [];
    }
    case 'scp':
    case 'sftp': {
      const target = args.at(-1) ?? '';
      return target.includes(':')
        ? []
        : [
            target,
            ...args.slice(0, -1).map((source) => `${target}/${urlName(source.replace(/^[^/]*:/, ''))}`),
          ];
    }
    case 'aws':
    case 'gsutil':
    case 'gcloud':
    case 'rclone': {
      // `aws s3 cp s3://b/x .`
      const { operands } = readOptions(args);
      const [source = '', target = ''] = operands.slice(-2);
      const copies =
        /^(cp|copy|copyto|mv|sync|rsync)$/.test(operands.at(-3) ?? '') && /^[\w-]+:/.test(source);
      return copies ? [target, `${target}/${urlName(source.replace(/^[^/]*:\/*/, ''))}`] : [];
    }
    default:
      return [];
  }
}

/** The last part of a URL: `wget` and `curl -O` name the file after it. */
const urlName = (url: string): string => {
  const path = url.replace(/[?#].*$/, '').replace(/^\w+:\/\/[^/]*\/?/, '');
  return path.slice(path.lastIndexOf('/') + 1) || 'index.html';
};
