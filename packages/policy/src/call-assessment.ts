import type { Verdict } from './verdict.ts';

/** The result of assessing one call: the verdict, and the facts that cards, digests, grants and policy rules use. */
export interface CallAssessment {
  readonly verdict: Verdict;
  /** Files that the call names, as far as its words are understood. Empty when the call was refused. */
  readonly operands: readonly CommandOperand[];
  /** Programs that the call would start. In a shell line, also those inside wrappers and nested shells. */
  readonly commands: readonly SimpleCommand[];
  /** Variables that a shell line hands to its programs: `A=b program`, `export A`, `env A=b`. */
  readonly environment?: readonly string[];
  /**
   * True if only the person may approve this call, not a grant or an allow rule: it reaches outside the workspace, changes
   * a place that executes later (VA-3), changes what other programs execute, uses a sensitive file that the policy lifted,
   * or does something that is only known when it runs.
   */
  readonly needsPerson: boolean;
}

export type CommandCheck = Pick<CallAssessment, 'verdict' | 'operands' | 'needsPerson'>;
export type ShellCheck = Required<CallAssessment>;

export interface CommandOperand {
  /** Workspace-relative, `''` is the root. */
  readonly path: string;
  /** `run`: the call executes the file, so the approval's digest covers its content (AP-8). */
  readonly use: 'read' | 'write' | 'run';
  /** No word of the call names this file, but the program executes it. For cards and digests; rules ignore it. */
  readonly implied?: true;
  /** Reading this file alone would run without approval, so a rule that allows the call need not match it. */
  readonly readsFreely?: true;
}

/** Words have their quotes removed and known variables expanded; `undefined` is a word only known at run time. */
export interface SimpleCommand {
  readonly words: readonly (string | undefined)[];
  /** A pipe or a redirection of the line gives it standard input, which its words do not show. */
  readonly hasInput?: true;
}
