import { type Caller, isOf } from '../caller.ts';
import { notFound } from '../refusal.ts';
import type { ExecutionRow } from '../rows.ts';
import type { Reading, Unit } from '../store.ts';

/** A call of this person. Another's is not found, as one that does not exist. */
export function* ownExecution(tx: Reading, caller: Caller, toolId: string): Unit<ExecutionRow> {
  const execution = yield* tx.get('tool_executions', toolId);
  if (!execution || !isOf(caller, execution)) throw notFound('tool call');
  return execution;
}
