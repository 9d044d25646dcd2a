import {
  describeError,
  type ErrorCode,
  errorCodes,
  findTool,
  isFinal,
  maxUndoneAtOnce,
} from '@countersign/protocol';
import { runnerKey } from '../dispatch/runners.ts';
import { newId } from '../ids.ts';
import type { RunnerPresence } from '../nodes/runner-presence.ts';
import { announceCall, isoTime, makeEvent } from '../record/announcements.ts';
import { fileChangedEvents } from '../record/call-events.ts';
import type { Caller } from '../record/call-request.ts';
import { Refusal } from '../refusal.ts';
import type { ExecutionRow, Json } from '../rows.ts';
import type { ResultBody } from '../settle/settlements.ts';
import type { Bus, Reading, Store, Unit } from '../store.ts';
import type { Clock } from '../waiting.ts';

export interface UndoDeps {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly presence: RunnerPresence;
}

/** An undo that a runner was asked for. */
interface AskedUndo {
  readonly undoId: string;
  readonly toolIds: readonly string[];
}

/**
 * Asks the runner that has the undo copies to restore what these calls of one project changed, all or nothing (RN-3). Its
 * outcome comes as a result. Calls come newest first.
 */
async function requestUndo(
  { store }: Pick<UndoDeps, 'store'>,
  caller: Pick<Caller, 'tokenId'>,
  calls: readonly ExecutionRow[],
  { force, runnerId, workspace }: { force: boolean; runnerId: string | undefined; workspace: string },
): Promise<AskedUndo> {
  const [first] = calls;
  if (!first || runnerId === undefined) throw new Refusal('NO_RUNNER', { workspace });
  const undoId = newId();
  const toolIds = calls.map(({ id }) => id);
  const now = store.now();
  await store.write(function* (tx) {
    for (const id of toolIds) {
      const current = yield* tx.get('tool_executions', id);
      const problem = current && whyNotUndoable(current);
      if (problem !== undefined) throw new Refusal('NOT_UNDOABLE', { problem });
      yield* tx.update('tool_executions', id, {
        undo_id: undoId,
        undo_runner_id: runnerId,
        undo_error: null,
      });
      const data = { undo_id: undoId, token: caller.tokenId, force };
      announceCall(tx, current ?? first, [], 'call.undo_requested', data);
    }
    const undo = makeEvent('tool.undo', {
      tool_id: first.id,
      project_id: first.project_id,
      session_id: first.session_id,
      undo_id: undoId,
      ...(toolIds.length > 1 && { tool_ids: toolIds }),
      runner_id: runnerId,
      force,
      timestamp: isoTime(now),
    });
    announceCall(tx, first, [undo]);
  });
  return { undoId, toolIds };
}

/** Asks for the undo of one call, and does not wait for its outcome. */
export async function requestCallUndo(
  deps: Pick<UndoDeps, 'store' | 'presence'>,
  caller: Caller,
  call: ExecutionRow,
  force: boolean,
): Promise<string> {
  const problem = whyNotUndoable(call);
  if (problem !== undefined) throw new Refusal('NOT_UNDOABLE', { problem });
  const { workspace, runnerOf } = await runnersFor(deps, [call]);
  const asked = { force, workspace, runnerId: runnerOf.get(call.runner_id) };
  return (await requestUndo(deps, caller, [call], asked)).undoId;
}

/** How long a request waits for the runner: hundreds of files take some seconds, and clients give up after 30 s. */
const UNDO_WAIT_MS = 25_000;

/**
 * Undoes calls of one project and waits until their files are back. Calls that changed no file or are undone already are
 * skipped, so that a repeated request continues where an interrupted one ended. Calls come newest first. Throws the
 * runner's refusal, for example UNDO_CONFLICT with the files that were changed since: then no file was touched.
 */
export async function undoCalls(
  deps: UndoDeps,
  caller: Caller,
  calls: readonly ExecutionRow[],
  { force }: { readonly force: boolean },
): Promise<readonly ExecutionRow[]> {
  const open = calls.find(({ status }) => !isFinal(status));
  if (open) throw new Refusal('NOT_UNDOABLE', { problem: `it is ${open.status}` });
  const undone = calls.filter((call) => whyNotUndoable(call) === undefined);
  const { workspace, runnerOf } = await runnersFor(deps, undone);
  const missing = undone.some(({ runner_id }) => runnerOf.get(runner_id) === undefined);
  if (missing) throw new Refusal('NO_RUNNER', { workspace });
  for (const [runnerId, group] of Map.groupBy(undone, ({ runner_id }) => runnerOf.get(runner_id))) {
    for (let start = 0; start < group.length; start += maxUndoneAtOnce) {
      const some = group.slice(start, start + maxUndoneAtOnce);
      const asked = await requestUndo(deps, caller, some, { force, runnerId, workspace });
      await untilUndone(deps, asked, { userId: caller.userId, workspace });
    }
  }
  return undone;
}

/** The connected runner that can undo the calls of each runner. */
async function runnersFor(
  { store, presence }: Pick<UndoDeps, 'store' | 'presence'>,
  calls: readonly ExecutionRow[],
) {
  return store.read(function* (tx) {
    const [first] = calls;
    const workspace = (first && (yield* tx.get('projects', first.project_id)))?.workspace ?? '';
    const runnerOf = new Map<string | null, string | undefined>();
    for (const { user_id, runner_id } of calls) {
      if (!runnerOf.has(runner_id))
        runnerOf.set(runner_id, yield* presence.pick(tx, user_id, workspace, runner_id));
    }
    return { workspace, runnerOf };
  });
}

/** Waits until every call of an undo is undone. Another node may get the runner's report, so the rows decide. */
async function untilUndone(
  { store, bus, clock }: UndoDeps,
  { undoId, toolIds }: AskedUndo,
  { userId, workspace }: { userId: string; workspace: string },
): Promise<void> {
  const deadline = clock.monotonic() + UNDO_WAIT_MS;
  for (;;) {
    const changed = nextChange(bus, clock, userId); // subscribe first, so that nothing is missed
    const isDone = await store.read((tx) => readUndo(tx, undoId, toolIds));
    if (isDone || clock.monotonic() >= deadline) {
      changed.cancel();
      if (isDone) return;
      throw new Refusal('UNDO_UNANSWERED', { workspace });
    }
    await changed.promise;
  }
}

/** Whether all calls are undone. Throws the runner's refusal. All calls are settled together, so usually the first one decides. */
function* readUndo(tx: Reading, undoId: string, toolIds: readonly string[]): Unit<boolean> {
  for (const id of toolIds) {
    const call = yield* tx.get('tool_executions', id);
    if (call?.undo_id === undoId && call.undo_error !== null) throw new UndoRefused(call.undo_error);
    if (call?.undone_at === null) return false;
  }
  return true;
}

/** The runner's refusal, in its own words: they name the files. */
class UndoRefused extends Refusal {
  constructor({ code, message }: NonNullable<ExecutionRow['undo_error']>) {
    super(concernsOwnRequest(code) ? 'EXECUTION_FAILED' : code);
    this.message = message;
  }
}

/** Whether a client would take the code as an answer to its own request, and sign out or wait. */
const concernsOwnRequest = (code: ErrorCode): boolean => [401, 429].includes(errorCodes[code].status);

/** A hint may be lost, so look again after this time. */
const LOOK_AGAIN_MS = 1_000;

function nextChange(bus: Bus, clock: Clock, userId: string): { promise: Promise<void>; cancel: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stopTimer = clock.after(LOOK_AGAIN_MS, resolve);
  const unsubscribe = bus.subscribe((hint) => {
    if (hint.kind === 'events' && hint.userId === userId) resolve();
  });
  const cancel = () => {
    stopTimer();
    unsubscribe();
    resolve();
  };
  promise.then(cancel);
  return { promise, cancel };
}

/** Undefined if the call can be undone. */
export function whyNotUndoable(call: ExecutionRow): string | undefined {
  if (call.undone_at !== null) return 'it was undone already';
  // A failed or cancelled call may have changed files too, so only a running one is refused here.
  if (!isFinal(call.status)) return `it is ${call.status}`;
  if (!call.undoable && findTool(call.tool_name)?.category !== 'filesystem')
    return 'only what file tools and commands in a layer changed can be undone';
  if (!call.undoable) return call.status === 'completed' ? 'it changed no file' : `it is ${call.status}`;
  return undefined;
}

/**
 * The runner's report of an undo: the calls keep their status, and are marked as undone if it succeeded. A report names
 * all calls of its undo (`undo_tool_ids`), and they are settled together.
 */
export async function settleUndo(
  store: Store,
  reported: ExecutionRow,
  undoId: string,
  input: ResultBody,
): Promise<string> {
  const now = store.now();
  const isDone = input.status === 'completed';
  return store.write(function* (tx) {
    let isNews = false;
    for (const id of new Set([reported.id, ...(input.undo_tool_ids ?? [])])) {
      const call = yield* tx.get('tool_executions', id);
      if (!call?.undoable || call.user_id !== reported.user_id)
        throw new Refusal('NOT_UNDOABLE', { problem: 'it changed no file' });
      if (call.undo_id !== undoId)
        throw new Refusal('NOT_UNDOABLE', { problem: 'this undo was not asked for' });
      yield* requireAsked(tx, call, input);
      if (isDone ? call.undone_at !== null : call.undo_error !== null) continue;
      isNews = true;
      const error = isDone ? null : undoError(input);
      yield* tx.update('tool_executions', id, isDone ? { undone_at: now } : { undo_error: error });
      const result = makeEvent('tool.result', {
        tool_id: id,
        project_id: call.project_id,
        session_id: call.session_id,
        tool_call_id: call.tool_call_id,
        tool_name: call.tool_name,
        status: input.status,
        result: null,
        error,
        execution_time_ms: input.execution_time_ms ?? null,
        late: false,
        undo_id: undoId,
        timestamp: isoTime(now),
      });
      announceCall(tx, call, [result], isDone ? 'call.undone' : 'call.undo_failed', { undo_id: undoId });
    }
    if (!isNews) return 'The undo was known already';
    if (isDone) announceCall(tx, reported, fileChangedEvents(reported, (input.result ?? null) as Json, now));
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
