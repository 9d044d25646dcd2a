import {
  describeError,
  type ErrorCode,
  errorCodes,
  findTool,
  isFinal,
  type ParsedBody,
  waitsForCommand,
} from '@countersign/protocol';
import { askAgain } from '../approve/approval-requests.ts';
import { requireGivenTo } from '../claim/runner-bindings.ts';
import type { RunnerRegistry } from '../dispatch/runners.ts';
import { digestOf } from '../ids.ts';
import { announceCall } from '../record/announcements.ts';
import { ackEvent, changedFilesOf, fileChangedEvents, resultEvent } from '../record/call-events.ts';
import type { Caller } from '../record/call-request.ts';
import { asApproved, failure, ownExecution, transition } from '../record/execution-record.ts';
import { Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow, Json, JsonObject } from '../rows.ts';
import type { Transaction, Unit } from '../store.ts';

/** A runner's report about a call (RE-3). */
export type ResultBody = ParsedBody<'submitResult'>;

/** What a report changed, for the steps after its commit. */
export interface Settled {
  readonly execution: ExecutionRow;
  readonly message: string;
  /** Set if the call ended: waiters get the outcome, with the parameters that ran if a person edited them. */
  readonly news?: { readonly executedParams: JsonObject | null };
  readonly asked?: ApprovalRow;
  readonly retryAfterMs?: number;
}

/** Delays before the first, second and third retry (EX-5). */
const RETRY_AFTER_MS = [500, 1000, 2000] as const;

/** Inside a unit: a runner's report ends a call, retries it, or asks the person again (EX-5, EX-7). */
export function* settleCall(
  tx: Transaction,
  caller: Caller,
  toolId: string,
  input: ResultBody,
  { runners, now }: { readonly runners: RunnerRegistry; readonly now: number },
): Unit<Settled> {
  const stored = yield* ownExecution(tx, caller, toolId);
  const execution = asApproved(stored);
  const resultDigest = digestOf([input.status, input.result ?? null, reportedError(input) ?? null]);
  if (isFinal(execution.status)) {
    if (execution.result_digest === resultDigest)
      return { execution, message: 'Tool result was known already' };
    if (execution.result_digest !== null) throw new Refusal('RESULT_CONFLICT');
    if (!mayHaveRun(execution)) throw new Refusal('ALREADY_FINAL', { status: execution.status });
    yield* requireGivenTo(tx, execution, input, runners);
    return yield* settleLate(tx, execution, input, resultDigest, now);
  }
  if (
    execution.status === 'executing' &&
    input.attempt !== undefined &&
    input.attempt !== execution.attempt
  ) {
    throw new Refusal('RESULT_CONFLICT');
  }
  // The runner repeats this report because the acknowledgement was lost: it was already handled.
  if (input.status === 'failed' && isOfEarlierAttempt(execution, input))
    return { execution: stored, message: 'Tool result was known already' };
  yield* requireGivenTo(tx, execution, input, runners);
  const started = startedBy(execution, input);
  // Nothing started, and the call is to be cancelled: do not ask again (EX-8).
  if (isStale(input) && execution.cancel_requested)
    return yield* end(tx, started, { ...input, status: 'cancelled', error: undefined }, resultDigest, now);
  if (isStale(input)) return yield* askAboutStale(tx, execution, input, now);
  const retryAfterMs = retryDelay(execution, input);
  if (retryAfterMs !== undefined) return yield* retry(tx, started, input, retryAfterMs, now);
  return yield* end(tx, started, input, resultDigest, now);
}

function* retry(
  tx: Transaction,
  started: ExecutionRow,
  input: ResultBody,
  retryAfterMs: number,
  now: number,
): Unit<Settled> {
  const execution = yield* transition(tx, started, 'approved', {
    attempt: started.attempt + 1,
    due_at: now + retryAfterMs,
    started_at: null,
  });
  const data = { code: errorFrom(input)?.code ?? null, attempt: execution.attempt };
  announceCall(tx, started, [ackEvent(started.id, now, input.attempt)], 'call.retried', data);
  return { execution, message: 'Tool result processed; it is tried again', retryAfterMs };
}

function* end(
  tx: Transaction,
  started: ExecutionRow,
  input: ResultBody,
  resultDigest: string,
  now: number,
): Unit<Settled> {
  const error = errorFrom(input);
  const result = input.result ?? null;
  const ended = yield* transition(tx, started, input.status, {
    ...(error ? failure(error.code, error.message, now) : { completed_at: now }),
    ...(error?.recoverable !== undefined && { error_recoverable: error.recoverable }),
    // If the client did not report it, measure from the claim. For a call without a claim, that is its signal.
    execution_time_ms:
      input.execution_time_ms ??
      (started.started_at === null ? null : Math.max(0, Math.round(now - started.started_at))),
    result_digest: resultDigest,
    ...resultFacts(started.tool_name, result),
  });
  const { id, user_id } = ended;
  if (result !== null)
    yield* tx.insert('results', { id, user_id, created_at: now, result, late_result: null });
  yield* storeFileChanges(tx, ended, input, now);
  const events = [
    resultEvent(ended, result, now),
    ...fileChangedEvents(ended, result, now),
    ackEvent(ended.id, now, input.attempt),
  ];
  const data = { result: resultDigest, code: ended.error_type };
  announceCall(tx, ended, events, `call.${input.status}`, data);
  return {
    execution: ended,
    message: 'Tool result processed',
    news: { executedParams: yield* tx.editedParams(ended.id) },
  };
}

/** A result after the call has ended: the status stays, but the changed files can be undone. */
function* settleLate(
  tx: Transaction,
  execution: ExecutionRow,
  input: ResultBody,
  resultDigest: string,
  now: number,
): Unit<Settled> {
  const result = input.result ?? null;
  const facts = resultFacts(execution.tool_name, result);
  yield* tx.update('tool_executions', execution.id, { result_digest: resultDigest, ...facts });
  const { id, user_id } = execution;
  const error = errorFrom(input);
  const late_result = {
    status: input.status,
    result,
    error: error ? { ...describeError(error.code), ...error } : null,
  };
  yield* tx.insert('results', { id, user_id, created_at: now, result: null, late_result });
  yield* storeFileChanges(tx, { ...execution, ...facts }, input, now);
  const events = [
    resultEvent({ ...execution, ...facts }, result, now, { late: true }),
    ...fileChangedEvents(execution, result, now),
    ackEvent(execution.id, now, input.attempt),
  ];
  announceCall(tx, execution, events, 'call.late_result', { result: resultDigest });
  return { execution, message: 'Tool result stored; the call had ended before' };
}

/** The runner found that files or command are not those that were approved. Nothing started: ask the person again. */
function* askAboutStale(
  tx: Transaction,
  execution: ExecutionRow,
  input: ResultBody,
  now: number,
): Unit<Settled> {
  const asked = yield* askAgain(tx, execution, errorFrom(input)?.message ?? '', now);
  const current = (yield* tx.get('tool_executions', execution.id)) ?? execution;
  return {
    execution: current,
    message: 'The person is asked again',
    ...(asked ? { asked } : { news: { executedParams: yield* tx.editedParams(current.id) } }),
  };
}

/** Limit of the query: no step has that many calls. */
const CALLS_OF_STEP = 10_000;

/** Stores the files that a call changed, with the changes of its whole run as the runner reports them (docs/decisions/0025). */
function* storeFileChanges(
  tx: Transaction,
  { id: tool_id, user_id, session_id, run_id, step, call_index, started_at, undoable }: ExecutionRow,
  input: ResultBody,
  now: number,
): Unit<void> {
  if (!undoable) return;
  const told = input.status === 'completed' ? (input.run_changes ?? []) : [];
  const byPath = new Map(told.map((change) => [change.path, change]));
  for (const [index, { path, operation }] of changedFilesOf(input.result ?? null).entries()) {
    const run = byPath.get(path);
    yield* tx.insert('file_changes', {
      id: `${tool_id}-${index}`,
      user_id,
      session_id,
      run_id,
      tool_id,
      path,
      operation,
      run_operation: run?.operation ?? null,
      added: run?.added ?? null,
      removed: run?.removed ?? null,
      truncated: run?.truncated ?? false,
      // Reports may come late or in another order, but the newest change is the one that began last.
      created_at: started_at ?? now,
      place: (step ?? 0) * CALLS_OF_STEP + (call_index ?? 0),
      diff: run?.diff ?? null,
    });
  }
}

/**
 * The columns of the call's row that come from a result. File tools keep undo copies (RN-3), and so do commands whose
 * effects landed (RN-12): their result says so. Any other command or commit that changed files cannot be undone.
 */
function resultFacts(toolName: string, result: Json): Pick<ExecutionRow, 'undoable' | 'exit_code'> {
  return {
    undoable: keepsCopies(toolName, result),
    exit_code: exitCodeOf(toolName, result),
  };
}

function keepsCopies(toolName: string, result: Json): boolean {
  if (findTool(toolName)?.changes === 'files') return changedFilesOf(result).length > 0;
  return waitsForCommand(toolName) && (result as { readonly undoable?: unknown } | null)?.undoable === true;
}

/** The exit code of a command. `shell_output` reports that of a background job, which is not the call's own. */
function exitCodeOf(toolName: string, result: Json): number | null {
  if (!waitsForCommand(toolName) || result === null || typeof result !== 'object') return null;
  const { exit_code } = result as { readonly exit_code?: unknown };
  return Number.isInteger(exit_code) && Math.abs(exit_code as number) < 2 ** 31
    ? (exit_code as number)
    : null;
}

/** Returns the call as executing. Only a harmless call (PF-1) or a failure may be reported without a claim. */
function startedBy(execution: ExecutionRow, input: ResultBody): ExecutionRow {
  if (execution.status === 'executing') return execution;
  const { id, status, risk_level } = execution;
  const nothingRan = input.status !== 'completed';
  if (status !== 'approved' || (risk_level !== 'LOW' && !nothingRan))
    throw new Refusal('ILLEGAL_TRANSITION', { from: status, to: input.status, tool_id: id });
  // Both changes of state are in this transaction; only the last is written.
  return { ...execution, status: 'executing' };
}

/** The delay before a retry, if the failure is temporary and repeating is harmless: read-only, or not started (EX-5). */
function retryDelay(
  { risk_level, status, attempt, cancel_requested }: ExecutionRow,
  input: ResultBody,
): number | undefined {
  const isHarmless = risk_level === 'LOW' || status === 'approved';
  if (input.status !== 'failed' || !isHarmless || cancel_requested || !isTemporary(input)) return undefined;
  return RETRY_AFTER_MS[attempt - 1];
}

/** Whether the failure is temporary. Our own codes decide; for any other code, the runner does. */
function isTemporary(input: ResultBody): boolean {
  const error = reportedError(input);
  if (typeof error !== 'object') return false;
  return isErrorCode(error.code)
    ? errorCodes[error.code].remedy === 'repeat' && error.recoverable !== false
    : error.recoverable === true;
}

/** Whether a call that ended without a report may have run: it was given to a client that may have begun. */
function mayHaveRun({ attempt, status, risk_level, error_type }: ExecutionRow): boolean {
  if (attempt === 0 || status === 'rejected' || status === 'timeout') return false;
  return risk_level === 'LOW' || error_type === 'RUNNER_LOST';
}

/** Whether the report is about an earlier attempt: the call was retried or asked about again since. */
const isOfEarlierAttempt = ({ status, attempt }: ExecutionRow, input: ResultBody): boolean =>
  input.attempt !== undefined &&
  ((status === 'approved' && input.attempt < attempt) ||
    (status === 'awaiting_approval' && input.attempt <= attempt));

const isStale = (input: ResultBody): boolean =>
  input.status === 'failed' && typeof input.error === 'object' && input.error.code === 'APPROVAL_STALE';

const reportedError = (input: ResultBody) => (input.status === 'completed' ? undefined : input.error);

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorCodes, code);

/** A runner's error with one of our codes; another code becomes EXECUTION_FAILED with the same message. */
function errorFrom(
  input: ResultBody,
): { code: ErrorCode; message: string; recoverable?: boolean } | undefined {
  if (input.status === 'completed') return undefined;
  const { error } = input;
  if (error === undefined)
    return { code: 'EXECUTION_CANCELLED', message: new Refusal('EXECUTION_CANCELLED').message };
  if (typeof error === 'string') {
    const code = input.status === 'cancelled' ? 'EXECUTION_CANCELLED' : 'EXECUTION_FAILED';
    return { code, message: error };
  }
  const { code, message, recoverable } = error;
  return {
    code: isErrorCode(code) ? code : 'EXECUTION_FAILED',
    message,
    ...(recoverable !== undefined && { recoverable }),
  };
}
