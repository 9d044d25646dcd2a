import type { CallAssessment } from '@countersign/policy';
import type { Confinement } from '../isolation/isolated-process.ts';
import { plainWords } from './plain-words.ts';

/**
 * Git subcommands that neither check out files nor change git's configuration. `apply` is one of them, because the files
 * of a patch do not come from reviewed history.
 */
const dataOnly = new Set(['add', 'apply', 'commit', 'diff', 'log', 'mv', 'rm', 'show', 'status', 'tag']);
/** More subcommands that may share a line with other commands: they write nothing but the data of `.git`. */
const alsoInLines = new Set(
  `blame branch cat-file check-ignore describe fetch for-each-ref grep ls-files ls-tree merge-base reflog rev-list
  rev-parse shortlog show-ref stash update-index version`.split(/\s+/),
);
/** A new branch at the current commit checks out nothing. */
const newBranch = /^(switch|checkout)( -q)? (-c|--create|-qc|-b|-qb) [^ -][^ ]*$/;
/** Commands that change the index, or what the branch points to, but no file. */
const unstages = /^(reset( (--mixed|--soft|-q))*( [^ -][^ ]*)*( -- .*)?|restore (--staged|-S) .*)$/;

/** What a single call of git with these arguments may write in `.git` (VA-3). */
export function writesOfGit([subcommand = '']: readonly string[]): Confinement['writableGit'] {
  if (dataOnly.has(subcommand)) return 'data';
  // `git am` must write its state for continuing after a conflict, but the files of a patch may be planted.
  return subcommand === 'am' ? 'patches' : 'everything';
}

/**
 * What a shell line may write in `.git`. A line that is one plain call of git counts as that call. In a line with other
 * programs, each of them can write whatever git may write, and so can git's hooks. So such a line may write only git's
 * data, and only if every word is known and no git call needs more.
 */
export function writesOfLine(
  line: string,
  { commands, environment = [] }: Pick<CallAssessment, 'commands' | 'environment'> = { commands: [] },
): Confinement['writableGit'] {
  const plain = plainWords(line);
  if (plain?.[0] === 'git') return writesOfGit(plain.slice(1));
  if (environment.some((name) => /^(GIT_|PATH$|HOME$|XDG_)/.test(name))) return undefined;
  const calls = commands.filter(({ words }) => isGit(words));
  if (calls.length === 0) return undefined;
  if (commands.some(({ words }) => words.includes(undefined))) return undefined;
  return calls.every(({ words }) => needsDataOnly(words as readonly string[])) ? 'data' : undefined;
}

/** Also matches a git that is called by its path, which `needsDataOnly` then refuses. */
const isGit = ([program]: readonly (string | undefined)[]): boolean => /(^|\/)git$/.test(program ?? '');

function needsDataOnly([program, ...args]: readonly string[]): boolean {
  if (program !== 'git') return false;
  const [subcommand = '', ...rest] = args[0] === '--no-pager' ? args.slice(1) : args;
  const call = [subcommand, ...rest].join(' ');
  return (
    dataOnly.has(subcommand) || alsoInLines.has(subcommand) || newBranch.test(call) || unstages.test(call)
  );
}
