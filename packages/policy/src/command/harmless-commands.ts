import { executingPlaces } from '../executing-places.ts';
import { harmlessBuilders, listedProgram, pytestOptions, startingPrefixes } from './harmless-builders.ts';
import { harmlessGit } from './harmless-git.ts';

/**
 * A command that a grant by program covers (AP-4). Only the listed subcommands and options are covered, in exactly this
 * spelling: an abbreviation, a `--no-x` or an unlisted option leaves the call to the person. These lists do not use the
 * option tables in program/, so a mistake in such a table does not grant a call.
 */
export interface HarmlessCommand {
  /** The first words of the command: the program, and its subcommand if it has one. */
  readonly command: string;
  /**
   * The options as they must be spelled, or `any`. `-m=` takes a value, glued or as the next word; `--color[=]` only a glued
   * one, or none; `-#` is a number such as `-5`; `--x=y` is that whole word.
   */
  readonly options?: string;
  /** Every operand must match this. If left out, any word may be an operand. */
  readonly operand?: RegExp;
  readonly mostOperands?: number;
  /** The words after the first operand, or after `--`, belong to a script and are not checked. */
  readonly rest?: 'after operand' | 'after dashes';
  /** Examples, like those in `doesNotCover`; a test runs each. */
  readonly covers: readonly string[];
  readonly doesNotCover?: readonly string[];
}

const npmOptions = `--silent -s --quiet -q --json --long --depth= --all -a --if-present --workspaces -ws --workspace= -w=
  --include-workspace-root --loglevel= --no-color --color --parseable --omit= --no-progress --no-audit --no-fund`;

/** A script is known only by its name, so names that suggest publishing are not covered. */
const scriptName = /^(?!.*(publish|releas|deploy|upload|push|ship))[\w@.:/-]+$/i;

const npm: readonly HarmlessCommand[] = [
  ...['test', 't', 'tst'].map(
    (name): HarmlessCommand => ({
      command: `npm ${name}`,
      options: npmOptions,
      rest: 'after dashes',
      covers: [`npm ${name}`, `npm ${name} -- --watch`, `npm ${name} --silent`],
      doesNotCover: [
        `npm ${name} --script-shell=x`,
        `npm ${name} --no-global=false`,
        `npm --prefix x ${name}`,
      ],
    }),
  ),
  ...['run', 'run-script'].map(
    (name): HarmlessCommand => ({
      command: `npm ${name}`,
      options: npmOptions,
      operand: scriptName,
      rest: 'after dashes',
      covers: [`npm ${name} lint`, `npm ${name} build:all -- --fix src`, `npm ${name} --silent lint`],
      doesNotCover: [`npm ${name} publish`, `npm ${name} docs:deploy`, `npm ${name} lint --node-options=x`],
    }),
  ),
  ...['ls', 'list', 'outdated', 'explain', 'why', 'root', 'prefix', 'fund'].map(
    (name): HarmlessCommand => ({
      command: `npm ${name}`,
      options: npmOptions,
      operand: /^[\w@./-]+$/,
      covers: [`npm ${name}`, `npm ${name} --json`],
      doesNotCover: [`npm ${name} --global`, `npm ${name} --registry=x`],
    }),
  ),
  {
    command: 'npm audit',
    options: npmOptions,
    mostOperands: 0,
    covers: ['npm audit', 'npm audit --json'],
    doesNotCover: ['npm audit fix'],
  },
  {
    command: 'npm pack',
    options: '--dry-run --json',
    mostOperands: 0,
    covers: ['npm pack', 'npm pack --dry-run'],
    doesNotCover: ['npm pack lodash', 'npm pack --pack-destination=x'],
  },
  ...['view', 'info', 'show'].map(
    (name): HarmlessCommand => ({
      command: `npm ${name}`,
      options: npmOptions,
      operand: /^[\w@./-]+$/,
      covers: [`npm ${name} lodash versions`],
      doesNotCover: [`npm ${name} --viewer=id x`],
    }),
  ),
];

const node: HarmlessCommand = {
  command: 'node',
  options: `--test --check -c --watch --enable-source-maps --no-warnings --trace-warnings --trace-deprecation --no-deprecation
    --throw-deprecation --pending-deprecation --trace-uncaught --test-only --test-name-pattern= --test-skip-pattern=
    --test-concurrency= --test-timeout= --test-force-exit --test-shard= --experimental-test-coverage
    --experimental-strip-types --experimental-transform-types --experimental-vm-modules --expose-gc
    --max-old-space-size[=] --stack-trace-limit[=] --unhandled-rejections= -v --version -h --help
    --test-reporter=spec --test-reporter=tap --test-reporter=dot --test-reporter=junit --test-reporter=lcov`,
  operand: /^(?!(inspect|debug)$)[^:]*$/,
  rest: 'after operand',
  covers: [
    'node src/app.js',
    'node src/app.js --port 80 -e x',
    'node --test',
    'node --test --test-reporter=spec tests/a.test.js',
    'node --no-warnings --max-old-space-size=4096 build.mjs',
  ],
  doesNotCover: [
    'node -e 1',
    'node',
    'node -',
    'node - x',
    'node -- - x',
    'node -p 1',
    'node --import=./x.js src/app.js',
    'node --test --test-reporter=./x.js',
    'node --test --no-test',
    'node --env-file=x src/app.js',
    'node inspect src/app.js',
    'node --run build',
    'node --inspect src/app.js',
  ],
};

const python: readonly HarmlessCommand[] = ['python', 'python3'].flatMap((program): HarmlessCommand[] => [
  {
    command: program,
    options: '-u -B -I -E -s -S -O -V --version',
    rest: 'after operand',
    covers: [`${program} scripts/gen.py -c x`, `${program} -u scripts/gen.py`, `${program} --version`],
    doesNotCover: [
      `${program} -c 1`,
      program,
      `${program} -`,
      `${program} - x`,
      `${program} -u -- - x`,
      `${program} -m pip list`,
      `${program} -W error::a.B x.py`,
    ],
  },
  {
    command: `${program} -m pytest`,
    options: pytestOptions,
    operand: /^[^@]/,
    covers: [`${program} -m pytest`, `${program} -m pytest -xq tests -k login --tb=short`],
    doesNotCover: [`${program} -m pytest -p x`, `${program} -m pytest -c x.ini`, `${program} -m pytest @x`],
  },
  {
    command: `${program} -m unittest`,
    options: '-v -q -f -b -k= -s= -p= -t=',
    covers: [`${program} -m unittest`, `${program} -m unittest discover -s tests -v`],
  },
]);

/** Programs that only read and print, whatever their options. Files that they must not read are refused elsewhere. */
const readers: readonly HarmlessCommand[] = 'grep ls cat head tail wc locate echo pwd whoami'
  .split(' ')
  .map((program) => ({ command: program, options: 'any', covers: [`${program} -x y`] }));

export const harmlessCommands: readonly HarmlessCommand[] = [
  ...harmlessGit,
  ...npm,
  node,
  ...python,
  ...readers,
  ...harmlessBuilders,
  {
    command: 'find',
    options: `-name= -iname= -path= -ipath= -type= -size= -mtime= -mmin= -maxdepth= -mindepth= -newer= -empty -print -print0 -prune
      -not -o -a -and -or -regex= -ls -H -P`,
    covers: ["find src -name '*.ts' -type f", 'find . -maxdepth 2 -not -name x'],
    doesNotCover: ['find . -delete', 'find . -exec ls ;', 'find -L .'],
  },
  {
    command: 'date',
    options: '-u -I[=] -R -d=',
    operand: /^\+/,
    covers: ['date', 'date -u +%F'],
    doesNotCover: ['date -s x'],
  },
];

const byCommand = new Map(harmlessCommands.map((entry) => [entry.command, entry]));
/** The most words in any `command`. */
const MAX_COMMAND_WORDS = Math.max(...harmlessCommands.map(({ command }) => command.split(' ').length));

/**
 * Whether a command is only what a harmless one starts: `vitest run` of `npx vitest run`. The lists know the wrapper together
 * with what it starts.
 */
export function isStartedByHarmless(
  words: readonly (string | undefined)[],
  commands: readonly { readonly words: readonly (string | undefined)[] }[],
): boolean {
  return commands.some(
    (other) =>
      other.words.length > words.length &&
      wrapperWords(other.words) === other.words.length - words.length &&
      other.words.slice(-words.length).every((word, at) => word === words[at]) &&
      isHarmlessCommand(other.words),
  );
}

/** How many words come before the program that a listed wrapper starts; 0 if the command is none. */
function wrapperWords([first, second]: readonly (string | undefined)[]): number {
  if (first === 'npx') return 1;
  return startingPrefixes.includes(`${first} ${second}`) ? 2 : 0;
}

/** Whether a grant by program covers this command. The entry with the longest matching `command` decides. */
export function isHarmlessCommand(spelled: readonly (string | undefined)[]): boolean {
  if (!spelled.every((word) => word !== undefined)) return false; // a word is only known at run time
  const words = spelled.map((word, at) => (at === 0 ? listedProgram(word) : word));
  for (let length = Math.min(MAX_COMMAND_WORDS, words.length); length > 0; length--) {
    const beginning = words.slice(0, length);
    const entry = beginning.some((word) => word.includes(' '))
      ? undefined
      : byCommand.get(beginning.join(' '));
    if (entry) return hasOnlyListedWords(entry, words.slice(length));
  }
  return false;
}

function hasOnlyListedWords(entry: HarmlessCommand, words: readonly string[]): boolean {
  if (entry.options === 'any') return true;
  // A formatter changes the files that it is given (VA-3).
  if (harmlessBuilders.includes(entry) && words.some((word) => executingPlaces.find(word) !== undefined))
    return false;
  const listed = new Set(entry.options?.split(/\s+/) ?? []);
  let operands = 0;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string;
    if (word === '--') {
      if (entry.rest === 'after dashes') return true;
    } else if (word.startsWith('-')) {
      const option = findListedOption(word, listed);
      if (option === undefined) return false;
      // A value that looks like an option may be one.
      if (option.takesNext && words[++at]?.startsWith('-') !== false) return false;
    } else {
      if (entry.operand && !entry.operand.test(word)) return false;
      if (++operands > (entry.mostOperands ?? words.length)) return false;
      if (entry.rest === 'after operand') return true;
    }
  }
  // Without a script, node and python read code from standard input.
  return entry.rest !== 'after operand' || words.some((word) => needsNoScript.has(word));
}

const needsNoScript = new Set(['--test', '-v', '-V', '--version', '-h', '--help']);

/** Returns undefined for an option that is not listed. `takesNext`: the next word is its value. */
function findListedOption(
  word: string,
  listed: ReadonlySet<string>,
): { readonly takesNext: boolean } | undefined {
  if ((listed.has(word) && !word.endsWith('=')) || listed.has(`${word}[=]`)) return { takesNext: false };
  // A lone dash is standard input to many programs.
  if (word === '-') return undefined;
  if (listed.has(`${word}=`)) return { takesNext: true };
  const name = word.slice(0, Math.max(0, word.indexOf('=')));
  if (name !== '' && (listed.has(`${name}=`) || listed.has(`${name}[=]`))) return { takesNext: false };
  if (word.startsWith('--')) return undefined;
  if (/^-\d+$/.test(word)) return listed.has('-#') ? { takesNext: false } : undefined;
  for (let at = 1; at < word.length; at++) {
    const letter = `-${word[at]}`;
    if (listed.has(`${letter}=`)) return { takesNext: at === word.length - 1 };
    if (listed.has(`${letter}[=]`)) return { takesNext: false };
    if (!listed.has(letter)) return undefined;
  }
  return { takesNext: false };
}

/**
 * Variables that a command may set under a grant by program (AP-4): they only change the output or the mode of a project.
 * Other variables may configure the program or what it starts: `GIT_TRACE` writes a file, `PYTEST_ADDOPTS` loads a plug-in,
 * `NPM_CONFIG_NODE_OPTIONS` loads a script. A list of the dangerous ones could never be complete.
 */
const harmlessVariables: ReadonlySet<string> = new Set(
  `CI TZ LANG LANGUAGE TERM COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE DEBUG VERBOSE LOG_LEVEL
  PORT NODE_ENV NODE_NO_WARNINGS NODE_DEBUG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING
  PYTHONUTF8 PYTHONFAULTHANDLER GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
  GIT_COMMITTER_DATE GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS`.split(/\s+/),
);

export const isHarmlessVariable = (name: string): boolean =>
  harmlessVariables.has(name) || /^LC_[A-Z]+$/.test(name);
