import type { Verdict } from './verdict.ts';

/** What was found out about one call: the verdict, and what cards, digests, grants and policy rules look at. */
export interface CallAssessment {
  readonly verdict: Verdict;
  /** Files the call names, as far as they were understood. Empty when it was refused. */
  readonly operands: readonly CommandOperand[];
  /** Programs the call would start; of a shell line each simple command, with wrappers and nested shells opened. */
  readonly commands: readonly SimpleCommand[];
  /** Variables that a shell line hands to its programs: `A=b program`, `export A`, `env A=b`. */
  readonly environment?: readonly string[];
  /**
   * No grant and no allow rule may answer for this call: it reaches outside the workspace, changes a place that executes
   * later (VA-3), changes what other programs execute, uses a sensitive file that was lifted, or does something that is
   * only known when it runs.
   */
  readonly needsPerson: boolean;
}

export type CommandCheck = Pick<CallAssessment, 'verdict' | 'operands' | 'needsPerson'>;
export type ShellCheck = Required<CallAssessment>;

export interface CommandOperand {
  /** Workspace-relative, `''` is the root. */
  readonly path: string;
  /** `run`: its content is executed, so the approval's digest covers it (AP-8). */
  readonly use: 'read' | 'write' | 'run';
  /** No word names it; the program executes it by itself. It is for card and digest, rules do not look at it. */
  readonly implied?: true;
  /** Read, and reading it alone would run unasked: a rule that allows what is done with it need not name it. */
  readonly readsFreely?: true;
}

/** The words of one simple command after quoting and known variables; `undefined` is a word only known at run time. */
export interface SimpleCommand {
  readonly words: readonly (string | undefined)[];
}
