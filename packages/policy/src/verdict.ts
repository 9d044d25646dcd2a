import {
  describeError,
  type ErrorCode,
  higherRisk,
  type Reason,
  type RiskLevel,
} from '@countersign/protocol';

/** The result of a validator or of the RiskAssessor: allowed at a risk level, or refused without asking the person. */
export type Verdict = Allowed | Refused;

export interface Allowed {
  readonly decision: RiskLevel;
  readonly reasons: readonly Reason[];
  /** True when the call cannot do its work without network. */
  readonly network: boolean;
}

export interface Refused {
  readonly decision: 'REJECT';
  readonly code: ErrorCode;
  readonly message: string;
  readonly reasons: readonly Reason[];
}

export function allow(decision: RiskLevel, reasons: readonly Reason[] = [], network = false): Allowed {
  return { decision, reasons, network };
}

/** `reason.why` is the sentence that the person reads in the history. */
export function refuse(
  code: ErrorCode,
  values: Readonly<Record<string, string | number>>,
  reason: Reason,
): Refused {
  return { decision: 'REJECT', code, message: describeError(code, values).message, reasons: [reason] };
}

export const isRefused = (verdict: Verdict): verdict is Refused => verdict.decision === 'REJECT';

/** The stricter of two verdicts: a refusal wins, else the higher risk; reasons and network needs add up. */
export function stricter(a: Verdict, b: Verdict): Verdict {
  if (isRefused(a)) return a;
  if (isRefused(b)) return b;
  return {
    decision: higherRisk(a.decision, b.decision),
    reasons: mergeReasons(a.reasons, b.reasons),
    network: a.network || b.network,
  };
}

/** Appends `b` to `a`, without reasons whose rule and operand `a` already has. */
function mergeReasons(a: readonly Reason[], b: readonly Reason[]): readonly Reason[] {
  if (b.length === 0) return a;
  if (a.length === 0) return b;
  const seen = new Set(a.map(reasonKey));
  return [...a, ...b.filter((reason) => !seen.has(reasonKey(reason)))];
}

const reasonKey = (reason: Reason): string => `${reason.rule}\u0000${reason.operand ?? ''}`;
