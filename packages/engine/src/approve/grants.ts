import {
  type CallAssessment,
  escapeGlob,
  globOfPath,
  grantCovers,
  isHarmlessCommand,
  type PolicyDecision,
  parseGlob,
  ruleOfGrant,
} from '@countersign/policy';
import {
  changingToolsPattern,
  findTool,
  gitCommandsPattern,
  makeVisible,
  type OfferedScope,
  type PolicyRule,
  type RiskLevel,
  type ToolCall,
} from '@countersign/protocol';
import type { ExecutionRow, GrantRow } from '../rows.ts';

/** The rule that "always" saves in the person's own policy. */
export function ruleToSave(grant: Pick<GrantRow, 'id' | 'tool' | 'pattern' | 'max_risk'>): PolicyRule {
  return {
    ...ruleOfGrant(grant.id, grant),
    max_risk: grant.max_risk,
    why: 'you chose "always" on an approval card',
  };
}

/** The id of an offered rule; a granted rule gets an id of its own. */
const offeredRule = 'to-be-granted';

/** Wider approvals to offer for a call, narrow before wide, never above its risk; empty if it was not understood. */
export function scopesOffered({ call, details: assessment }: PolicyDecision): readonly OfferedScope[] {
  if (!call || !assessment) return [];
  const { verdict } = assessment;
  if (verdict.decision === 'REJECT' || verdict.decision === 'LOW' || assessment.needsPerson) return [];
  const risk = verdict.decision;
  const offered: OfferedScope[] = [];
  for (const { tool, pattern, label: text } of classesOf(call, assessment)) {
    if (pattern !== null && !parseGlob(pattern).ok) continue; // a path that is too long to be a pattern
    const label = makeVisible(text);
    const rule = { ...ruleOfGrant(offeredRule, { tool, pattern }), max_risk: risk };
    const offer = { pattern, max_risk: risk, rule };
    if (!covers(offer, call, assessment)) continue;
    offered.push({ ...offer, scope: 'class', label: `${label} in this session`, warning: null });
    offered.push({
      ...offer,
      scope: 'always',
      label: `Always: ${label.charAt(0).toLowerCase()}${label.slice(1)}`,
      warning: 'It is saved in your policy and counts in every session, in all of your projects.',
    });
  }
  offered.push({
    scope: 'session',
    pattern: null,
    label: 'Everything in this session',
    warning: 'The agent is not asked again in this session, except for HIGH calls.',
    max_risk: 'MEDIUM',
    rule: { ...ruleOfGrant(offeredRule, { tool: '*', pattern: null }), max_risk: 'MEDIUM' },
  });
  return offered;
}

/**
 * Sets the risk limit of the offers to the risk of the call, which the runner may have raised. `newGrant` grants up to
 * that risk, so the offers must show it.
 */
export function scopesUpTo(offers: readonly OfferedScope[], risk: RiskLevel): readonly OfferedScope[] {
  const isRight = ({ scope, max_risk }: OfferedScope): boolean => scope === 'session' || max_risk === risk;
  return offers.every(isRight)
    ? offers
    : offers.map((offer) =>
        isRight(offer) ? offer : { ...offer, max_risk: risk, rule: { ...offer.rule, max_risk: risk } },
      );
}

/** Whether an offer covers the call that it is made for (AP-4); otherwise the next such call would ask again. */
function covers(
  { rule, pattern, max_risk }: Pick<OfferedScope, 'rule' | 'pattern' | 'max_risk'>,
  call: ToolCall,
  assessment: CallAssessment,
): boolean {
  const grant = { tool: rule.tool, pattern, max_risk, workspace: '', session_id: null, expires_at: null };
  return grantCovers(grant, call, assessment, { sessionId: '', workspace: '', risk: max_risk, now: 0 });
}

interface CallClass {
  /** A tool's name, or a pattern on names. */
  readonly tool: string;
  readonly pattern: string | null;
  readonly label: string;
}

/** Does not cover `git push`, which is HIGH and always asks. */
const gitCommands: CallClass = {
  tool: gitCommandsPattern,
  pattern: 'git *',
  label: 'Harmless git commands, commits and new branches',
};

/**
 * The classes of calls that a grant for this call could cover. Each label names exactly what it covers (AP-4). Paths
 * are escaped, so that they match literally.
 */
function classesOf({ tool, params }: ToolCall, { operands }: CallAssessment): CallClass[] {
  if (tool === 'execute_command') {
    const { command, args } = params;
    const words = [command, ...args];
    // A command that is not harmless can only be granted as this exact line, and only if no word of it has blanks.
    if (!isHarmlessCommand(words)) {
      const line = words.map(escapeGlob).join(' ');
      return words.every((word) => /^\S+$/.test(word))
        ? [{ tool, pattern: line, label: `The command ${words.join(' ')}` }]
        : [];
    }
    const [first] = args;
    const classes =
      command === 'git'
        ? [gitCommands]
        : [{ tool, pattern: `${command} *`, label: `Harmless ${command} commands` }];
    if (first !== undefined && /^[a-z][a-z-]*$/.test(first)) {
      classes.unshift({
        tool,
        pattern: `${command} ${first} *`,
        label: `Harmless ${command} ${first} commands`,
      });
    }
    return classes;
  }
  const { kind, changes } = findTool(tool) ?? {};
  if (changes === 'anything') return [];
  const all = { tool, pattern: null, label: `All calls of ${tool}` };
  if (changes === 'repository') return [all, gitCommands];
  const path = operands.find(({ use }) => use === 'write')?.path;
  if (path === undefined || !(kind === 'edit' || kind === 'delete')) return [all];
  const tools = kind === 'edit' ? changingToolsPattern : tool;
  const [one, several] =
    kind === 'edit' ? ['Changes to', 'Changes under'] : ['Deleting', 'Deleting files under'];
  const folder = path.includes('/') ? path.slice(0, path.indexOf('/')) : undefined;
  return [
    { tool: tools, pattern: globOfPath(path), label: `${one} ${path}` },
    ...(folder === undefined
      ? []
      : [{ tool: tools, pattern: `${escapeGlob(folder)}/**`, label: `${several} ${folder}/` }]),
    all,
  ];
}

export function newGrant(
  chosen: OfferedScope,
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
    tool: chosen.rule.tool,
    pattern: chosen.pattern,
    workspace: about.workspace,
    max_risk: includeHigh ? 'HIGH' : session ? 'MEDIUM' : risk,
    uses: 0,
    created_at: about.now,
    expires_at: null,
    revoked_at: null,
  };
}
