import type { CommandOperand } from '../command/command-check.ts';
import type { Verdict } from '../verdict.ts';

/** What was understood of a shell line. */
export interface ShellCheck {
  readonly verdict: Verdict;
  /** Each simple command in it, wrappers and nested shells opened, in source order. */
  readonly commands: readonly SimpleCommand[];
  readonly operands: readonly CommandOperand[];
  /** Variables that the line hands to its programs: `A=b program`, `export A`, `env A=b`. */
  readonly environment: readonly string[];
  /** As in `CommandCheck`: no grant and no allow rule may answer for this line. */
  readonly needsPerson: boolean;
}

/** The words of one simple command after quoting and known variables; `undefined` is a word only known at run time. */
export interface SimpleCommand {
  readonly words: readonly (string | undefined)[];
}
