import {
  CountersignError,
  describeError,
  type ErrorCode,
  errorCodes,
  type JsonValue,
  messageOf,
  type ToolErrorValue,
} from '@countersign/protocol';
import { pause, type RunnerClock } from './clock.ts';
import type { ToolResult } from './executor.ts';
import type { Logger } from './logger.ts';
import { isRefusal, retry } from './retry.ts';
import type { ResultAnswer, ResultReport, RunnerApi } from './runner-api.ts';
import { EndedAfterChanges, RefusedHere } from './runner-errors.ts';

/** A command that ended by itself has completed, whatever its exit code (TL-2). */
const hasCompleted = ({ success, exit_code, code }: ToolResult): boolean =>
  success || (typeof exit_code === 'number' && code === undefined);

/** The report of a tool's result. A failed result keeps its output. */
export function reportOf(result: ToolResult, attempt: number, execution_time_ms: number): ResultReport {
  const told = { attempt, execution_time_ms, result: { ...result } };
  if (hasCompleted(result)) return { ...told, status: 'completed' };
  const code = Object.hasOwn(errorCodes, String(result.code))
    ? (result.code as ErrorCode)
    : 'EXECUTION_FAILED';
  const message = typeof result.error === 'string' ? result.error : describeError(code).message;
  return {
    ...told,
    status: 'failed',
    error: { ...describeError(code), message },
    ...(result.exit_code !== undefined && { error_details: { exit_code: result.exit_code } }),
  };
}

/** The report of a thrown error: `cancelled` for a cancellation, otherwise `failed`. */
export function failedReport(error: unknown, attempt: number, execution_time_ms?: number): ResultReport {
  const value = errorValueOf(error);
  const status = value.code === 'EXECUTION_CANCELLED' ? 'cancelled' : 'failed';
  const { code, message } = value;
  const error_details = detailsOf(error);
  return {
    status,
    error: value,
    attempt,
    ...(error_details && { error_details }),
    ...(execution_time_ms !== undefined && { execution_time_ms }),
    ...(error instanceof EndedAfterChanges && {
      result: { success: false, error: message, code, ...error.changes },
    }),
  };
}

export function errorValueOf(error: unknown): ToolErrorValue {
  if (error instanceof CountersignError) return { ...describeError(error.code), message: error.message };
  return describeError('EXECUTION_FAILED', {
    problem: messageOf(error),
  });
}

/** Details of an error for programs, beyond its code and message. */
function detailsOf(error: unknown): JsonValue | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof RefusedHere) return { reasons: error.reasons.map(({ rule, why }) => ({ rule, why })) };
  const { syscall, path } = error as NodeJS.ErrnoException;
  const details = {
    ...(error instanceof CountersignError ? error.values : { name: error.name }),
    ...(!(error instanceof CountersignError) && 'code' in error && { code: String(error.code) }),
    ...(syscall !== undefined && { syscall }),
    ...(path !== undefined && { path }),
    ...(error.cause instanceof Error &&
      error.cause.message !== error.message && { cause: error.cause.message }),
  };
  return Object.keys(details).length === 0 ? undefined : details;
}

/** How a delivery ended: the server has the report, or has refused it for good. */
export type Delivery = ResultAnswer & { readonly refused?: string };

export interface ResultOutboxDeps {
  readonly api: Pick<RunnerApi, 'sendToolResult'>;
  readonly clock: RunnerClock;
  readonly logger: Logger;
  readonly onDelivered: (toolId: string, report: ResultReport, delivery: Delivery) => void;
}

/** How long `close` waits for reports that are being sent. */
const CLOSE_WAIT_MS = 2_000;

interface PendingReport {
  readonly toolId: string;
  report: ResultReport;
  readonly settled: AbortController;
  /** Abort it to retry at once. */
  retryNow: AbortController;
}

/** Sends each report until the server has acknowledged it (EX-6), however long the server is away. */
export class ResultOutbox {
  readonly #deps: ResultOutboxDeps;
  readonly #reports = new Map<string, PendingReport>();
  readonly #deliveries = new Set<Promise<void>>();

  constructor(deps: ResultOutboxDeps) {
    this.#deps = deps;
  }

  /** Tool ids of unacknowledged calls. Undos are not included, because a heartbeat names calls only. */
  get unacknowledged(): readonly string[] {
    const calls = [...this.#reports.values()].filter(({ report }) => report.undo_id === undefined);
    return [...new Set(calls.map(({ toolId }) => toolId))];
  }

  /** Sends a report. Adding the same report again only retries it at once. */
  add(toolId: string, report: ResultReport): void {
    const key = keyOf(toolId, report);
    const known = this.#reports.get(key);
    if (known) {
      known.retryNow.abort();
      return;
    }
    const pending: PendingReport = {
      toolId,
      report,
      settled: new AbortController(),
      retryNow: new AbortController(),
    };
    this.#reports.set(key, pending);
    const delivery = this.#deliver(key, pending).finally(() => this.#deliveries.delete(delivery));
    this.#deliveries.add(delivery);
  }

  /** Call when the server has acknowledged the result in an event or a heartbeat. */
  acknowledge(toolId: string, delivery: Delivery, attempt?: number): void {
    for (const [key, pending] of this.#reportsOf(toolId)) {
      if (attempt === undefined || pending.report.attempt === attempt) this.#settle(key, pending, delivery);
    }
  }

  /** For an acknowledgement without an attempt: sends the result again, and the response tells if the server has it. */
  resendReportsOf(toolId: string): void {
    for (const [, { retryNow }] of this.#reportsOf(toolId)) retryNow.abort();
  }

  /** Retries all reports at once. Call when the server is reachable again. */
  resend(): void {
    for (const { retryNow } of this.#reports.values()) retryNow.abort();
  }

  /** Stops retries and waits a moment for reports that are being sent. Unacknowledged ones stay in the journal. */
  async close(): Promise<void> {
    for (const { settled } of this.#reports.values()) settled.abort();
    const arrived = new AbortController();
    const arrivals = Promise.allSettled(this.#deliveries).then(() => arrived.abort());
    await Promise.race([arrivals, pause(this.#deps.clock, CLOSE_WAIT_MS, arrived.signal)]);
    this.#reports.clear();
  }

  #reportsOf(toolId: string): [string, PendingReport][] {
    return [...this.#reports].filter(
      ([, pending]) => pending.toolId === toolId && pending.report.undo_id === undefined,
    );
  }

  async #deliver(key: string, pending: PendingReport): Promise<void> {
    const { api, clock, logger } = this.#deps;
    const { toolId } = pending;
    const { error_details: _, ...body } = pending.report;
    const failureMessage = `Sending the result failed: ${toolId}`;
    try {
      const { audit_head } = await retry(() => api.sendToolResult(toolId, body), {
        clock,
        logger,
        failureMessage,
        signal: pending.settled.signal,
        isFinal: isRefusedResult,
        retryNow: () => {
          if (pending.retryNow.signal.aborted) pending.retryNow = new AbortController();
          return pending.retryNow.signal;
        },
      });
      this.#settle(key, pending, { audit_head });
    } catch (error) {
      if (!isRefusedResult(error)) return; // acknowledged in another way, or closed
      const { report } = pending;
      if (report.result === undefined || !undeliverable.has(error.code) || pending.settled.signal.aborted)
        return this.#settle(key, pending, { refused: `${error.code}: ${error.message}` });
      logger.error(failureMessage, { error });
      pending.report = smaller(report, error.code);
      await this.#deliver(key, pending);
    }
  }

  #settle(key: string, pending: PendingReport, delivery: Delivery): void {
    if (!this.#reports.delete(key)) return;
    pending.settled.abort();
    this.#deps.onDelivered(pending.toolId, pending.report, delivery);
  }
}

const keyOf = (toolId: string, { attempt, undo_id }: ResultReport): string =>
  `${toolId}#${undo_id ?? attempt}`;

/** The server refused the result for good. An expired token is not final: it is renewed. */
const isRefusedResult = (error: unknown): error is CountersignError =>
  isRefusal(error) && error.code !== 'UNAUTHENTICATED';

const undeliverable: ReadonlySet<ErrorCode> = new Set(['BODY_TOO_LARGE', 'INVALID_BODY']);

/** What to send in place of a report that the server can never take: without diffs, else as a failure. */
function smaller(report: ResultReport, code: ErrorCode): ResultReport {
  if (report.status !== 'completed' || report.run_changes === undefined) return withoutResult(report, code);
  const { run_changes: _, ...rest } = report;
  return rest;
}

/** Replaces a result that the server can never take by a failure, so that the call does not stay open for ever. */
function withoutResult({ result: _, ...rest }: ResultReport, code: ErrorCode): ResultReport {
  if (rest.status !== 'completed') return rest;
  const problem = `it ended, but its result could not be delivered (${code})`;
  return { ...rest, status: 'failed', error: describeError('EXECUTION_FAILED', { problem }) };
}
