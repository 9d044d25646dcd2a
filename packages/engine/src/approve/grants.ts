import {
  type CallAssessment,
  compileRule,
  escapeGlob,
  globOfPath,
  isHarmlessCommand,
  type PolicyDecision,
  ruleOfGrant,
  type SimpleCommand,
  type ToolCallPolicy,
} from '@countersign/policy';
import {
  type ApprovalScope,
  changingToolsPattern,
  commandToolsPattern,
  findTool,
  type GrantScope,
  gitCommandsPattern,
  makeVisible,
  type OfferedScope,
  type PolicyRule,
  type RiskLevel,
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
const offeredRuleId = 'to-be-granted';

type ScopeRule = OfferedScope['rules'][number];

/** Wider approvals to offer for a call, narrow before wide, never above its risk; empty if it was not understood. */
export function scopesOffered(policy: ToolCallPolicy, decision: PolicyDecision): readonly OfferedScope[] {
  const risk = grantableRisk(decision);
  if (!risk) return [];
  const offered: OfferedScope[] = [];
  for (const { patterns, tool, label: text } of classesOf(policy, decision)) {
    const label = makeVisible(text);
    const rules = rulesFor(patterns, tool, risk);
    if (!cover(rules, policy, decision)) continue;
    const offer = { pattern: patterns?.join('\n') ?? null, max_risk: risk, rules };
    offered.push({ ...offer, scope: 'class', label: `${label} in this session`, warning: null });
    offered.push({
      ...offer,
      scope: 'always',
      label: `Always: ${label.charAt(0).toLowerCase()}${label.slice(1)}`,
      warning: 'It is saved in your policy and counts in every session, in all of your projects.',
    });
  }
  // A grant for everything does not cover hosts (reachesFurther in packages/policy), so do not offer it.
  if (decision.call?.tool === 'reach_host') return offered;
  offered.push({
    scope: 'session',
    pattern: null,
    label: 'Everything in this session',
    warning: 'The agent is not asked again in this session, except for HIGH calls.',
    max_risk: 'MEDIUM',
    rules: [{ ...ruleOfGrant(offeredRuleId, { tool: '*', pattern: null }), max_risk: 'MEDIUM' }],
  });
  return offered;
}

/**
 * The rules of the choice that a person made among the offers. For a line of several commands they may choose a narrow pattern
 * for one command and a wide one for another. Undefined if it was not offered, or does not cover the call (AP-4).
 */
export function chosenRules(
  policy: ToolCallPolicy,
  decision: PolicyDecision,
  scope: ApprovalScope,
  pattern: string | undefined,
): readonly ScopeRule[] | undefined {
  const offers = scopesOffered(policy, decision).filter((offer) => offer.scope === scope);
  const wanted = scope === 'session' ? null : (pattern ?? null);
  const offer = offers.find((each) => each.pattern === wanted);
  if (offer || wanted === null) return offer?.rules;
  const lines = offers.map((each) => each.pattern?.split('\n') ?? []);
  const chosen = wanted.split('\n');
  const areOffered = chosen.every((text, i) =>
    lines.some((line) => line[i] === text && line.length === chosen.length),
  );
  const risk = grantableRisk(decision);
  const tool = (text: string) =>
    offers.flatMap(({ rules }) => rules).find(({ command }) => command === text)?.tool;
  if (!areOffered || !risk) return undefined;
  const rules = chosen.flatMap((text) => rulesFor([text], tool(text) ?? commandToolsPattern, risk));
  const distinct = [...new Map(rules.map((rule) => [rule.command, rule])).values()];
  return cover(distinct, policy, decision) ? distinct : undefined;
}

/** The risk up to which a grant made on this call may reach; undefined if nothing may be granted. */
function grantableRisk({ call, details }: PolicyDecision): RiskLevel | undefined {
  if (!call || !details || details.needsPerson) return undefined;
  const { decision } = details.verdict;
  return decision === 'REJECT' || decision === 'LOW' ? undefined : decision;
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
        isRight(offer)
          ? offer
          : { ...offer, max_risk: risk, rules: offer.rules.map((rule) => ({ ...rule, max_risk: risk })) },
      );
}

/** The rules of an offer: one for each pattern, or one for every call of the tool. */
function rulesFor(patterns: readonly string[] | null, tool: string, risk: RiskLevel): ScopeRule[] {
  return (patterns ? [...new Set(patterns)] : [null]).map((pattern) => {
    const ofTool = pattern === 'git *' ? gitCommandsPattern : tool;
    return { ...ruleOfGrant(offeredRuleId, { tool: ofTool, pattern }), max_risk: risk };
  });
}

/** Whether an offer covers the call that it is made for (AP-4); otherwise the next such call would ask again. */
function cover(rules: readonly ScopeRule[], policy: ToolCallPolicy, decision: PolicyDecision): boolean {
  const { call, details } = decision;
  if (!call || !details) return false;
  const compiled = rules.map((rule) => compileRule(rule, 'person'));
  const usable = compiled.filter((rule) => typeof rule !== 'string');
  return (
    usable.length === rules.length &&
    (usable.some((rule) => rule.matches(call, details)) || policy.unite(decision, usable).length > 0)
  );
}

interface CallClass {
  /** A tool's name, or a pattern on names. */
  readonly tool: string;
  /** Null covers every call of the tool. */
  readonly patterns: readonly string[] | null;
  readonly label: string;
}

/** Does not cover `git push`, which is HIGH and always asks. */
const gitCommands: CallClass = {
  tool: gitCommandsPattern,
  patterns: ['git *'],
  label: 'Harmless git commands, commits and new branches',
};

/**
 * The classes of calls that a grant for this call could cover, narrow before wide. Each label names exactly what it covers
 * (AP-4). Paths are escaped, so that they match literally.
 */
function classesOf(policy: ToolCallPolicy, { call, details }: PolicyDecision): readonly CallClass[] {
  if (!call || !details) return [];
  const { tool } = call;
  if (tool === 'execute_command' || tool === 'shell_exec') return commandClasses(policy, details);
  const { kind, changes } = findTool(tool) ?? {};
  if (call.tool === 'reach_host') {
    const { host } = call.params;
    return [{ tool, patterns: [`reach ${escapeGlob(host)}`], label: `Network access to ${host}` }];
  }
  if (changes === 'anything') return [];
  const all = { tool, patterns: null, label: `All calls of ${tool}` };
  if (changes === 'repository') return [all, gitCommands];
  const path = details.operands.find(({ use }) => use === 'write')?.path;
  if (path === undefined || !(kind === 'edit' || kind === 'delete')) return [all];
  const tools = kind === 'edit' ? changingToolsPattern : tool;
  const [one, several] =
    kind === 'edit' ? ['Changes to', 'Changes under'] : ['Deleting', 'Deleting files under'];
  const folder = path.includes('/') ? path.slice(0, path.indexOf('/')) : undefined;
  return [
    { tool: tools, patterns: [globOfPath(path)], label: `${one} ${path}` },
    ...(folder === undefined
      ? []
      : [{ tool: tools, patterns: [`${escapeGlob(folder)}/**`], label: `${several} ${folder}/` }]),
    all,
  ];
}

/** A line of more commands is not offered: nobody would read what the patterns cover together. */
const MOST_COMMANDS = 8;

/** The classes of a command or line: exactly these commands; their subcommands; their programs. */
function commandClasses(policy: ToolCallPolicy, details: CallAssessment): readonly CallClass[] {
  const patterns = policy.commandsToCover(details).map(({ words }) => patternsFor(words));
  if (patterns.length === 0 || patterns.length > MOST_COMMANDS) return [];
  const levels = Math.max(...patterns.map(({ length }) => length));
  return Array.from({ length: levels }, (_, level) => {
    const chosen = patterns.flatMap((each) => each[Math.min(level, each.length - 1)] ?? []);
    const label = [...new Set(chosen)].map(labelOfPattern).join(' and ');
    return {
      tool: commandToolsPattern,
      patterns: chosen,
      label: label.charAt(0).toUpperCase() + label.slice(1),
    };
  }).filter((offer) => offer.patterns.length === patterns.length);
}

/**
 * Patterns for one command, narrow before wide. A command that is not harmless can only be granted as it stands, and only if
 * no word of it has blanks.
 */
function patternsFor(words: SimpleCommand['words']): readonly string[] {
  const known = words.filter((word) => word !== undefined);
  if (known.length !== words.length) return [];
  const exact = known.every((word) => /^\S+$/.test(word)) ? [known.map(escapeGlob).join(' ')] : [];
  if (!isHarmlessCommand(words)) return exact;
  const [program = '', first = '', second = ''] = known;
  const prefix = /^(run|run-script|-m)$/.test(first)
    ? /^[\w@.:-]+$/.test(second) && [program, first, second]
    : /^[a-z][a-z-]*$/.test(first) && [program, first];
  const wider = [...(prefix ? [`${prefix.join(' ')} *`] : []), `${program} *`];
  return [...new Set([...exact, ...wider])];
}

/** `npm test *` → harmless npm test commands. */
function labelOfPattern(pattern: string): string {
  if (pattern === 'git *') return 'harmless git commands, commits and new branches';
  return pattern.endsWith(' *') ? `harmless ${pattern.slice(0, -2)} commands` : `the command ${pattern}`;
}

export function newGrant(
  { tool, path, command }: ScopeRule,
  scope: GrantScope,
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
  const session = scope === 'session';
  return {
    id: about.id,
    user_id: execution.user_id,
    project_id: execution.project_id,
    session_id: scope === 'always' ? null : execution.session_id,
    scope,
    tool,
    pattern: command ?? path ?? null,
    workspace: about.workspace,
    max_risk: includeHigh ? 'HIGH' : session ? 'MEDIUM' : risk,
    uses: 0,
    created_at: about.now,
    expires_at: null,
    revoked_at: null,
  };
}
