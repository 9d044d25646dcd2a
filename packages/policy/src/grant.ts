import {
  commandToolsPattern,
  findTool,
  type GrantScope,
  gitCommandsPattern,
  isAbove,
  type PolicyRule,
  type Reason,
  type RiskLevel,
} from '@countersign/protocol';
import type { CallAssessment } from './call-assessment.ts';
import { readsUnmasked } from './line/rules.ts';
import { namesHosts } from './network-needs.ts';
import { type CompiledRule, compileRule } from './policy-rules.ts';
import { mayBeOutside, REACHES_HOST } from './risk-assessor.ts';
import { isRefused } from './verdict.ts';

/** The fields of a grant that decide which calls it covers (AP-4). */
export interface GrantPredicate {
  /**
   * `mode`: the person switched a mode without looking at a call (AP-11). So a rule that asks still asks, and so does a
   * file with hard links, which may also be a file outside the workspace.
   */
  readonly scope?: GrantScope | undefined;
  readonly tool: string;
  /** A command pattern for tools that run commands, a path glob for others; null covers every call of the tool. */
  readonly pattern: string | null;
  readonly max_risk: RiskLevel;
  readonly session_id: string | null;
  readonly workspace: string;
  /** Milliseconds since 1970. */
  readonly expires_at: number | null;
}

export interface GrantedCall {
  readonly sessionId: string;
  readonly workspace: string;
  /** The highest risk that any assessment of the call gave. */
  readonly risk: RiskLevel;
  /** Reasons that other assessments of the call gave, such as the runner's in its preview. */
  readonly reasons?: readonly Reason[] | undefined;
  /** The rule that wants a person to be asked, if any. */
  readonly askedBy?: PolicyRule | undefined;
  readonly now: number;
}

/**
 * The grant as an allow rule; undefined if it has ended, is for another place or does not reach the call's risk. The server
 * calls this with an assessment of the text alone, the runner with an assessment on the real disk.
 */
export function grantAsRule(
  grant: GrantPredicate,
  assessment: CallAssessment,
  at: GrantedCall,
): CompiledRule | undefined {
  if (isRefused(assessment.verdict) || assessment.needsPerson) return undefined;
  const { askedBy, reasons = [] } = at;
  if (grant.scope === 'mode' && (askedBy || mayBeOutside([...assessment.verdict.reasons, ...reasons])))
    return undefined;
  if (grant.pattern === null && grant.max_risk !== 'HIGH' && reachesFurther(assessment)) return undefined;
  if (grant.expires_at !== null && grant.expires_at <= at.now) return undefined;
  if (grant.session_id !== null && grant.session_id !== at.sessionId) return undefined;
  if (grant.workspace !== at.workspace) return undefined;
  if (isAbove(at.risk, grant.max_risk)) return undefined;
  const rule = compileRule(ruleOfGrant('grant', grant), 'person');
  return typeof rule === 'string' ? undefined : rule;
}

/**
 * Whether a call must be seen before it runs, though it is only MEDIUM: it names a host, which everything that it starts
 * could reach (RN-5), or is one, or it prints whole folders without the masks of a LOW command (VA-2).
 */
const reachesFurther = ({ verdict, commands }: CallAssessment): boolean =>
  (!isRefused(verdict) && verdict.network && namesHosts(commands)) ||
  verdict.reasons.some(({ rule }) => rule === readsUnmasked.id || rule === REACHES_HOST);

/**
 * Converts a grant to a policy rule; "always" on a card saves this rule. A click is weaker consent than a rule written by
 * hand, so a rule on commands covers only harmless commands that match.
 */
export function ruleOfGrant(
  id: string,
  { tool, pattern }: Pick<GrantPredicate, 'tool' | 'pattern'>,
): PolicyRule {
  const isCommand =
    tool === gitCommandsPattern ||
    tool === commandToolsPattern ||
    tool === 'reach_host' ||
    findTool(tool)?.changes === 'anything';
  const part = pattern === null ? {} : isCommand ? { command: pattern } : { path: pattern };
  return { id, effect: 'allow', tool, ...part, ...(isCommand && { harmless_only: true }) };
}
