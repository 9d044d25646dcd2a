import { describeError, type ModelResult, type LateResult as Reported } from '@countersign/protocol';
import type { ExecutionRow } from '../rows.ts';
import type { Reading, Unit } from '../store.ts';
import type { HeldUnit } from './held-run.ts';
import { lateNoteId } from './message-ids.ts';
import { asData, resultText } from './model-visible-result.ts';

/** So many of a session's latest calls are looked at. */
const LATEST_CALLS = 200;

/** A result that came after its call had ended, and that no step was given yet (EX-7). */
export interface LateResult {
  readonly execution: ExecutionRow;
  readonly reported: Reported;
}

export function* findLateResults(
  tx: Reading,
  { userId, sessionId }: { userId: string; sessionId: string },
): Unit<readonly LateResult[]> {
  const late: LateResult[] = [];
  const calls = yield* tx.history(userId, { sessionId, limit: LATEST_CALLS });
  for (const execution of calls) {
    // A report was accepted, and yet the call did not complete: it failed by itself, or the report came late.
    if (execution.status === 'completed' || execution.result_digest === null) continue;
    const late_result = (yield* tx.get('results', execution.id))?.late_result ?? null;
    if (late_result === null) continue;
    if (yield* tx.get('messages', lateNoteId(execution.id))) continue;
    late.push({ execution, reported: late_result as Reported });
  }
  return late.reverse();
}

/** Puts what came late at the end of the conversation, each once. */
export function* addLateResults({ tx, add }: HeldUnit, late: readonly LateResult[]): Unit<void> {
  for (const { execution, reported } of late) {
    const id = lateNoteId(execution.id);
    if (yield* tx.get('messages', id)) continue;
    yield* add({
      id,
      role: 'system',
      content: noteOf(execution, reported),
      tool_calls: null,
      tool_id: execution.id,
      complete: true,
    });
  }
}

function noteOf(execution: ExecutionRow, reported: Reported): string {
  const { id, tool_name, tool_call_id, error } = execution;
  const data = resultText(modelResultOf(execution, reported));
  return (
    `The result of an earlier call of ${tool_name} (${tool_call_id}) came late. The call had ended as ` +
    `${execution.status}${error === null ? '' : ` ("${error}")`}; this is what the runner reported afterwards:\n` +
    asData(id, tool_name, data)
  );
}

/** As the model is told of any call: what failed late is a failure. */
function modelResultOf(
  { tool_call_id, execution_time_ms }: ExecutionRow,
  { status, result, error }: Reported,
): ModelResult {
  const time = { execution_time_ms: execution_time_ms ?? 0 };
  if (status === 'completed') return { status: 'success', tool_call_id, result: result as never, ...time };
  return {
    status: 'error',
    tool_call_id,
    error: error ?? describeError('EXECUTION_FAILED'),
    ...(result !== null && { result: result as never }),
    ...time,
  };
}
