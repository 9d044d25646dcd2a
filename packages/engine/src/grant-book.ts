import {
  type CallAssessment,
  type Decision,
  escapeGlob,
  globOfPath,
  parseGlob,
  ruleOfGrant,
} from '@countersign/policy';
import { makeVisible, type PolicyRule, type RiskLevel, type ToolCall } from '@countersign/protocol';
import type { ExecutionRow, GrantRow } from './rows.ts';

/** A wider approval that a front end may offer beside "this one" (AP-4). */
export interface OfferedScope {
  readonly scope: 'class' | 'session' | 'always';
  readonly pattern: string | null;
  readonly label: string;
  readonly warning: string | null;
  readonly max_risk: RiskLevel;
}

/** The rule that "always" saves in the person's own policy. */
export function ruleToSave(grant: Pick<GrantRow, 'id' | 'tool' | 'pattern' | 'max_risk'>): PolicyRule {
  return {
    ...ruleOfGrant(grant.id, grant),
    max_risk: grant.max_risk,
    why: 'you chose "always" on an approval card',
  };
}

/** Wider approvals that fit a call; none for one that was not understood. */
export const scopesOffered = ({ call, details }: Decision): readonly OfferedScope[] =>
  call && details ? offeredScopes(call, details) : [];

/** The classes that make sense for one call, narrow before wide. Never above the risk of the call itself. */
function offeredScopes(call: ToolCall, assessment: CallAssessment): readonly OfferedScope[] {
  const { verdict } = assessment;
  if (verdict.decision === 'REJECT' || verdict.decision === 'LOW' || assessment.needsPerson) return [];
  const risk = verdict.decision;
  const offered: OfferedScope[] = [];
  for (const { pattern, label: text } of classesOf(call, assessment)) {
    if (pattern !== null && !parseGlob(pattern).ok) continue; // a path that is too long to be a pattern
    const label = makeVisible(text);
    offered.push({
      scope: 'class',
      pattern,
      label: `${label} in this session`,
      warning: null,
      max_risk: risk,
    });
    offered.push({
      scope: 'always',
      pattern,
      label: `Always: ${label.charAt(0).toLowerCase()}${label.slice(1)}`,
      warning: 'It is saved in your policy and counts in every session, in all of your projects.',
      max_risk: risk,
    });
  }
  offered.push({
    scope: 'session',
    pattern: null,
    label: 'Everything in this session',
    warning: 'The agent is not asked again in this session, except for HIGH calls.',
    max_risk: 'MEDIUM',
  });
  return offered;
}

/** What a label says is what its pattern covers: a path stands for itself, whatever characters it has. */
function classesOf(
  { tool, params }: ToolCall,
  { operands }: CallAssessment,
): { pattern: string | null; label: string }[] {
  if (tool === 'execute_command') {
    const [first] = params.args;
    const classes = [{ pattern: `${params.command} *`, label: `All ${params.command} commands` }];
    if (first !== undefined && /^[a-z][a-z-]*$/.test(first)) {
      classes.unshift({
        pattern: `${params.command} ${first} *`,
        label: `All ${params.command} ${first} commands`,
      });
    }
    return classes;
  }
  if (tool === 'shell_exec' || tool === 'shell_background') return [];
  const written = operands.filter(({ use }) => use === 'write').map(({ path }) => path);
  const [path] = written;
  if (path === undefined) return [{ pattern: null, label: `All calls of ${tool}` }];
  const folder = path.includes('/') ? path.slice(0, path.indexOf('/')) : undefined;
  return [
    { pattern: globOfPath(path), label: `Changes to ${path}` },
    ...(folder === undefined
      ? []
      : [{ pattern: `${escapeGlob(folder)}/**`, label: `Changes under ${folder}/` }]),
    { pattern: null, label: `All calls of ${tool}` },
  ];
}

/** What was granted, with the words the person chose from. */
export type ChosenScope = { readonly scope: 'class' | 'session' | 'always'; readonly pattern: string | null };

export function newGrant(
  chosen: ChosenScope,
  about: {
    execution: ExecutionRow;
    risk: RiskLevel;
    includeHigh: boolean;
    workspace: string;
    id: string;
    now: number;
  },
): GrantRow {
  const { execution, risk, includeHigh } = about;
  const session = chosen.scope === 'session';
  return {
    id: about.id,
    user_id: execution.user_id,
    project_id: execution.project_id,
    session_id: chosen.scope === 'always' ? null : execution.session_id,
    scope: chosen.scope,
    tool: session ? '*' : execution.tool_name,
    pattern: session ? null : chosen.pattern,
    workspace: about.workspace,
    max_risk: includeHigh ? 'HIGH' : session ? 'MEDIUM' : risk,
    uses: 0,
    created_at: about.now,
    expires_at: null,
    revoked_at: null,
  };
}
