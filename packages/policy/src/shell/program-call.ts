import type { ShellRun } from './shell-run.ts';

/** One program call whose words are known as far as they can be. `name` has no directory. */
export interface ProgramCall {
  readonly run: ShellRun;
  readonly name: string;
  readonly args: readonly string[];
}
