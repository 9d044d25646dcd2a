import { join } from 'node:path';
import {
  type CompiledRule,
  compileRule,
  grantCovers,
  IMPLICIT_ALLOW_RULE,
  type PolicyDecision,
  RiskAssessor,
  type SimpleCommand,
  uniteAllowRules,
} from '@countersign/policy';
import {
  type ErrorCode,
  type PolicyRule,
  type RiskLevel,
  riskLevelSchema,
  riskLevels,
} from '@countersign/protocol';
import { readPersonsFile } from './persons-file.ts';
import { realDisk } from './real-disk.ts';
import type { ExecutionSignal } from './runner-api.ts';

/** The risk levels that need a decision made on this machine, whatever the server says (RN-2). */
export type Ceiling =
  | { readonly ok: true; readonly path: string; readonly decideHere: readonly RiskLevel[] }
  /** The file exists but is not valid: until it is corrected, nothing above LOW runs. */
  | { readonly ok: false; readonly path: string; readonly problem: string };

/** Reads `ceiling.json` of the person's configuration folder. Without it, no level needs a decision here. */
export function readCeiling(configFolder: string, workspaceRoot: string): Ceiling {
  const path = join(configFolder, 'ceiling.json');
  const file = readPersonsFile(path, workspaceRoot);
  if (file.state === 'missing') return { ok: true, path, decideHere: [] };
  if (file.state === 'refused') return { ok: false, path, problem: file.problem };
  try {
    return { ok: true, path, decideHere: parseCeiling(JSON.parse(file.text)) };
  } catch {
    const problem = `${path} is not valid; it looks like {"version": 1, "decide_here": ["HIGH"]}`;
    return { ok: false, path, problem };
  }
}

/** Throws unless the value is exactly `{"version": 1, "decide_here": [levels]}`; a misspelt field is refused too. */
function parseCeiling(value: unknown): RiskLevel[] {
  const { version, decide_here, ...others } = value as Record<string, unknown>;
  if (version !== 1 || Object.keys(others).length > 0) throw new Error('not a ceiling');
  return riskLevelSchema.array().parse(decide_here);
}

export type Permission =
  /** `needsDecisionHere`: the call uses up the decision that was made on this machine. */
  | { readonly ok: true; readonly needsDecisionHere: boolean }
  | {
      readonly ok: false;
      readonly code: Extract<ErrorCode, 'APPROVAL_STALE' | 'DENIED_BY_POLICY'>;
      readonly values: Readonly<Record<string, string>>;
    };

export interface PermissionFacts {
  readonly signal: ExecutionSignal;
  /** This machine's own decision, which did not refuse. */
  readonly own: PolicyDecision;
  /** The stricter of the server's risk level and this machine's. */
  readonly risk: RiskLevel;
  /** Recomputed just now; null for LOW calls. */
  readonly digest: string | null;
  readonly workspaceRoot: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly ceiling: Ceiling;
  /** The digest of the card that the person approved on this machine. */
  readonly decidedHere: string | undefined;
}

/**
 * Decides whether a signalled call may start here (RN-2). A LOW call may. Any other call needs a person's approval, or a
 * grant or policy rule that covers it; the approved digest; and, if the ceiling lists its risk level, a decision made on
 * this machine. A refusal with APPROVAL_STALE makes the server ask the person again.
 */
export function permissionFor(facts: PermissionFacts): Permission {
  const { signal, risk, digest, ceiling } = facts;
  if (risk === 'LOW') return { ok: true, needsDecisionHere: false };
  if (!ceiling.ok)
    return { ok: false, code: 'DENIED_BY_POLICY', values: { owner: "machine's", why: ceiling.problem } };
  const problem = whyNotAllowed(facts);
  if (problem !== undefined) return stale(problem);
  if (signal.digest !== null && signal.digest !== digest)
    return stale('the files or the command are not those that were shown');
  const needsDecisionHere = ceiling.decideHere.includes(risk);
  if (needsDecisionHere && (digest === null || facts.decidedHere !== digest))
    return stale(`${risk} calls need a decision made on the machine that executes them`);
  return { ok: true, needsDecisionHere };
}

function whyNotAllowed(facts: PermissionFacts): string | undefined {
  const { signal, own, risk, workspaceRoot: workspace, now } = facts;
  if (own.allowedBy) return undefined;
  if (signal.approval_id !== null && signal.approved_by === 'user') {
    if (isAbove(risk, signal.risk_level)) return `it is ${risk} here, more than what was approved`;
    // HIGH cannot be approved without a preview (AP-7), so this approval did not come from a person.
    if (risk === 'HIGH' && signal.digest === null) return 'it was approved without having been shown';
    return undefined;
  }
  if (signal.grant !== null && signal.grant_id !== null) {
    const expires_at = signal.grant.expires_at === null ? null : Date.parse(signal.grant.expires_at);
    const here = { sessionId: signal.session_id, workspace, risk, askedBy: own.askedBy, now };
    const isCovered =
      own.call && own.details && grantCovers({ ...signal.grant, expires_at }, own.call, own.details, here);
    return isCovered ? undefined : 'the grant does not cover it here';
  }
  if (signal.rule !== null && signal.approved_by === 'config') {
    // `own.allowedBy` says that this machine's own tool configuration allows the call; the server's copy does not count.
    if (signal.rule.id === IMPLICIT_ALLOW_RULE)
      return 'the tool configuration of this machine wants it to be asked';
    const rules = [signal.rule, ...(signal.further_rules ?? [])];
    return rulesCover(rules, own, facts) ? undefined : 'the rule of your policy does not cover it here';
  }
  return `it is ${risk} here, and nobody has approved it`;
}

/** Checks rules that the person saved at the server against the real disk; the server only checked the text. */
function rulesCover(
  rules: readonly PolicyRule[],
  { call, details, askedBy }: PolicyDecision,
  { risk, workspaceRoot: root }: Pick<PermissionFacts, 'risk' | 'workspaceRoot'>,
): boolean {
  // Ask beats allow (RK-5): an ask rule that matches on this machine overrides the server's allow rules.
  if (askedBy || !call || !details || details.needsPerson) return false;
  const compiled = rules.map((rule) => compileRule(rule, 'person'));
  const isUsable = (rule: CompiledRule | string): rule is CompiledRule =>
    typeof rule !== 'string' &&
    rule.rule.effect === 'allow' &&
    !isAbove(risk, rule.rule.max_risk ?? 'MEDIUM');
  if (!compiled.every(isUsable)) return false;
  const assessor = new RiskAssessor({ root, disk: realDisk });
  const onlyReads = (command: SimpleCommand): boolean => assessor.onlyReads(command);
  return (
    compiled.some((rule) => rule.matches(call, details)) ||
    uniteAllowRules(compiled, call, details, onlyReads).length > 0
  );
}

const isAbove = (risk: RiskLevel, limit: RiskLevel): boolean =>
  riskLevels.indexOf(risk) > riskLevels.indexOf(limit);

const stale = (problem: string): Permission => ({ ok: false, code: 'APPROVAL_STALE', values: { problem } });
