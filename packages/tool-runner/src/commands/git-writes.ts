import { type CallAssessment, innerCallsOfGit, readGit } from '@countersign/policy';
import type { Confinement } from '../isolation/isolated-process.ts';
import { plainWords } from './plain-words.ts';

/**
 * Git subcommands that neither check out files nor change git's configuration. `apply` is one of them, because the files
 * of a patch do not come from reviewed history.
 */
const dataOnly = new Set(['add', 'apply', 'commit', 'diff', 'log', 'mv', 'rm', 'show', 'status', 'tag']);
/**
 * More subcommands that may share a line with any other program: they need nothing but the data of `.git`, also to continue
 * after a conflict. What they check out where files execute later is refused or set aside.
 */
const alsoInLines = new Set(
  `blame branch cat-file check-ignore checkout cherry-pick clean describe fetch for-each-ref gc grep ls-files ls-remote
  ls-tree merge merge-base notes pull push reflog reset restore rev-list rev-parse revert shortlog show-ref stash switch
  update-index version`.split(/\s+/),
);
/** Programs that only read and print, beside which git may do what it may do alone. `cd` stays in the workspace. */
const readers = new Set(
  '[ : basename cat cd cut date dirname diff echo exit false grep head ls nl pwd sleep tail test tr true type wc which'.split(
    ' ',
  ),
);
/** A redirection that makes a file; not `2>&1` and `>/dev/null`. */
const writesFile = />(?!&[12](?!\w)|\s*\/dev\/null(?![\w/]))/;

/** Variables that decide nothing but what git writes down, and programs that policy lists among the line's commands. */
const plainVariable =
  /^(GIT_((SEQUENCE_)?EDITOR|PAGER|(AUTHOR|COMMITTER)_\w+|TERMINAL_PROMPT|MERGE_AUTOEDIT)|EDITOR|PAGER|TZ|LC_\w+)$/;

/** What `git` with these arguments may write of `.git`, alone (VA-3). */
export function writesOfGit(words: readonly string[]): NonNullable<Confinement['writableGit']> {
  const [first = ''] = words;
  if (dataOnly.has(first)) return 'data';
  // `git am` must write its state for continuing after a conflict, but the files of a patch may be planted.
  return first === 'am' || runsPrograms(words) ? 'patches' : 'everything';
}

/** Whether git runs what these arguments name: then files come from anywhere, not from reviewed history. */
function runsPrograms(words: readonly string[]): boolean {
  const { subcommand = '', args, redirected } = readGit(words);
  const runsWords = subcommand === 'rebase' && args.some((word) => /^(-\w*x|--exec)/.test(word));
  const namesPrograms = ['filter-branch', 'difftool', 'mergetool', 'for-each-repo', 'hook'];
  // Setting a program is not running it.
  const inner = subcommand === 'config' ? [] : innerCallsOfGit(words);
  return redirected || runsWords || namesPrograms.includes(subcommand) || inner.length > 0;
}

/**
 * What a shell line may write of `.git`. In a line of git calls and readers, with every word known, each call may do what it
 * may do alone. Beside other programs it is only git's data, because all of them can write what git may, as git's hooks can.
 */
export function writesOfLine(
  line: string,
  { commands, environment = [] }: Pick<CallAssessment, 'commands' | 'environment'> = { commands: [] },
): Confinement['writableGit'] {
  const plain = plainWords(line);
  if (plain?.[0] === 'git') return writesOfGit(plain.slice(1));
  const calls = commands.map(({ words }) => words).filter(isGit);
  if (calls.length === 0) return undefined;
  const isOnlyGit =
    environment.every((name) => plainVariable.test(name)) &&
    !writesFile.test(line) &&
    commands.every(
      ({ words }) => !words.includes(undefined) && (words[0] === 'git' || readers.has(words[0] ?? '')),
    );
  if (isOnlyGit) return widest(calls.map(([, ...args]) => writesOfGit(args as readonly string[])));
  return calls.every(needsDataOnly) ? 'data' : undefined;
}

const widest = (all: readonly NonNullable<Confinement['writableGit']>[]): Confinement['writableGit'] =>
  (['patches', 'everything'] as const).find((one) => all.includes(one)) ?? 'data';

type Words = readonly (string | undefined)[];

/**
 * The same where the line runs in a layer: what decides what git runs is withheld from landing, so any line that calls git
 * may write its data.
 */
export const writesOfLineInLayer = (
  line: string,
  details: Pick<CallAssessment, 'commands' | 'environment'> = { commands: [] },
): Confinement['writableGit'] =>
  writesOfLine(line, details) ?? (details.commands.some(({ words }) => isGit(words)) ? 'data' : undefined);

/** Also matches a git that is called by its path, about which nothing is known. */
const isGit = ([program]: Words): boolean => /(^|\/)git$/.test(program ?? '');

function needsDataOnly([program, ...args]: Words): boolean {
  const { subcommand = '', redirected } = readGit(args.map((word) => word ?? ''));
  return program === 'git' && !redirected && (dataOnly.has(subcommand) || alsoInLines.has(subcommand));
}
