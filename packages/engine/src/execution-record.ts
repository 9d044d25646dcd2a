import { maskSecretShapes } from '@countersign/policy';
import {
  boundedReasons,
  type ErrorCode,
  type ExecutionStatus,
  isLegalTransition,
  type Reason,
} from '@countersign/protocol';
import { Refusal } from './refusal.ts';
import type { ExecutionRow } from './rows.ts';
import type { Transaction, Unit } from './store.ts';

/** Moves an execution along the one table of transitions (EX-2); anything else is refused. */
export function* transition(
  tx: Transaction,
  row: ExecutionRow,
  to: ExecutionStatus,
  patch: Partial<ExecutionRow> = {},
): Unit<ExecutionRow> {
  if (!isLegalTransition(row.status, to)) {
    throw new Refusal('ILLEGAL_TRANSITION', { from: row.status, to, tool_id: row.id });
  }
  const change = { ...patch, status: to };
  yield* tx.update('tool_executions', row.id, change);
  return { ...row, ...change };
}

/** A message may quote what was called with; a secret at its cut end would not be known for one. */
const MAX_ERROR = 1000;
const recordedText = (text: string): string => maskSecretShapes(text.slice(0, 2 * MAX_ERROR));

/** Reasons as records keep them: an operand may hold a secret (DA-3). The parameters on the card are whole. */
export const recordedReasons = (reasons: readonly Reason[]): Reason[] =>
  boundedReasons(reasons).map((reason) =>
    reason.operand === undefined
      ? reason
      : { ...reason, why: recordedText(reason.why), operand: recordedText(reason.operand) },
  );

/** What a call that ends with an error is recorded with. */
export const failure = (code: ErrorCode, message: string, at: number): Partial<ExecutionRow> => ({
  error: recordedText(message).slice(0, MAX_ERROR),
  error_type: code,
  completed_at: at,
});
