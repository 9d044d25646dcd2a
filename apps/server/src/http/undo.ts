import {
  announceCall,
  type Engine,
  type ExecutionRow,
  isoTime,
  makeEvent,
  newId,
  type Reading,
  Refusal,
  type ResultBody,
  runnerKey,
  type Store,
  type Unit,
} from '@countersign/engine';
import { describeError, type ErrorCode, errorCodes, findTool, isFinal } from '@countersign/protocol';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';

/** Asks the runner that has the undo copy to restore what a call changed; its outcome comes as a result (RN-3). */
export async function requestUndo(
  { engine, store }: { engine: Engine; store: Store },
  caller: AuthenticatedCaller,
  call: ExecutionRow,
  force: boolean,
): Promise<string> {
  const problem = whyNotUndoable(call);
  if (problem !== undefined) throw new Refusal('NOT_UNDOABLE', { problem });
  const project = await store.read((tx) => tx.get('projects', call.project_id));
  const workspace = project?.workspace ?? '';
  const runnerId = await store.read((tx) =>
    engine.presence.pick(tx, caller.userId, workspace, call.runner_id),
  );
  if (runnerId === undefined) throw new Refusal('NO_RUNNER', { workspace });
  const undoId = newId();
  const now = store.now();
  await store.write(function* (tx) {
    const current = yield* tx.get('tool_executions', call.id);
    const changed = current && whyNotUndoable(current);
    if (changed !== undefined) throw new Refusal('NOT_UNDOABLE', { problem: changed });
    yield* tx.update('tool_executions', call.id, { undo_id: undoId, undo_runner_id: runnerId });
    const undo = makeEvent('tool.undo', {
      tool_id: call.id,
      project_id: call.project_id,
      session_id: call.session_id,
      undo_id: undoId,
      runner_id: runnerId,
      force,
      timestamp: isoTime(now),
    });
    const data = { undo_id: undoId, token: caller.tokenId, force };
    announceCall(tx, call, [undo], 'call.undo_requested', data);
  });
  return undoId;
}

function whyNotUndoable(call: ExecutionRow): string | undefined {
  if (call.undone_at !== null) return 'it was undone already';
  // A late report or a partial failure may have changed files too.
  if (!isFinal(call.status)) return `it is ${call.status}`;
  if (!call.undoable && findTool(call.tool_name)?.category !== 'filesystem')
    return 'only what file tools changed can be undone';
  if (!call.undoable) return call.status === 'completed' ? 'it changed no file' : `it is ${call.status}`;
  return undefined;
}

/** The runner's report of an undo: the call keeps its status, and is marked as undone if that succeeded. */
export async function settleUndo(
  store: Store,
  call: ExecutionRow,
  undoId: string,
  input: ResultBody,
): Promise<string> {
  const now = store.now();
  const isDone = input.status === 'completed';
  return store.write(function* (tx) {
    const current = yield* tx.get('tool_executions', call.id);
    if (!current?.undoable) throw new Refusal('NOT_UNDOABLE', { problem: 'it changed no file' });
    if (current.undo_id !== undoId)
      throw new Refusal('NOT_UNDOABLE', { problem: 'this undo was not asked for' });
    yield* requireAsked(tx, current, input);
    if (isDone && current.undone_at !== null) return 'The undo was known already';
    if (isDone) yield* tx.update('tool_executions', call.id, { undone_at: now });
    const told = makeEvent('tool.result', {
      tool_id: call.id,
      project_id: call.project_id,
      session_id: call.session_id,
      tool_call_id: call.tool_call_id,
      tool_name: call.tool_name,
      status: input.status,
      result: null,
      error: isDone ? null : undoError(input),
      execution_time_ms: input.execution_time_ms ?? null,
      late: false,
      undo_id: undoId,
      timestamp: isoTime(now),
    });
    announceCall(tx, call, [told], isDone ? 'call.undone' : 'call.undo_failed', { undo_id: undoId });
    return isDone ? 'The undo is recorded' : 'The undo failed, and the person is told';
  });
}

/** Only the runner that was asked may report the undo (AP-9). */
function* requireAsked(
  tx: Reading,
  { user_id, undo_runner_id }: ExecutionRow,
  { runner_id, instance }: ResultBody,
): Unit<void> {
  const runner =
    undo_runner_id === runner_id ? yield* tx.get('runners', runnerKey(user_id, runner_id ?? '')) : null;
  if (!runner || (instance !== undefined && instance !== runner.instance))
    throw new Refusal('CLAIM_REFUSED', { problem: 'another runner was asked for this undo' });
}

function undoError(input: ResultBody) {
  const error = input.status === 'completed' ? undefined : input.error;
  if (error === undefined || typeof error === 'string') {
    return describeError('EXECUTION_FAILED', { problem: error ?? 'the undo was cancelled' });
  }
  const code: ErrorCode = Object.hasOwn(errorCodes, error.code)
    ? (error.code as ErrorCode)
    : 'EXECUTION_FAILED';
  return { ...describeError(code), message: error.message };
}
