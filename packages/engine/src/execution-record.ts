import { type ErrorCode, type ExecutionStatus, isLegalTransition } from '@countersign/protocol';
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

/** What a call that ends with an error is recorded with. */
export const failure = (code: ErrorCode, message: string, at: number): Partial<ExecutionRow> => ({
  error: message.slice(0, 1000),
  error_type: code,
  completed_at: at,
});
