/**
 * One program that builds, tests, lints or formats a project, for shell lines (RK-2). It runs the code of the project and of
 * installed packages, so it is MEDIUM; a subcommand that no table has is HIGH. Options are not listed: what they can reach
 * beyond the project is in `code`, and paths in them are judged as paths.
 */
export interface BuildTool {
  readonly names: string;
  /** Names that only `python -m` knows. */
  readonly modules?: string;
  /** Options before the subcommand that take a value, so that the value is not taken for the subcommand. */
  readonly values?: string;
  /** Every call builds or tests: it has no subcommands. */
  readonly always?: true;
  /** Subcommands that build, test, lint or format; further words are not looked at. */
  readonly builds?: string;
  /** Subcommands that need network: they install or fetch what the project names. */
  readonly network?: string;
  /** Subcommands that run a program that their next words name: `bundle exec rspec`. */
  readonly runs?: string;
  /** A word that is in no list is a task of the project: a target of make, a script of package.json. */
  readonly tasks?: true;
  /** Subcommands that are HIGH although another list has them: `publish`, or `pub/publish` for a word and the next one. */
  readonly refused?: string;
  /** Each operand must be a known subcommand: `mvn clean deploy`. */
  readonly every?: true;
  /** Every call needs network, because the program fetches what the project names. */
  readonly needsNetwork?: true;
  /** `runs` needs network too: the program first installs what is missing. */
  readonly runsOnline?: true;
  /** Whether a subcommand with these words installs for the person's account, outside the workspace. */
  readonly forAccount?: (subcommand: string, words: readonly string[]) => boolean;
  /** Without a subcommand it builds, or installs. */
  readonly alone?: 'builds' | 'network';
  /** The first word that is no subcommand is a program that it starts: `c8 mocha`. */
  readonly starts?: true;
  /** Options that bring code of their own, or another program to start. */
  readonly code?: string;
  /** Words that do so in their value: `-DCMAKE_C_COMPILER=./x`. */
  readonly codeWithin?: RegExp;
  /** Examples, which a test runs: MEDIUM without network, MEDIUM with it, HIGH. */
  readonly medium?: string;
  readonly online?: string;
  readonly high?: string;
}

/** Names of tasks that suggest that the work leaves this machine. */
export const SENDING_TASK = /(publish|deploy|releas|upload|push|(^|[:_.-])ship)/i;
