import {
  describeError,
  type ErrorCode,
  errorCodes,
  findTool,
  isFinal,
  waitsForCommand,
} from '@countersign/protocol';
import { askAgain } from '../approve/approval-requests.ts';
import type { Caller } from '../caller.ts';
import { requireGivenTo } from '../claim/given-calls.ts';
import { digestOf } from '../digests.ts';
import type { RunnerRegistry } from '../dispatch/runner-registry.ts';
import { ackEvent, changedFilesOf, fileChangedEvents, resultEvent } from '../record/call-events.ts';
import { asApproved, failure, ownExecution, transition } from '../record/execution-record.ts';
import { announceCall } from '../record/make-event.ts';
import { Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow, Json, JsonObject } from '../rows.ts';
import type { Transaction, Unit } from '../store.ts';

/** What a runner reports of a call (RE-3). */
export interface ResultInput {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly result?: Json | undefined;
  readonly error?:
    | string
    | { readonly code: string; readonly message: string; readonly recoverable?: boolean | undefined }
    | undefined;
  readonly execution_time_ms?: number | undefined;
  readonly attempt?: number | undefined;
  readonly runner_id?: string | undefined;
  readonly instance?: string | undefined;
}

/** What came of a report, for what follows its commit. */
export interface Settled {
  readonly execution: ExecutionRow;
  readonly message: string;
  /** The call ended with this result: who waits is answered, and told what ran instead where a person edited it. */
  readonly news?: { readonly executedParams: JsonObject | null };
  readonly asked?: ApprovalRow;
  readonly retryAfterMs?: number;
}

/** After this many milliseconds, the first, second and third retry (EX-5). */
const RETRY_AFTER_MS = [500, 1000, 2000] as const;

/** Takes a runner's report of a call: the unit of writing that ends it, repeats it or asks again (EX-5, EX-7). */
export function* settleCall(
  tx: Transaction,
  caller: Caller,
  toolId: string,
  input: ResultInput,
  { runners, now }: { readonly runners: RunnerRegistry; readonly now: number },
): Unit<Settled> {
  const stored = yield* ownExecution(tx, caller, toolId);
  const execution = asApproved(stored);
  const resultDigest = digestOf([input.status, input.result ?? null, input.error ?? null]);
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
  // Its acknowledgement was lost on the way: what followed from this failure has begun already.
  if (input.status === 'failed' && isOfEarlierAttempt(execution, input))
    return { execution: stored, message: 'Tool result was known already' };
  yield* requireGivenTo(tx, execution, input, runners);
  const started = startedBy(execution, input);
  // Nothing started, and nobody wants it any more: whether it is stale is beside the point (EX-8).
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
  input: ResultInput,
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
  input: ResultInput,
  resultDigest: string,
  now: number,
): Unit<Settled> {
  const error = errorFrom(input);
  const result = input.result ?? null;
  const ended = yield* transition(tx, started, input.status, {
    ...(error ? failure(error.code, error.message, now) : { completed_at: now }),
    ...(error?.recoverable !== undefined && { error_recoverable: error.recoverable }),
    // Measured here, where the client did not say it: from its claim, or from the signal that was its claim.
    execution_time_ms:
      input.execution_time_ms ??
      (started.started_at === null ? null : Math.max(0, Math.round(now - started.started_at))),
    result_digest: resultDigest,
    ...resultFacts(started.tool_name, result),
  });
  const { id, user_id } = ended;
  if (result !== null)
    yield* tx.insert('results', { id, user_id, created_at: now, result, late_result: null });
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

/** A result that came after the call had ended: the status stays, what it changed is known and can be undone. */
function* settleLate(
  tx: Transaction,
  execution: ExecutionRow,
  input: ResultInput,
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
  const events = [
    resultEvent({ ...execution, ...facts }, result, now, { late: true }),
    ...fileChangedEvents(execution, result, now),
    ackEvent(execution.id, now, input.attempt),
  ];
  announceCall(tx, execution, events, 'call.late_result', { result: resultDigest });
  return { execution, message: 'Tool result stored; the call had ended before' };
}

/** The runner found that what was approved is not what is there: nothing started, the person is asked again. */
function* askAboutStale(
  tx: Transaction,
  execution: ExecutionRow,
  input: ResultInput,
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

/**
 * What a row keeps of a result, for lists and for events that are too small for the result. Only file tools keep undo
 * copies (RN-3): a command or a commit that changed files cannot be undone.
 */
function resultFacts(toolName: string, result: Json): Pick<ExecutionRow, 'undoable' | 'exit_code'> {
  return {
    undoable: findTool(toolName)?.changes === 'files' && changedFilesOf(result).length > 0,
    exit_code: exitCodeOf(toolName, result),
  };
}

/** How a command ended. What `shell_output` says of a background job is not about the call itself. */
function exitCodeOf(toolName: string, result: Json): number | null {
  if (!waitsForCommand(toolName) || result === null || typeof result !== 'object') return null;
  const { exit_code } = result as { readonly exit_code?: unknown };
  return Number.isInteger(exit_code) && Math.abs(exit_code as number) < 2 ** 31
    ? (exit_code as number)
    : null;
}

/** A harmless call needs no claim: its result is the first we hear of its start (PF-1). So is that of one that failed before it. */
function startedBy(execution: ExecutionRow, input: ResultInput): ExecutionRow {
  if (execution.status === 'executing') return execution;
  const { id, status, risk_level } = execution;
  const nothingRan = input.status !== 'completed';
  if (status !== 'approved' || (risk_level !== 'LOW' && !nothingRan))
    throw new Refusal('ILLEGAL_TRANSITION', { from: status, to: input.status, tool_id: id });
  // Both steps are in this one transaction; only the last is written.
  return { ...execution, status: 'executing' };
}

/** When to try again what may pass by itself, where repeating is harmless: read-only, or nothing started (EX-5). */
function retryDelay(
  { risk_level, status, attempt, cancel_requested }: ExecutionRow,
  input: ResultInput,
): number | undefined {
  const isHarmless = risk_level === 'LOW' || status === 'approved';
  if (input.status !== 'failed' || !isHarmless || cancel_requested || !mayPass(input)) return undefined;
  return RETRY_AFTER_MS[attempt - 1];
}

/** Of our own codes it is known; of others the runner says so. What it calls hopeless is not repeated. */
function mayPass({ error }: ResultInput): boolean {
  if (typeof error !== 'object') return false;
  return isOurs(error.code)
    ? errorCodes[error.code].remedy === 'repeat' && error.recoverable !== false
    : error.recoverable === true;
}

/** Whether a report of a call that ended without one can be true: it was given to somebody, who may have begun. */
function mayHaveRun({ attempt, status, risk_level, error_type }: ExecutionRow): boolean {
  if (attempt === 0 || status === 'rejected' || status === 'timeout') return false;
  return risk_level === 'LOW' || error_type === 'RUNNER_LOST';
}

/** Reported, and the call is tried or asked about again since. */
const isOfEarlierAttempt = ({ status, attempt }: ExecutionRow, input: ResultInput): boolean =>
  input.attempt !== undefined &&
  ((status === 'approved' && input.attempt < attempt) ||
    (status === 'awaiting_approval' && input.attempt <= attempt));

const isStale = (input: ResultInput): boolean =>
  input.status === 'failed' && typeof input.error === 'object' && input.error.code === 'APPROVAL_STALE';

const isOurs = (code: string): code is ErrorCode => Object.hasOwn(errorCodes, code);

/** A runner's error with one of our codes; another code is kept as EXECUTION_FAILED, its words stay. */
function errorFrom(
  input: ResultInput,
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
    code: isOurs(code) ? code : 'EXECUTION_FAILED',
    message,
    ...(recoverable !== undefined && { recoverable }),
  };
}
