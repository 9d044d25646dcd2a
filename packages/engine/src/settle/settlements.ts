import { describeError, type ErrorCode, errorCodes, isFinal } from '@countersign/protocol';
import type { ApprovalRequester } from '../approve/approval-requester.ts';
import type { Caller } from '../caller.ts';
import { requireGivenTo } from '../claim/given-calls.ts';
import { digestOf } from '../digests.ts';
import type { RunnerRegistry } from '../dispatch/runner-registry.ts';
import { ackEvent, fileChangedEvents, resultEvent } from '../record/call-events.ts';
import { asApproved, failure, transition } from '../record/execution-record.ts';
import { ownExecution } from '../record/own-execution.ts';
import { Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow, Json, JsonObject } from '../rows.ts';
import type { Store, Transaction, Unit } from '../store.ts';
import { resultFacts } from './result-facts.ts';

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

/** Takes a runner's report of a call: the units of writing that end it, repeat it or ask again (EX-5, EX-7). */
export class Settlements {
  readonly #store: Store;
  readonly #runners: RunnerRegistry;
  readonly #approvals: () => ApprovalRequester;

  constructor(store: Store, runners: RunnerRegistry, approvals: () => ApprovalRequester) {
    this.#store = store;
    this.#runners = runners;
    this.#approvals = approvals;
  }

  *settle(tx: Transaction, caller: Caller, toolId: string, input: ResultInput): Unit<Settled> {
    const now = this.#store.now();
    const stored = yield* ownExecution(tx, caller, toolId);
    const execution = asApproved(stored);
    const resultDigest = digestOf([input.status, input.result ?? null, input.error ?? null]);
    if (isFinal(execution.status)) return yield* this.#settleLate(tx, execution, input, resultDigest, now);
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
    yield* requireGivenTo(tx, execution, input, this.#runners);
    const started = startedBy(execution, input);
    // Nothing started, and nobody wants it any more: whether it is stale is beside the point (EX-8).
    if (isStale(input) && execution.cancel_requested)
      return yield* this.#end(tx, started, { ...input, status: 'cancelled', error: undefined }, resultDigest);
    if (isStale(input)) return yield* this.#staleResult(tx, execution, input);
    const retryAfterMs = retryDelay(execution, input);
    if (retryAfterMs !== undefined) return yield* this.#retry(tx, started, input, retryAfterMs);
    return yield* this.#end(tx, started, input, resultDigest);
  }

  *#retry(tx: Transaction, started: ExecutionRow, input: ResultInput, retryAfterMs: number): Unit<Settled> {
    const now = this.#store.now();
    const { id, project_id } = started;
    const execution = yield* transition(tx, started, 'approved', {
      attempt: started.attempt + 1,
      due_at: now + retryAfterMs,
      started_at: null,
    });
    const data = { code: errorFrom(input)?.code ?? null, attempt: execution.attempt };
    tx.announce(started.user_id, {
      events: [{ projectId: project_id, event: ackEvent(id, 'received', now, input.attempt) }],
      audit: [{ action: 'call.retried', subject: id, data }],
    });
    return { execution, message: 'Tool result processed; it is tried again', retryAfterMs };
  }

  *#end(tx: Transaction, started: ExecutionRow, input: ResultInput, resultDigest: string): Unit<Settled> {
    const now = this.#store.now();
    const error = errorFrom(input);
    const result = input.result ?? null;
    const ended = yield* transition(tx, started, input.status, {
      ...(error ? failure(error.code, error.message, now) : { completed_at: now }),
      ...(error?.recoverable !== undefined && { error_recoverable: error.recoverable }),
      execution_time_ms: input.execution_time_ms ?? timeSince(started.started_at, now),
      result_digest: resultDigest,
      ...resultFacts(started.tool_name, result),
    });
    if (result !== null)
      yield* tx.insert('results', { ...reportedBy(ended, now), result, late_result: null });
    const events = [
      resultEvent(ended, result, now),
      ...fileChangedEvents(ended, result, now),
      ackEvent(ended.id, 'received', now, input.attempt),
    ];
    tx.announce(ended.user_id, {
      events: events.map((event) => ({ projectId: ended.project_id, event })),
      audit: [
        {
          action: `call.${input.status}`,
          subject: ended.id,
          data: { result: resultDigest, code: ended.error_type },
        },
      ],
    });
    return {
      execution: ended,
      message: 'Tool result processed',
      news: { executedParams: yield* tx.editedParams(ended.id) },
    };
  }

  /** A result that came after the call had ended: the status stays, what it changed is known and can be undone. */
  *#settleLate(
    tx: Transaction,
    execution: ExecutionRow,
    input: ResultInput,
    resultDigest: string,
    now: number,
  ): Unit<Settled> {
    if (execution.result_digest === resultDigest)
      return { execution, message: 'Tool result was known already' };
    if (execution.result_digest !== null) throw new Refusal('RESULT_CONFLICT');
    if (!mayHaveRun(execution)) throw new Refusal('ALREADY_FINAL', { status: execution.status });
    yield* requireGivenTo(tx, execution, input, this.#runners);
    const result = input.result ?? null;
    const facts = resultFacts(execution.tool_name, result);
    yield* tx.update('tool_executions', execution.id, { result_digest: resultDigest, ...facts });
    const late_result = lateResultOf(input);
    yield* tx.insert('results', { ...reportedBy(execution, now), result: null, late_result });
    const events = [
      resultEvent({ ...execution, ...facts }, result, now, { late: true }),
      ...fileChangedEvents(execution, result, now),
      ackEvent(execution.id, 'received', now, input.attempt),
    ];
    tx.announce(execution.user_id, {
      events: events.map((event) => ({ projectId: execution.project_id, event })),
      audit: [{ action: 'call.late_result', subject: execution.id, data: { result: resultDigest } }],
    });
    return { execution, message: 'Tool result stored; the call had ended before' };
  }

  /** The runner found that what was approved is not what is there: nothing started, the person is asked again. */
  *#staleResult(tx: Transaction, execution: ExecutionRow, input: ResultInput): Unit<Settled> {
    const { message } = errorFrom(input) as { message: string };
    const asked = yield* this.#approvals().askAgain(tx, execution, message);
    const current = (yield* tx.get('tool_executions', execution.id)) as ExecutionRow;
    return {
      execution: current,
      message: 'The person is asked again',
      ...(asked ? { asked } : { news: { executedParams: yield* tx.editedParams(current.id) } }),
    };
  }
}

/** Measured here, where the client did not say it: from its claim, or from the signal that was its claim. */
const timeSince = (startedAt: number | null, now: number): number | null =>
  startedAt === null ? null : Math.max(0, Math.round(now - startedAt));

const reportedBy = ({ id, user_id }: ExecutionRow, created_at: number) => ({ id, user_id, created_at });

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

function lateResultOf(input: ResultInput): Json {
  const error = errorFrom(input);
  return {
    status: input.status,
    result: input.result ?? null,
    error: error ? { ...describeError(error.code), ...error } : null,
  };
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
