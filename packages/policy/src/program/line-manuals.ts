import { wordList } from '../text.ts';
import { awk } from './awk.ts';
import { buildManual } from './build/build-manuals.ts';
import * as buildRules from './build/rules.ts';
import { fileChangers } from './file-changers.ts';
import { manuals } from './manuals.ts';
import { nameReaders } from './name-readers.ts';
import type { Manual, Notes } from './notes.ts';
import { optionTable, parseOptions } from './options.ts';
import { isOwnServerCall, ownServer } from './own-server.ts';
import { type CommandRule, onlyPrints } from './rules.ts';
import { fd, jq, rg } from './searchers.ts';
import { sed } from './sed.ts';
import { printers, textReaders } from './text-readers.ts';
import { asksVersion } from './version-question.ts';

/** RK-2: programs that a shell line may use beyond those of execute_command (VA-4). */

const runsUnknown: CommandRule = {
  id: 'CMD-XARGS-1',
  risk: 'HIGH',
  why: 'starts a program with words that only the run knows',
  matches: [
    'ls | xargs rm',
    "ls | xargs -I{} sh -c '{}'",
    'ls | xargs -I cat cat a',
    'ls | xargs sort',
    'ls | xargs sed -n 1p',
    'ls | xargs -a names.txt cat',
    'ls | xargs -p cat',
    'ls | xargs env cat',
    'ls | xargs xargs cat',
    'ls | xargs --arg-file=x cat',
    'ls | xargs grep -f',
  ],
  doesNotMatch: [
    'ls | xargs wc -l',
    'ls | xargs -n1 basename',
    'ls | xargs -I{} cat {}',
    'ls | xargs -0 grep -n foo',
    'ls | xargs',
  ],
};

/** Programs of which no option writes or starts anything, so that xargs may hand them any word. */
const APPENDABLE = new Set(
  wordList(`cat head wc grep egrep fgrep ls nl stat basename dirname echo realpath readlink sha256sum sha1sum sha512sum md5sum
  cksum cut tac rev du od strings`),
);

const xargsTable = optionTable({
  permutes: false,
  flags: '-0 --null -r --no-run-if-empty -t --verbose -x --exit',
  values: '-n --max-args -L --max-lines -P --max-procs -s --max-chars -d --delimiter -E',
  rows: [{ names: '-I', value: 'text' }],
});

/** The words from its input are only known when it runs, so it may start only a few readers. */
const xargs: Manual = {
  names: ['xargs'],
  rules: [runsUnknown],
  read(args, notes) {
    const words = parseOptions(args, xargsTable);
    const operands = words.filter((word) => word.kind === 'operand').map(({ text }) => text);
    let placeholder = '';
    for (const word of words) {
      if (word.kind === 'unknown' || word.kind === 'negation') notes.raise(runsUnknown, word.spelled);
      if (word.kind === 'option' && word.row.names === '-I') placeholder = word.value ?? '';
    }
    const [program = 'echo', ...rest] = operands;
    const manual = APPENDABLE.has(program) ? findManual(program) : undefined;
    // A word with a dash that holds the placeholder, or that waits for a value, could become any option.
    const isOption =
      placeholder !== '' && rest.some((word) => word.startsWith('-') && word.includes(placeholder));
    const isOpen = /^-[a-zA-Z]*[f]$/.test(rest.at(-1) ?? '');
    if (
      !manual ||
      isOption ||
      isOpen ||
      (placeholder !== '' && program.includes(placeholder)) ||
      (words.length === 0 && args.length > 0)
    ) {
      notes.raise(runsUnknown, program);
      return;
    }
    manual.read(rest, notes);
    notes.path('.', 'read');
  },
};

const plainFind = manuals.get('find') as Manual;

export const startsReader: CommandRule = {
  id: 'CMD-FIND-6',
  risk: 'MEDIUM',
  why: 'starts a reading program for the files that it finds',
  matches: ["find . -name '*.md' -exec grep -l foo {} +", 'find docs -type f -exec cat {} +'],
  doesNotMatch: ["find . -name '*.md'", 'find docs -type f | xargs cat'],
};

/** `-exec` may start the programs that xargs may, but is never LOW (VA-5). */
const find: Manual = {
  ...plainFind,
  rules: [startsReader],
  read(args, notes) {
    const rest: string[] = [];
    for (let at = 0; at < args.length; at++) {
      const end =
        args[at] === '-exec' ? args.findIndex((word, i) => i > at && (word === ';' || word === '+')) : -1;
      const [program = '', ...words] = end < 0 ? [] : args.slice(at + 1, end);
      const manual = APPENDABLE.has(program) ? findManual(program) : undefined;
      const isPlain = words.every((word) => !word.includes('{}') || word === '{}');
      if (!manual || !isPlain || /^-[a-zA-Z]*f$/.test(words.at(-2) ?? '')) {
        rest.push(args[at] as string);
        continue;
      }
      manual.read(words, notes);
      notes.raise(startsReader, program);
      // It counts as `-print`, which prints nothing else and, unlike a test, cannot be negated.
      rest.push('-print');
      at = end;
    }
    plainFind.read(rest, notes);
  },
};

/** grep by its old names. */
const grep: Manual = { ...(manuals.get('grep') as Manual), names: ['egrep', 'fgrep'] };

const versionQuestion: Manual = {
  names: [],
  onlyReads: true,
  rules: [],
  read: (_, notes: Notes) => notes.raise(onlyPrints),
};

const readers: readonly Manual[] = [
  ...textReaders,
  ...printers,
  ...nameReaders,
  ...fileChangers,
  sed,
  awk,
  rg,
  fd,
  jq,
  xargs,
  grep,
  find,
];

const byName: ReadonlyMap<string, Manual> = new Map(
  readers.flatMap((manual) => manual.names.map((name) => [name, manual] as const)),
);

/** Folders of the system's programs: `/usr/bin/grep` is `grep`. */
const SYSTEM_PROGRAM = /^\/(?:usr\/(?:local\/)?)?s?bin\/([\w.+[-]+)$/;

const findManual = (program: string): Manual | undefined =>
  byName.get(program) ?? buildManual(program) ?? manuals.get(program);

/** The manual for one call of a shell line; undefined if no table knows the program. */
export function lineManual([program = '', ...args]: readonly string[]): Manual | undefined {
  const name = SYSTEM_PROGRAM.exec(program)?.[1] ?? program;
  if (asksVersion([name, ...args])) return versionQuestion;
  return isOwnServerCall([name, ...args]) ? ownServer : findManual(name);
}

/** Rules of programs that only shell lines may use, for the documentation and for the test that runs their examples. */
export const lineProgramRules: readonly CommandRule[] = [
  ...new Set([
    ...[...readers, ownServer].filter((manual) => manual !== grep).flatMap(({ rules }) => rules),
    ...Object.values(buildRules),
  ]),
];
