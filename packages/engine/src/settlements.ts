import { type ErrorCode, errorCodes, isFinal } from '@countersign/protocol';
import type { AsksAgain } from './asks-again.ts';
import { ackEvent, changedFilesOf, fileChangedEvents, resultEvent } from './call-events.ts';
import type { Caller } from './caller.ts';
import { digestOf } from './digests.ts';
import { failure, transition } from './execution-record.ts';
import { executionRows } from './execution-rows.ts';
import { Refusal } from './refusal.ts';
import type { ApprovalRow, ExecutionRow, Json, PayloadRow } from './rows.ts';
import type { Store, Transaction, Unit } from './store.ts';

/** What a runner reports of a call (RE-3). */
export interface ResultInput {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly result?: Json | undefined;
  readonly error?:
    | string
    | { readonly code: string; readonly message: string; readonly recoverable: boolean }
    | undefined;
  readonly execution_time_ms?: number | undefined;
  readonly attempt?: number | undefined;
  readonly runner_id?: string | undefined;
}

/** What came of a report, for what follows its commit. */
export interface Settled {
  readonly execution: ExecutionRow;
  readonly payload: PayloadRow;
  readonly message: string;
  /** The call ended with this result: who waits is answered. */
  readonly news?: boolean;
  readonly asked?: ApprovalRow;
  readonly withdrawn?: ApprovalRow;
  readonly retryAfterMs?: number;
}

/** After this many milliseconds, the first, second and third retry (EX-5). */
const RETRY_AFTER_MS = [500, 1000, 2000] as const;

/** Takes a runner's report of a call: the units of writing that end it, repeat it or ask again (EX-5, EX-7). */
export class Settlements {
  readonly #store: Store;
  readonly #approvals: () => AsksAgain;

  constructor(store: Store, approvals: () => AsksAgain) {
    this.#store = store;
    this.#approvals = approvals;
  }

  *settle(tx: Transaction, caller: Caller, toolId: string, input: ResultInput): Unit<Settled> {
    const now = this.#store.now();
    const { execution, payload } = yield* executionRows(tx, caller, toolId);
    const resultDigest = digestOf([input.status, input.result ?? null, input.error ?? null]);
    if (isFinal(execution.status))
      return yield* this.#settleLate(tx, execution, payload, input, resultDigest, now);
    if (
      execution.status === 'executing' &&
      input.attempt !== undefined &&
      input.attempt !== execution.attempt
    ) {
      throw new Refusal('RESULT_CONFLICT');
    }
    // Its acknowledgement was lost on the way: what followed from this failure has begun already.
    if (input.status === 'failed' && isOfEarlierAttempt(execution, input))
      return { execution, payload, message: 'Tool result was known already' };
    if (isStale(input)) return yield* this.#staleResult(tx, execution, payload, input);

    const started = this.#started(execution, input);
    const error = errorFrom(input);
    const retryAfterMs = error && this.#retryDelay(started, error.code);
    if (retryAfterMs !== undefined) {
      const retried = yield* transition(tx, started, 'approved', { attempt: started.attempt + 1 });
      tx.announce(caller.userId, {
        events: [{ projectId: execution.project_id, event: ackEvent(toolId, 'received', now) }],
        audit: [
          {
            action: 'call.retried',
            subject: toolId,
            data: { code: error?.code ?? null, attempt: retried.attempt },
          },
        ],
      });
      return {
        execution: retried,
        payload,
        message: 'Tool result processed; it is tried again',
        retryAfterMs,
      };
    }

    const withdrawn =
      execution.status === 'awaiting_approval'
        ? yield* this.#approvals().withdrawApproval(tx, execution, now)
        : undefined;
    const result = input.result ?? null;
    const ended = yield* transition(tx, started, input.status, {
      ...(error ? failure(error.code, error.message, now) : { completed_at: now }),
      execution_time_ms: input.execution_time_ms ?? null,
      result_digest: resultDigest,
      undoable: changedFilesOf(result).length > 0,
    });
    if (result !== null) yield* tx.update('payloads', toolId, { result });
    const events = [
      resultEvent(ended, result, now),
      ...fileChangedEvents(ended, result, now),
      ackEvent(toolId, 'received', now),
    ];
    tx.announce(caller.userId, {
      events: events.map((event) => ({ projectId: ended.project_id, event })),
      audit: [
        {
          action: `call.${input.status}`,
          subject: toolId,
          data: { result: resultDigest, code: ended.error_type },
        },
      ],
    });
    return {
      execution: ended,
      payload: { ...payload, result },
      message: 'Tool result processed',
      news: true,
      ...(withdrawn && { withdrawn }),
    };
  }

  /** A result that came after the call had ended. */
  *#settleLate(
    tx: Transaction,
    execution: ExecutionRow,
    payload: PayloadRow,
    input: ResultInput,
    resultDigest: string,
    now: number,
  ): Unit<Settled> {
    if (execution.result_digest === resultDigest)
      return { execution, payload, message: 'Tool result was known already' };
    if (execution.result_digest !== null) throw new Refusal('RESULT_CONFLICT');
    yield* tx.update('tool_executions', execution.id, { result_digest: resultDigest });
    yield* tx.update('payloads', execution.id, { late_result: lateResultOf(input) });
    tx.announce(execution.user_id, {
      events: [
        {
          projectId: execution.project_id,
          event: resultEvent(execution, input.result ?? null, now, { late: true }),
        },
        { projectId: execution.project_id, event: ackEvent(execution.id, 'received', now) },
      ],
      audit: [{ action: 'call.late_result', subject: execution.id, data: { result: resultDigest } }],
    });
    return { execution, payload, message: 'Tool result stored; the call had ended before' };
  }

  /** The runner found that what was approved is not what is there: nothing started, the person is asked again. */
  *#staleResult(
    tx: Transaction,
    execution: ExecutionRow,
    payload: PayloadRow,
    input: ResultInput,
  ): Unit<Settled> {
    const { message } = errorFrom(input) as { message: string };
    const asked = yield* this.#approvals().askAgain(tx, execution, payload, message);
    const current = (yield* tx.get('tool_executions', execution.id)) as ExecutionRow;
    return {
      execution: current,
      payload,
      message: 'The person is asked again',
      ...(asked ? { asked } : { news: true }),
    };
  }

  /** A harmless call needs no claim: its result is the first we hear of its start (PF-1). */
  #started(execution: ExecutionRow, input: ResultInput): ExecutionRow {
    if (execution.status !== 'approved') return execution;
    const nothingRan = input.status !== 'completed';
    if (execution.risk_level !== 'LOW' && !nothingRan) {
      throw new Refusal('ILLEGAL_TRANSITION', { from: 'approved', to: input.status, tool_id: execution.id });
    }
    if (
      execution.runner_id !== null &&
      input.runner_id !== undefined &&
      input.runner_id !== execution.runner_id
    ) {
      throw new Refusal('CLAIM_REFUSED', { problem: 'it was given to another runner' });
    }
    // Both steps are in this one transaction; only the last is written.
    return { ...execution, status: 'executing' };
  }

  #retryDelay(execution: ExecutionRow, code: ErrorCode): number | undefined {
    if (execution.risk_level !== 'LOW' || execution.status !== 'executing' || execution.cancel_requested)
      return undefined;
    return errorCodes[code].remedy === 'repeat' ? RETRY_AFTER_MS[execution.attempt - 1] : undefined;
  }
}

/** What came late, with what it was: a failure without a result is news too. */
function lateResultOf(input: ResultInput): Json {
  if (input.status === 'completed') return input.result ?? null;
  return { status: input.status, error: (input.error ?? null) as Json, result: input.result ?? null };
}

/** Reported, and the call is tried or asked about again since. */
const isOfEarlierAttempt = ({ status, attempt }: ExecutionRow, input: ResultInput): boolean =>
  input.attempt !== undefined &&
  ((status === 'approved' && input.attempt < attempt) ||
    (status === 'awaiting_approval' && input.attempt <= attempt));

const isStale = (input: ResultInput): boolean =>
  input.status === 'failed' && typeof input.error === 'object' && input.error.code === 'APPROVAL_STALE';

/** A runner's error with one of our codes; another code is kept as EXECUTION_FAILED, its words stay. */
function errorFrom(input: ResultInput): { code: ErrorCode; message: string } | undefined {
  if (input.status === 'completed') return undefined;
  const { error } = input;
  if (error === undefined)
    return { code: 'EXECUTION_CANCELLED', message: new Refusal('EXECUTION_CANCELLED').message };
  if (typeof error === 'string')
    return {
      code: input.status === 'cancelled' ? 'EXECUTION_CANCELLED' : 'EXECUTION_FAILED',
      message: error,
    };
  return {
    code: Object.hasOwn(errorCodes, error.code) ? (error.code as ErrorCode) : 'EXECUTION_FAILED',
    message: error.message,
  };
}
