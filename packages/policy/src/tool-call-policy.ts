import {
  defaultLimits,
  isAbove,
  isCustomToolName,
  type Limits,
  type PolicyRule,
  parseToolCall,
  type Reason,
  type ToolCall,
  type ToolErrorValue,
  waitsForCommand,
} from '@countersign/protocol';
import type { CallAssessment, SimpleCommand } from './call-assessment.ts';
import {
  assessCustomCall,
  type CustomTools,
  customToolsOf,
  implicitAllowRule,
  parseCustomCall,
} from './custom/assess-custom-call.ts';
import type { Disk } from './path-validator.ts';
import { type CompiledRule, type LoadedPolicy, type PolicyOwner, rulesOnPaths } from './policy-rules.ts';
import { RiskAssessor } from './risk-assessor.ts';
import { commandsToCover, uniteAllowRules } from './united-rules.ts';
import { type Allowed, allow, isRefused, refuse, stricter, type Verdict } from './verdict.ts';

export interface ToolCallPolicyOptions {
  /** Absolute path of the workspace root. */
  readonly root: string;
  readonly disk?: Disk;
  readonly home?: string;
  readonly limits?: Limits;
  readonly policies?: readonly LoadedPolicy[];
  /** Read again at each call. If left out, there are no custom tools. */
  readonly customTools?: CustomTools;
}

/** The decision on one call. */
export interface PolicyDecision {
  /** What happens: LOW runs at once, MEDIUM and HIGH ask, REJECT never asks. */
  readonly verdict: Verdict;
  /** How risky the call is by itself, before policy files; undefined when it was refused. */
  readonly assessed: Allowed | undefined;
  /** The allow rule that replaces the person's approval, if any. */
  readonly allowedBy: PolicyRule | undefined;
  /** Further allow rules that the call needs: together with `allowedBy` they cover each command of a line (RK-5). */
  readonly allowedWith?: readonly PolicyRule[];
  /** The rule that requires the person's approval, if any. It beats every allow rule (RK-5). */
  readonly askedBy?: PolicyRule | undefined;
  readonly call: ToolCall | undefined;
  readonly details: CallAssessment | undefined;
}

/** Decides tool calls in one workspace: parameters, validators, risk, then policy files. To learn policy, start here. */
export class ToolCallPolicy {
  readonly #assessor: RiskAssessor;
  readonly #rules: readonly CompiledRule[];
  readonly #customTools: CustomTools;
  readonly #limits: Limits;
  readonly #pathRulesByTool = new Map<string, readonly PolicyRule[]>();

  constructor(options: ToolCallPolicyOptions) {
    const policies = options.policies ?? [];
    const own = policies.flatMap(({ owner, file }) => (owner === 'person' ? [file] : []));
    // Where two files name a program, the first one says how risky it is.
    const programs = own.flatMap(({ programs = [] }) => programs).toReversed();
    const { root, disk, home, limits = defaultLimits } = options;
    this.#limits = limits;
    this.#rules = policies.flatMap(({ rules }) => rules);
    this.#customTools = options.customTools ?? customToolsOf([]);
    this.#assessor = new RiskAssessor({
      root,
      disk,
      home,
      limits,
      liftedSensitivePaths: new Set(own.flatMap(({ sensitive_paths = [] }) => sensitive_paths)),
      addedPrograms: new Map(programs.map(({ name, risk }) => [name, risk])),
    });
  }

  decide(tool: unknown, params: unknown): PolicyDecision {
    const found = this.#assess(tool, params);
    if ('error' in found) {
      const { code, message } = found.error;
      const verdict: Verdict = {
        decision: 'REJECT',
        code,
        message,
        reasons: [{ rule: 'PARAM-1', why: message }],
      };
      return { verdict, assessed: undefined, allowedBy: undefined, call: undefined, details: undefined };
    }
    const { call, details, implicitAllow } = found;
    if (isRefused(details.verdict)) {
      return { verdict: details.verdict, assessed: undefined, allowedBy: undefined, call, details };
    }
    const ruled = this.#applyRules(call, details, details.verdict, implicitAllow);
    return { ...ruled, assessed: details.verdict, call, details };
  }

  /** Deny and ask rules on paths, which the runner applies to the real disk. */
  rulesOnPaths(tool: string): readonly PolicyRule[] {
    const known = this.#pathRulesByTool.get(tool);
    if (known) return known;
    const rules = this.#rules.map(({ rule }) => rule);
    const found = rulesOnPaths(rules, tool);
    this.#pathRulesByTool.set(tool, found);
    return found;
  }

  /**
   * The grants and allow rules that together cover each command of a line (RK-5); empty if a command is left. `granted` are
   * grants as rules. A rule that asks beats allow rules, but not a grant, which a person gave after it.
   */
  unite<Granted extends CompiledRule>(
    { call, details, assessed, askedBy }: PolicyDecision,
    granted: readonly Granted[],
  ): readonly (Granted | CompiledRule)[] {
    if (!call || !details || !assessed || granted.length === 0) return [];
    const rules = askedBy ? [] : this.#rules.filter((rule) => isAllowing(rule, assessed, details));
    return uniteAllowRules([...granted, ...rules], call, details, this.#onlyReads);
  }

  /** The commands of a call that a grant or rule must cover (RK-5). */
  commandsToCover(details: CallAssessment): readonly SimpleCommand[] {
    return details.commands.length < 2 ? details.commands : commandsToCover(details, this.#onlyReads);
  }

  readonly #onlyReads = (command: SimpleCommand): boolean => this.#assessor.onlyReads(command);

  /** Adds the default timeout, which an operator may have changed (TL-3), to a call without a timeout. */
  #withTimeout(tool: unknown, params: unknown): unknown {
    if (!waitsForCommand(tool) || typeof params !== 'object' || params === null || 'timeout' in params)
      return params;
    return { ...params, timeout: this.#limits.commandTimeoutDefaultSeconds };
  }

  /** `implicitAllow`: the rule by which the person's configuration lets this custom tool run unasked. */
  #assess(
    tool: unknown,
    params: unknown,
  ):
    | { call: ToolCall; details: CallAssessment; implicitAllow?: PolicyRule | undefined }
    | { error: ToolErrorValue } {
    if (typeof tool === 'string' && isCustomToolName(tool)) {
      const parsed = parseCustomCall(tool, params, this.#customTools);
      if (!parsed.ok) return parsed;
      return {
        call: parsed.call,
        details: assessCustomCall(parsed.tool),
        implicitAllow: implicitAllowRule(parsed.tool),
      };
    }
    const parsed = parseToolCall(tool, this.#withTimeout(tool, params));
    return parsed.ok ? { call: parsed.call, details: this.#assessor.assess(parsed.call) } : parsed;
  }

  /** Deny beats ask beats allow (RK-5). Refused calls never get here. */
  #applyRules(
    call: ToolCall,
    details: CallAssessment,
    assessed: Allowed,
    implicitAllow: PolicyRule | undefined,
  ): Pick<PolicyDecision, 'verdict' | 'allowedBy' | 'allowedWith' | 'askedBy'> {
    const compared = this.#rules.length * (details.operands.length + details.commands.length);
    if (compared > MAX_COMPARISONS) return { verdict: tooManyToCompare(call.tool), allowedBy: undefined };
    const matching = this.#rules.filter((candidate) => candidate.matches(call, details));
    const denied = matching.find(({ rule }) => rule.effect === 'deny');
    if (denied) return { verdict: denyBy(denied), allowedBy: undefined };
    const asked =
      matching.find(({ rule }) => rule.effect === 'ask') ??
      this.#rules.find((candidate) => candidate.mayReach(call, details));
    if (asked) {
      const verdict = stricter(assessed, allow('MEDIUM', [reasonOf(asked)]));
      return { verdict, allowedBy: undefined, askedBy: asked.rule };
    }
    if (assessed.decision === 'LOW') return { verdict: assessed, allowedBy: undefined };
    const [first, ...further] = this.#allowRules(call, details, assessed, matching);
    const allowed = first ?? (implicitAllow && { rule: implicitAllow, owner: 'person' });
    if (!allowed) return { verdict: assessed, allowedBy: undefined };
    const reasons = [allowed, ...further].map(reasonOf);
    return {
      verdict: allow('LOW', [...reasons, ...assessed.reasons], assessed.network),
      allowedBy: allowed.rule,
      ...(further.length > 0 && { allowedWith: further.map(({ rule }) => rule) }),
    };
  }

  /** The allow rule that covers the whole call, or else those that cover a line together. */
  #allowRules(
    call: ToolCall,
    details: CallAssessment,
    assessed: Allowed,
    matching: readonly CompiledRule[],
  ): readonly CompiledRule[] {
    const allows = (rule: CompiledRule) => isAllowing(rule, assessed, details);
    const alone = matching.find(allows);
    return alone ? [alone] : uniteAllowRules(this.#rules.filter(allows), call, details, this.#onlyReads);
  }
}

/** The most rules × names in the call, about a second of work. More would delay other calls on the server. */
const MAX_COMPARISONS = 500_000;

function tooManyToCompare(tool: string): Verdict {
  const problem = 'it names too much to be compared with each of your rules; name less at a time';
  return refuse('INVALID_PARAMS', { tool, problem }, { rule: 'POLICY-2', why: problem });
}

/** An allow rule covers calls up to MEDIUM unless it says HIGH, and never a call that needs a person. */
function isAllowing({ rule }: CompiledRule, assessed: Allowed, details: CallAssessment): boolean {
  const limit = rule.max_risk ?? 'MEDIUM';
  return rule.effect === 'allow' && !details.needsPerson && !isAbove(assessed.decision, limit);
}

function denyBy({ rule, owner }: Pick<CompiledRule, 'rule' | 'owner'>): Verdict {
  const why = rule.why ?? `rule ${rule.id} denies this`;
  const whose = owner === 'person' ? "person's own" : "workspace's";
  const reason = { rule: rule.id, why: `denied by the ${whose} policy: ${why}` };
  return refuse('DENIED_BY_POLICY', { owner: whose, why }, reason);
}

function reasonOf({ rule, owner }: { readonly rule: PolicyRule; readonly owner: PolicyOwner }): Reason {
  if (rule.effect === 'deny')
    return { rule: rule.id, why: `may show what rule "${rule.id}" denies: ${rule.path}` };
  const verb = rule.effect === 'allow' ? 'allows this without asking' : 'wants this to be asked';
  const whose = owner === 'person' ? 'your own policy' : "the workspace's policy";
  return { rule: rule.id, why: rule.why ?? `${whose} ${verb}` };
}
