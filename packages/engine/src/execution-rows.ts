import { type Caller, isOf } from './caller.ts';
import { notFound } from './refusal.ts';
import type { ExecutionRow, PayloadRow } from './rows.ts';
import type { Reading, Unit } from './store.ts';

/** A call with its full contents. Another person's call is not found, as one that does not exist. */
export function* executionRows(
  tx: Reading,
  caller: Caller,
  toolId: string,
): Unit<{ execution: ExecutionRow; payload: PayloadRow }> {
  const execution = yield* tx.get('tool_executions', toolId);
  if (!execution || !isOf(caller, execution)) throw notFound('tool call');
  const payload = yield* tx.get('payloads', toolId);
  if (!payload) throw notFound('tool call');
  return { execution, payload };
}
