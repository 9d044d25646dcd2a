import { join } from 'node:path';
import {
  type CompiledRule,
  compileRule,
  grantAsRule,
  IMPLICIT_ALLOW_RULE,
  type PolicyDecision,
  RiskAssessor,
  type SimpleCommand,
  uniteAllowRules,
} from '@countersign/policy';
import {
  areSameRules,
  type ErrorCode,
  isAbove,
  isMachineRule,
  machineRuleId,
  type PolicyRule,
  type RiskLevel,
  riskLevelSchema,
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
  /** The rules of the person's policy file on this machine. */
  readonly rulesHere: readonly PolicyRule[];
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
  const { signal, own, risk } = facts;
  if (own.allowedBy) return undefined;
  if (signal.approval_id !== null && signal.approved_by === 'user') {
    if (isAbove(risk, signal.risk_level)) return `it is ${risk} here, more than what was approved`;
    // HIGH cannot be approved without a preview (AP-7), so this approval did not come from a person.
    if (risk === 'HIGH' && signal.digest === null) return 'it was approved without having been shown';
    return undefined;
  }
  const isGranted = signal.grant !== null && signal.grant_id !== null;
  if (signal.approved_by !== 'config' || (!isGranted && signal.rule === null))
    return `it is ${risk} here, and nobody has approved it`;
  // `own.allowedBy` says that this machine's own tool configuration allows the call; the server's copy does not count.
  if (signal.rule?.id === IMPLICIT_ALLOW_RULE)
    return 'the tool configuration of this machine wants it to be asked';
  const grants = isGranted ? grantsAsRules(facts) : [];
  const rules = signal.rule === null ? [] : rulesAsAllowed(facts);
  if (grants && rules && cover([...grants, ...rules], facts)) return undefined;
  return isGranted ? 'the grant does not cover it here' : 'the rule of your policy does not cover it here';
}

/** The grants of a signal as allow rules; undefined if one of them does not apply to the call on this machine. */
function grantsAsRules({
  signal,
  own,
  risk,
  workspaceRoot,
  now,
}: PermissionFacts): CompiledRule[] | undefined {
  const { details, askedBy } = own;
  if (!details || !signal.grant) return undefined;
  const here = { sessionId: signal.session_id, workspace: workspaceRoot, risk, askedBy, now };
  const compiled = [signal.grant, ...(signal.further_grants ?? [])].map((grant) => {
    const expires_at = grant.expires_at === null ? null : Date.parse(grant.expires_at);
    return grantAsRule({ ...grant, expires_at }, details, here);
  });
  return allOrNone(compiled);
}

/** Rules that the person saved at the server; undefined if one of them does not allow the call on this machine. */
function rulesAsAllowed({ signal, own, risk, rulesHere }: PermissionFacts): CompiledRule[] | undefined {
  // Ask beats allow (RK-5): an ask rule that matches on this machine overrides the server's allow rules.
  if (!signal.rule || own.askedBy || !own.details || own.details.needsPerson) return undefined;
  // The server names rules of this machine's own file; they count only if the file still has them.
  const known = rulesHere.map((rule) => ({ ...rule, id: machineRuleId(rule.id) }));
  const compiled = [signal.rule, ...(signal.further_rules ?? [])].map((rule) => {
    if (isMachineRule(rule) && !known.some((here) => areSameRules(here, rule))) return undefined;
    const found = compileRule(rule, 'person');
    const allows =
      typeof found !== 'string' && rule.effect === 'allow' && !isAbove(risk, rule.max_risk ?? 'MEDIUM');
    return allows ? found : undefined;
  });
  return allOrNone(compiled);
}

function allOrNone(rules: readonly (CompiledRule | undefined)[]): CompiledRule[] | undefined {
  const found = rules.filter((rule) => rule !== undefined);
  return found.length === rules.length ? found : undefined;
}

/** Checks grants and rules against the real disk; the server only checked the text. */
function cover(
  rules: readonly CompiledRule[],
  { own: { call, details }, workspaceRoot: root }: PermissionFacts,
): boolean {
  if (!call || !details) return false;
  const assessor = new RiskAssessor({ root, disk: realDisk });
  const onlyReads = (command: SimpleCommand): boolean => assessor.onlyReads(command);
  return (
    rules.some((rule) => rule.matches(call, details)) ||
    uniteAllowRules(rules, call, details, onlyReads).length > 0
  );
}

const stale = (problem: string): Permission => ({ ok: false, code: 'APPROVAL_STALE', values: { problem } });
