import { sensitivePlaces } from '../sensitive-places.ts';
import { wordList } from '../text.ts';
import { hasHole } from './marks.ts';
import { withDashes } from './msbuild.ts';
import { readOptions } from './options.ts';

/** A file that a program call uses, spelled as in the call. */
export interface FileUse {
  readonly path: string;
  readonly use: 'read' | 'write' | 'run';
  /**
   * VA-2: a use of a sensitive file that is not refused. `named`: its content is not read. `made`: it is made from its
   * template. `handed`: a program that is started gets it.
   */
  readonly secret?: 'named' | 'made' | 'handed';
  /** The caller chooses its content, so it must not have the name of a binary (TL-4). */
  readonly makes?: true;
}

/** Programs whose words are text, numbers or names, never files. */
const TEXT_PROGRAMS = new Set(
  wordList(`echo printf expr seq sleep kill pkill killall basename dirname which type whereis
  man info help whatis tr yes whoami id uname hostname logger say figlet cowsay tput stty true false date cal
  factor numfmt getconf nproc uptime free ps top pgrep getent locale systemctl service brew apt apt-get dnf yum
  pacman notify-send gh command hash complete compgen bind export declare local unset let set shift return exit
  break continue wait xdg-open open bazel bazelisk buck2`),
);
export const isTextProgram = (name: string): boolean => TEXT_PROGRAMS.has(name);

/** Programs whose first word is a pattern or a script, unless an option gives it. */
const PATTERN_FIRST =
  /^(e|f|z|p)?grep$|^(rg|ag|ack|ugrep|g?sed|[gmn]?awk|jq|yq|expect|rename|sd|fd|fdfind|locate|mlocate|perl-rename)$/;
const WRITES_LAST = /^(cp|gcp|mv|install|ln|rsync|scp|ditto|g?split|xxd|uniq|objcopy)$/;
const COPIES = /^(cp|gcp|mv|install|ln|rsync)$/;
/** Programs that write content chosen by the command line into the files they are given. */
const WRITES_GIVEN_CONTENT = /^(tee|sponge)$/;
const WRITES_ALL =
  /^(tee|touch|mkdir|rm|rmdir|unlink|shred|truncate|mkfifo|mknod|sponge|patch|ed|ex|vim?|nvim|nano|dos2unix|unix2dos)$/;
const MODE_FIRST = /^(chmod|chown|chgrp|chattr|setfacl)$/;
/** Programs that open every word they are given, whatever it looks like. */
const READS_ALL =
  /^(cat|bat|tac|head|tail|less|more|wc|nl|od|xxd|hexdump|strings|base64|base32|sort|uniq|cut|paste|file|stat|md5sum|sha\d+sum|shasum|cksum|diff|cmp|comm|source|\.|vi|vim|nvim|nano|emacs|ed|code|ls|tree|du|gzip|gunzip|zcat|bzip2|xz|zip|tar|cpio|rev|fold|fmt|view|openssl|gpg|split|csplit|iconv|dos2unix|jq|column|tee|readlink|realpath)$/;

/** Programs that show names, sizes and times of files, but not what is in them. */
const NAMES_ONLY = /^(ls|stat|du|tree|readlink|realpath)$/;
/** Programs that change who may use a file, but do not read what is in it. */
const CHANGES_RIGHTS = /^(chmod|chown|chgrp)$/;

/** The files that a program's arguments name, for any program (VA-2, VA-3). */
export function fileOperands(name: string, words: readonly string[]): readonly FileUse[] {
  const args = withDashes(name, words);
  const found = findOperands(name, args);
  if (CHANGES_RIGHTS.test(name)) return found.map((file) => ({ ...file, secret: 'named' }));
  if (NAMES_ONLY.test(name) || (name === 'git' && args[0] === 'check-ignore'))
    return found.map((file) => (file.use === 'read' ? { ...file, secret: 'named' } : file));
  const handed = envFilesOf(name, args);
  const template = copiedTemplate(name, args);
  return found.map((file) => {
    if (handed.includes(file.path)) return { ...file, secret: 'handed' };
    return template && file.use === 'write' && file.path === template.target
      ? { ...file, secret: 'made' }
      : file;
  });
}

/** Programs whose `--env-file` gives the variables of a file to what they start. */
const PASSES_ENV_FILE = /^(node|bun|deno|tsx|docker|docker-compose|podman|nerdctl)$/;
const ENV_FILE = /^--env-file(?:-if-exists)?(?:=(.*))?$/s;

/** The files that `--env-file` names. */
export function envFilesOf(name: string, args: readonly string[]): readonly string[] {
  if (!PASSES_ENV_FILE.test(name)) return [];
  return args.flatMap((word, index) => {
    const option = ENV_FILE.exec(word);
    return option ? (option[1] ?? args[index + 1] ?? []) : [];
  });
}

/** `cp .env.example .env`: a file with secrets that begins as a copy of its template. */
export function copiedTemplate(
  name: string,
  args: readonly string[],
): { readonly source: string; readonly target: string } | undefined {
  if (!/^g?cp$/.test(name)) return undefined;
  const { operands } = readOptions(args);
  const [source = '', target = '', ...more] = operands;
  const isMade = sensitivePlaces.find(lastPart(target))?.id === 'SENS-1' && TEMPLATE.test(lastPart(source));
  return more.length === 0 && isMade ? { source, target } : undefined;
}

const TEMPLATE =
  /^\.env[\w.-]*[._-](example|sample|template|tpl|dist|defaults?|schema)$|^(example|sample|template)\.env$/i;

function findOperands(name: string, args: readonly string[]): readonly FileUse[] {
  if (isTextProgram(name)) return [];
  if (name === 'git') return gitFiles(args);
  if (name === 'dd' || name === 'dcfldd')
    return args.flatMap((word): FileUse[] =>
      /^[io]f=/.test(word) ? [{ path: word.slice(3), use: word.startsWith('o') ? 'write' : 'read' }] : [],
    );
  const found: FileUse[] = [];
  const isPatternFirst = PATTERN_FIRST.test(name);
  const { operands, every, flags } = readOptions(
    args,
    isPatternFirst ? '-e -f -m --regexp --file --expression' : '',
  );
  let files = /^g?tar$/.test(name) && /^[A-Za-z]+$/.test(args[0] ?? '') ? operands.slice(1) : operands;
  if (isPatternFirst) {
    if (every('e', 'f', 'regexp', 'file', 'expression').length === 0) files = operands.slice(1);
    for (const path of every('f', 'file')) found.push({ path, use: 'read' });
  } else if (MODE_FIRST.test(name)) files = operands.slice(1);
  found.push(...optionFiles(name, args), ...outputFiles(name, args));
  for (const path of unpackTarget(name, args)) found.push({ path, use: 'write' });
  const edits =
    /^g?sed$/.test(name) &&
    ([...flags].some((flag) => flag.startsWith('i')) || args.some((word) => /^-[a-zA-Z]*i/.test(word)));
  for (const [index, path] of files.entries()) {
    const isLast = index === files.length - 1;
    if (
      WRITES_ALL.test(name) ||
      edits ||
      MODE_FIRST.test(name) ||
      name === 'mv' || // moving a file also changes its old place
      (WRITES_LAST.test(name) && isLast && files.length > 1)
    ) {
      const use = name === 'rm' && hasHole(path) ? 'read' : 'write';
      found.push({ path, use, ...((edits || WRITES_GIVEN_CONTENT.test(name)) && { makes: true }) });
    } else if (READS_ALL.test(name) || isPatternFirst || WRITES_LAST.test(name) || looksLikePath(path))
      found.push({ path, use: 'read' });
  }
  for (const { targets } of readCopies(name, args).copies)
    found.push({ path: targets[0] ?? '', use: 'write', makes: true });
  return found;
}

export const unpackers = wordList('tar gtar bsdtar unzip 7z 7za 7zz unrar cpio pax ditto');

/** The directory that an archiver call unpacks into, as written; empty if it does not unpack. For archivers without a manual. */
export function unpackTarget(name: string, args: readonly string[]): readonly string[] {
  const places = (unpacks: boolean, place = '.'): readonly string[] => (unpacks ? [place] : []);
  switch (name) {
    case '7z':
    case '7za':
    case '7zz':
    case 'unrar':
      return places(/^[xe]$/.test(args[0] ?? ''), args.find((word) => word.startsWith('-o'))?.slice(2));
    case 'cpio':
      return places(args.some((word) => /^-\w*i|^--extract/.test(word)));
    case 'pax':
      return places(args.some((word) => /^-\w*r/.test(word)));
    case 'ditto':
      return places(args.includes('-x') || args.includes('-xk'), args.at(-1));
    case 'gtar':
    case 'bsdtar': {
      // In `tar xzf a`, the first word is a bundle of options without a dash.
      const words = /^[A-Za-z]+$/.test(args[0] ?? '') ? [`-${args[0]}`, ...args.slice(1)] : args;
      const { flags } = readOptions(words);
      const { values } = readOptions(args.slice(1), '-C -f --directory --file');
      const extracts = flags.has('x') || flags.has('extract') || flags.has('get');
      return places(extracts, values.get('C') ?? values.get('directory'));
    }
    default:
      return [];
  }
}

/** For programs without a manual: a path has a slash or a dot, and is neither a URL nor a sentence. */
export const looksLikePath = (word: string): boolean =>
  /[./~]/.test(word) && !/\s|:\/\//.test(word) && !/^\d+(\.\d+)*$/.test(word);

/** Files in the values of options and assignments: `--file=x`, `-f./x`, `@x`, `key=@x`. */
export function optionFiles(name: string, args: readonly string[]): readonly FileUse[] {
  return args.flatMap((word): FileUse[] => {
    const path = /^(?:--?[\w-]+=|-[A-Za-z](?=[./~])|[\w-]+=@|@|-[A-Za-z]@)(.+)$/s.exec(word)?.[1];
    if (path === undefined || !looksLikePath(path)) return [];
    if (PASSES_ENV_FILE.test(name) && ENV_FILE.test(word)) return [{ path, use: 'read', secret: 'handed' }];
    const isOutput = /^--(out|output)/.test(word) || (name === 'sort' && word.startsWith('-o'));
    return [{ path, use: isOutput ? 'write' : 'read' }];
  });
}

/** Programs whose `-o` does not name an output file. */
const O_IS_NOT_OUTPUT =
  /^((e|f|z|p)?grep|rg|ag|ack|ls|ps|lsof|stat|ssh|scp|sftp|mount|umount|nm|od|who|set|curl|wget|ln|cp|mv|install|chmod|chown)$/;

/** Files that `-o x` and `--output x` name as the output. */
function outputFiles(name: string, args: readonly string[]): readonly FileUse[] {
  if (O_IS_NOT_OUTPUT.test(name)) return [];
  return args.flatMap((word, index): FileUse[] => {
    const found = /^(?:-o|-out|--out|--output|--outfile|--output-file)(?:=(.+))?$/s.exec(word);
    if (!found) return [];
    const path = found[1] ?? args[index + 1] ?? '';
    if (path === '' || !(looksLikePath(path) || hasHole(path))) return [];
    return [{ path, use: 'write', ...(/^g?sort$/.test(name) && { makes: true }) }];
  });
}

function gitFiles(args: readonly string[]): readonly FileUse[] {
  const subcommand = args.find((word) => !word.startsWith('-')) ?? '';
  const { operands } = readOptions(
    args,
    `${/^(commit|tag|stash)$/.test(subcommand) ? '-m -F -C -c -S -t' : '-C -c -S -G -L -U -n'}
    --message --grep --author --format --pretty --date`,
  );
  return operands.flatMap((word): FileUse[] => {
    const path = word.includes(':') && !word.includes('://') ? word.slice(word.indexOf(':') + 1) : word;
    if (!looksLikePath(path) || path.includes('@')) return [];
    return [{ path, use: /^(rm|mv|clone|init|worktree)$/.test(subcommand) ? 'write' : 'read' }];
  });
}

/** One copy that `cp`, `mv` or the like makes. */
interface Copy {
  readonly source: string;
  /** The possible results: without a disk, the last operand may be a file or a directory. */
  readonly targets: readonly string[];
}

const COPY_VALUES = '-t -S -m -o -g --target-directory --suffix --mode --owner --group';
const RSYNC_VALUES = '-e -f -T -B -M --rsh --exclude --include --filter --files-from';

export function readCopies(
  name: string,
  args: readonly string[],
): { copies: readonly Copy[]; isSymbolic: boolean } {
  if (!COPIES.test(name)) return { copies: [], isSymbolic: false };
  const { operands, values, flags } = readOptions(args, name === 'rsync' ? RSYNC_VALUES : COPY_VALUES);
  const isSymbolic = name !== 'rsync' && (flags.has('s') || flags.has('symbolic'));
  const directory = values.get('t') ?? values.get('target-directory');
  const sources = directory === undefined ? operands.slice(0, -1) : operands;
  const target = directory === undefined ? operands.at(-1) : `${directory}/`;
  if (target === undefined || isRemote(target)) return { copies: [], isSymbolic };
  // `ln -s a/x` makes a link called `x`.
  if (sources.length === 0)
    return { copies: isSymbolic ? [{ source: target, targets: [lastPart(target)] }] : [], isSymbolic };
  const isDirectory = /(^|\/)(\.{1,2})?$/.test(target) || sources.length > 1;
  const copies = sources.map((source) => {
    const inside = `${target}/${lastPart(source)}`;
    return { source, targets: isDirectory ? [inside] : [target, inside] };
  });
  return { copies, isSymbolic };
}

const lastPart = (path: string): string => {
  const trimmed = path.replace(/(?<!\/)\/+$/, '');
  const name = trimmed.slice(trimmed.lastIndexOf('/') + 1);
  return isRemote(name) ? name.slice(name.lastIndexOf(':') + 1) : name;
};

/** Whether a path is on another machine: `host:path`, `rsync://…`. */
export const isRemote = (path: string): boolean =>
  /^[\w.@-]{2,}::?[^:]/.test(path) || path.startsWith('rsync://');
