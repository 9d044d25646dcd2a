import {
  findTool,
  gitCommandsPattern,
  type PolicyRule,
  type RiskLevel,
  riskLevels,
  type ToolCall,
} from '@countersign/protocol';
import type { CallAssessment } from './call-assessment.ts';
import { compileRule } from './policy-rules.ts';
import { isRefused } from './verdict.ts';

/** What a grant covers (AP-4). */
export interface GrantPredicate {
  readonly tool: string;
  /** Path glob or command pattern, as the tool has it; null covers every call of the tool. */
  readonly pattern: string | null;
  readonly max_risk: RiskLevel;
  readonly session_id: string | null;
  readonly workspace: string;
  /** Milliseconds since 1970. */
  readonly expires_at: number | null;
}

/** Where and when a call is made. */
export interface GrantedCall {
  readonly sessionId: string;
  readonly workspace: string;
  /** The highest risk that any assessment of the call gave. */
  readonly risk: RiskLevel;
  readonly now: number;
}

/** Whether a grant covers a call: one predicate, which the server asks by text and the runner with the real disk. */
export function grantCovers(
  grant: GrantPredicate,
  call: ToolCall,
  assessment: CallAssessment,
  at: GrantedCall,
): boolean {
  if (isRefused(assessment.verdict) || assessment.needsPerson) return false;
  if (grant.expires_at !== null && grant.expires_at <= at.now) return false;
  if (grant.session_id !== null && grant.session_id !== at.sessionId) return false;
  if (grant.workspace !== at.workspace) return false;
  if (riskLevels.indexOf(at.risk) > riskLevels.indexOf(grant.max_risk)) return false;
  const rule = compileRule(ruleOfGrant('grant', grant), 'person');
  return typeof rule !== 'string' && rule.matches(call, assessment);
}

/**
 * The grant as a rule of a policy file, which "always" saves. A click on a card is weaker than a rule written by hand, so of
 * commands it covers only the harmless ones that match.
 */
export function ruleOfGrant(
  id: string,
  { tool, pattern }: Pick<GrantPredicate, 'tool' | 'pattern'>,
): PolicyRule {
  const isCommand = tool === gitCommandsPattern || findTool(tool)?.changes === 'anything';
  const part = pattern === null ? {} : isCommand ? { command: pattern } : { path: pattern };
  return { id, effect: 'allow', tool, ...part, ...(isCommand && { harmless_only: true }) };
}
