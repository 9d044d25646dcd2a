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

/** What `git` with these arguments may write of `.git`, alone (VA-3). */
export function writesOfGit([subcommand = '']: readonly string[]): Confinement['writableGit'] {
  if (dataOnly.has(subcommand)) return 'data';
  // `git am` must write its state for continuing after a conflict, but the files of a patch may be planted.
  return subcommand === 'am' ? 'patches' : 'everything';
}

/**
 * What a shell line may write of `.git`. A line that is one plain call of git counts as that call. Where git is called
 * beside other programs, all of them can write what git may, as git's hooks can: so only its data, and only if every word
 * of the line is known and each git call needs no more.
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
const isGit = ([program]: readonly (string | undefined)[]): boolean => /(^|\/)git$/.test(program ?? '');

function needsDataOnly([program, ...args]: readonly string[]): boolean {
  if (program !== 'git') return false;
  const [subcommand = '', ...rest] = args[0] === '--no-pager' ? args.slice(1) : args;
  const call = [subcommand, ...rest].join(' ');
  return (
    dataOnly.has(subcommand) || alsoInLines.has(subcommand) || newBranch.test(call) || unstages.test(call)
  );
}
