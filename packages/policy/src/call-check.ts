import type { Verdict } from './verdict.ts';

/** What was understood of one command: the verdict, and what the card, the digest and grants need to know. */
export interface CommandCheck {
  readonly verdict: Verdict;
  /** Files that the command names, as far as they were understood. Empty when it was refused. */
  readonly operands: readonly CommandOperand[];
  /**
   * No grant and no allow rule may answer for this: it reaches outside the workspace, changes a place that executes
   * later, changes what other programs execute, or does so with something only known when it runs.
   */
  readonly needsPerson: boolean;
}

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
