import type { RiskLevel } from '@countersign/protocol';

/**
 * One reason why a command is as risky as it is, with its proof. `matches` and `doesNotMatch` are command lines
 * (quotes group words, nothing is expanded); a test runs every one of them.
 */
export interface CommandRule {
  readonly id: string;
  /** The command is at least this risky; REJECT is never asked. */
  readonly risk: RiskLevel | 'REJECT';
  /** For the person on the approval card, as a sentence about the command: "starts other programs". */
  readonly why: string;
  /** Without network the command cannot do its work. */
  readonly network?: true;
  /** No grant and no allow rule may answer for a command that this applies to (see `CommandCheck`). */
  readonly needsPerson?: true;
  readonly matches: readonly string[];
  readonly doesNotMatch: readonly string[];
}
