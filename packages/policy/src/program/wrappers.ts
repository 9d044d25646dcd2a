import { wordList } from '../text.ts';
import { hasHole, hasPattern } from './marks.ts';
import { namesOf, readOptions } from './options.ts';
import type { InnerCall } from './read-program.ts';

/**
 * A program that runs another program named in its words. The inner call, and the lines that `code` options give to a
 * shell, are judged like calls of the line itself.
 */
interface Wrapper {
  readonly names: readonly string[];
  /** Options that take a value, so that the value is not taken for the program. */
  readonly values?: string;
  /** How many operands of its own come before the program: a duration, a lock file, a root directory. */
  readonly operandsBefore?: number;
  /** `A=b` words before the program. */
  readonly assignments?: boolean;
  /** Options whose value is a line for a shell. */
  readonly code?: string;
  /** Options whose value is split at blanks and put before the words that follow: `env -S 'rm -rf' /`. */
  readonly split?: string;
  /** Options that name the directory the program is started in. */
  readonly directory?: string;
  /** The words are joined and given to a shell. */
  readonly joined?: boolean;
  /** It is a wrapper only with one of these words: `npm exec`, `poetry run`. */
  readonly subcommands?: readonly string[];
  readonly matches: readonly string[];
}

/** Each example runs `rm -rf /` through the wrapper; a test checks that every one is refused. */
export const wrappers: readonly Wrapper[] = [
  {
    names: ['command', 'builtin', 'exec'],
    values: '-a',
    matches: ['command rm -rf /', 'exec -a x rm -rf /', 'command -p rm -rf /', 'builtin command rm -rf /'],
  },
  {
    names: ['env', 'genv'],
    values: '-u -C -P --unset --chdir',
    assignments: true,
    code: '-S --split-string',
    split: '-S --split-string',
    directory: '-C --chdir',
    matches: [
      'env A=b rm -rf /',
      "env -S 'rm -rf' /",
      "env --split-string='rm -rf' /",
      "env -S 'rm\\_-rf\\_/'",
      "env -C / sh -c 'rm -rf *'",
      "env --chd=/ sh -c 'rm -rf ./*'",
      "env -S 'rm -rf /'",
      'env -i -u X rm -rf /',
      "env -vS 'rm -rf /'",
      "env --split-string='rm -rf /'",
    ],
  },
  {
    names: wordList(`nohup setsid chronic eatmydata fakeroot linux32 linux64 catchsegv unbuffer caffeinate
      torsocks torify proxychains proxychains4 rlwrap winpty dbus-run-session aa-exec pkttyagent vglrun cgexec
      lttng systemd-inhibit daemonize with-contenv tini dumb-init catatonit`),
    values: '-g -p -u',
    matches: ['nohup rm -rf /', 'setsid -f rm -rf /'],
  },
  {
    names: wordList('ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1'),
    values: '--preload --library-path --audit --argv0 --inhibit-rpath',
    matches: [
      '/lib64/ld-linux-x86-64.so.2 /bin/rm -rf /',
      '/lib/ld-linux.so.2 --library-path x --preload y /usr/bin/rm -rf /',
    ],
  },
  {
    names: ['time', 'gtime'],
    values: '-o -f --output --format',
    matches: ['/usr/bin/time -o t rm -rf /', 'command time rm -rf /'],
  },
  {
    names: ['nice', 'ionice', 'gnice'],
    values: '-n -c -p -P -u --adjustment --class --classdata',
    matches: ['nice -n 5 rm -rf /', 'ionice -c2 -n 7 rm -rf /', 'nice -5 rm -rf /'],
  },
  {
    names: ['timeout', 'gtimeout'],
    values: '-k -s --kill-after --signal',
    operandsBefore: 1,
    matches: ['timeout 5 rm -rf /', 'timeout -k 5 10 rm -rf /', 'timeout --signal=KILL 1 rm -rf /'],
  },
  {
    names: ['stdbuf', 'gstdbuf'],
    values: '-i -o -e --input --output --error',
    matches: ['stdbuf -oL rm -rf /', 'stdbuf -o L rm -rf /'],
  },
  {
    names: wordList('taskset chrt setarch cpulimit numactl prlimit faketime'),
    operandsBefore: 1,
    matches: ['taskset 1 rm -rf /', 'chrt 5 rm -rf /', 'setarch x86_64 rm -rf /'],
  },
  {
    names: ['flock'],
    values: '-w -E --timeout --wait --conflict-exit-code',
    operandsBefore: 1,
    code: '-c --command',
    matches: ['flock f rm -rf /', "flock f -c 'rm -rf /'", "flock -n f -c 'rm -rf /'"],
  },
  {
    names: ['unshare'],
    values: '-R -w -S -G --root --wd --setuid --setgid --map-user --map-group --propagation --setgroups',
    directory: '-w --wd',
    matches: ['unshare -m rm -rf /', "unshare -r --wd=/ sh -c 'rm -rf *'"],
  },
  {
    names: wordList('capsh setpriv firejail bwrap proot sem fakechroot'),
    values: '-S -G -b -r -w --setuid --setgid --bind --ro-bind --dev --proc --tmpfs --chdir',
    directory: '--chdir',
    matches: [
      'firejail rm -rf /',
      'firejail --quiet rm -rf /',
      'proot rm -rf /',
      'proot -0 -r x rm -rf /',
      'bwrap --bind / / rm -rf /',
      'setpriv --no-new-privs rm -rf /',
    ],
  },
  {
    names: wordList('strace ltrace dtruss valgrind perf gdb lldb rr heaptrack ktrace truss'),
    values: '-e -o -p -s -a -O -P -S -u -E -X',
    matches: ['strace -f rm -rf /', 'strace -o f rm -rf /', 'gdb --args rm -rf /', 'perf stat rm -rf /'],
  },
  {
    names: wordList(`watch hyperfine entr nodemon reflex watchexec cross-env-shell concurrently onchange
      chokidar`),
    values: '-n -w -r -m --interval --warmup --runs --exec',
    joined: true,
    code: '--exec -c -s',
    matches: ['watch rm -rf /', "watch -n 1 'rm -rf /'", "hyperfine 'rm -rf /'", 'ls | entr rm -rf /'],
  },
  {
    names: ['script'],
    values: '-I -O -B -T -m -o -E',
    code: '-c --command',
    matches: ["script -c 'rm -rf /' f", "script -qec 'rm -rf /' /dev/null", "script --command='rm -rf /'"],
  },
  {
    names: ['parallel'],
    values: '-j -N -L -n -I -S -P --jobs --delay --timeout',
    joined: true,
    matches: ["parallel 'rm -rf /' ::: a", 'parallel rm -rf ::: /', 'parallel -j 4 rm -rf ::: /'],
  },
  {
    names: wordList('busybox toybox coreutils uutils'),
    matches: ['busybox rm -rf /', 'busybox sh -c "rm -rf /"', 'toybox rm -rf /'],
  },
  {
    names: wordList(`tmux screen xterm gnome-terminal konsole dtach abduco zellij byobu alacritty kitty foot
      start xdg-terminal-exec`),
    values: '-S -t -n -L -f -T -c -e',
    joined: true,
    code: '-e -c --command',
    matches: [
      "tmux new -d 'rm -rf /'",
      'screen -dm rm -rf /',
      'xterm -e "rm -rf /"',
      'tmux new-session rm -rf /',
    ],
  },
  {
    names: wordList(`npx bunx pnpx dotenv cross-env doppler direnv mise asdf nvm volta rbenv pyenv xvfb-run
      systemd-run start-stop-daemon nix nix-shell guix devbox flox pixi hatch rye pdm corepack`),
    values: '-p -c --package --run --command --call --exec',
    assignments: true,
    code: '-c --call --run --command',
    matches: [
      "npx -c 'rm -rf /'",
      'npx rm -rf /',
      'cross-env A=b rm -rf /',
      "nix-shell --run 'rm -rf /'",
      'systemd-run rm -rf /',
    ],
  },
  {
    names: wordList('npm pnpm yarn bun'),
    subcommands: ['exec', 'x', 'dlx'],
    values: '-c -p --call --package',
    code: '-c --call',
    matches: ['npm exec -- rm -rf /', "npm exec -c 'rm -rf /'"],
  },
  {
    names: wordList('poetry pipenv uv bundle conda op mamba micromamba'),
    subcommands: ['exec', 'run'],
    values: '-n -p',
    matches: ['poetry run rm -rf /', 'bundle exec rm -rf /'],
  },
  {
    names: ['runcon', 'sg', 'newgrp'],
    operandsBefore: 1,
    code: '-c',
    matches: ["sg staff -c 'rm -rf /'", 'runcon x rm -rf /'],
  },
];

const byName = new Map(wrappers.flatMap((wrapper) => wrapper.names.map((name) => [name, wrapper] as const)));

/** The program that a wrapper starts. */
export interface WrappedCall {
  readonly calls: readonly InnerCall[];
  /** Variables that the wrapper sets for the program: `A=b`. */
  readonly assignments: readonly string[];
  /** The directory that the wrapper starts the program in. */
  readonly directory: string | undefined;
}

/** What a wrapper runs; undefined if the program is not a wrapper. */
export function openWrapper(name: string, args: readonly string[]): WrappedCall | undefined {
  const wrapper = byName.get(name);
  if (!wrapper) return undefined;
  let words = args;
  if (wrapper.subcommands) {
    const at = args.findIndex((word) => wrapper.subcommands?.includes(word));
    if (at < 0) return undefined;
    words = args.slice(at + 1);
  }
  if (name === 'command' && /^-[pvV]*[vV]/.test(words[0] ?? ''))
    return { calls: [], assignments: [], directory: undefined };
  // A single letter also abbreviates a long option: `script --c 'x'`.
  const codeOptions = (wrapper.code ?? '').replace(/(?<= |^)-(\w)(?= |$)/g, '-$1 --$1');
  const codeNames = namesOf(codeOptions);
  const { every, operands } = readOptions(words, `${wrapper.values ?? ''} ${codeOptions}`, {
    permutes: false,
  });
  const code = [...every(...codeNames)];
  // Options may also follow the wrapper's own operands: `flock f -c 'x'`.
  if (wrapper.code && operands[wrapper.operandsBefore ?? 0]?.startsWith('-'))
    code.push(...readOptions(operands, codeOptions).every(...codeNames));
  const split = every(...namesOf(wrapper.split ?? ''));
  let rest = [
    ...split.flatMap((text) => wordList(text.replaceAll('\\_', ' '))),
    ...operands.slice(wrapper.operandsBefore ?? 0),
  ];
  const assignments: string[] = [];
  while (wrapper.assignments && /^[^=]+=/.test(rest[0] ?? '')) {
    assignments.push(rest[0] as string);
    rest = rest.slice(1);
  }
  const calls: InnerCall[] = rest.length > 0 ? [{ words: rest, certainty: 'sure' }] : [];
  // The first words may be the wrapper's own (`chroot /x`, `perf stat`, `tmux new`): also try the calls after them.
  for (let skip = 1; skip <= 3 && skip < rest.length; skip++)
    if (mayBelongToWrapper(name, rest[skip - 1] as string) && !namesFiles(rest[skip] as string))
      calls.push({ words: rest.slice(skip), certainty: 'guess' });
  if (wrapper.joined && rest.length > 0)
    code.push(
      rest.map((word) => (word === ':::' ? '' : word)).join(' '),
      ...rest.filter((word) => word.includes(' ')),
    );
  const directory = every(...namesOf(wrapper.directory ?? '')).at(-1);
  const lines = code.map((line): InnerCall => ({ line, certainty: 'sure' }));
  return { calls: [...calls, ...lines], assignments, directory };
}

const mayBelongToWrapper = (name: string, word: string): boolean =>
  !['command', 'builtin', 'exec', 'env', 'nohup', 'busybox', 'toybox'].includes(name) && !word.includes(' ');

/** Whether a word names files, so that it cannot be the program: `poetry run pytest tests/`, `npx eslint src/*.ts`. */
const namesFiles = (word: string): boolean =>
  word.endsWith('/') || (hasPattern(word) && !hasHole(word) && /^[\w-].*\/[^/]*\.\w+$/.test(word));
