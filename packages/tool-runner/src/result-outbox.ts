import {
  CountersignError,
  describeError,
  type ErrorCode,
  errorCodes,
  type JsonValue,
  type ToolErrorValue,
} from '@countersign/protocol';
import { isRefusal, pause, type RunnerClock, retry } from './clock.ts';
import type { ToolResult } from './executor.ts';
import type { Logger } from './logger.ts';
import type { ResultAnswer, ResultReport, RunnerApi } from './runner-api.ts';
import { EndedAfterChanges, RefusedHere } from './runner-errors.ts';

/** A command that ended by itself completed, also with exit code 1: then its `success` is false (TL-2). */
const hasCompleted = ({ success, exit_code, code }: ToolResult): boolean =>
  success || (typeof exit_code === 'number' && code === undefined);

/** A tool's result as the server is told it. A failed one still says what it had printed. */
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

/** The report of a failure: a cancelled call is cancelled, every other one failed. */
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
    problem: error instanceof Error ? error.message : String(error),
  });
}

/** Details of an error for programs, beyond its code and message; undefined where there are none. */
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

/** The end of a report: the server has it, or will never take it. */
export type Delivery = ResultAnswer & { readonly refused?: string };

export interface ResultOutboxDeps {
  readonly api: Pick<RunnerApi, 'sendToolResult'>;
  readonly clock: RunnerClock;
  readonly logger: Logger;
  readonly onDelivered: (toolId: string, report: ResultReport, delivery: Delivery) => void;
}

/** How long a runner that is ending waits for a server that does not answer. */
const LAST_MOMENT_MS = 2_000;

interface PendingReport {
  readonly toolId: string;
  report: ResultReport;
  readonly settled: AbortController;
  /** Aborted to try again now instead of waiting. */
  hurry: AbortController;
}

/** Sends each report until the server has acknowledged it (EX-6), however long it is away. */
export class ResultOutbox {
  readonly #deps: ResultOutboxDeps;
  readonly #parcels = new Map<string, PendingReport>();
  readonly #deliveries = new Set<Promise<void>>();

  constructor(deps: ResultOutboxDeps) {
    this.#deps = deps;
  }

  /** Tool ids of reports of calls, not of undos: those the server knows by. */
  get unacknowledged(): readonly string[] {
    const calls = [...this.#parcels.values()].filter(({ report }) => report.undo_id === undefined);
    return [...new Set(calls.map(({ toolId }) => toolId))];
  }

  /** The same report twice is sent once. */
  add(toolId: string, report: ResultReport): void {
    const key = keyOf(toolId, report);
    const known = this.#parcels.get(key);
    if (known) {
      known.hurry.abort();
      return;
    }
    const parcel: PendingReport = {
      toolId,
      report,
      settled: new AbortController(),
      hurry: new AbortController(),
    };
    this.#parcels.set(key, parcel);
    const delivery = this.#deliver(key, parcel).finally(() => this.#deliveries.delete(delivery));
    this.#deliveries.add(delivery);
  }

  /** The server said in another way that it has the result of this call, or does not want it. */
  acknowledge(toolId: string, delivery: Delivery, attempt?: number): void {
    for (const [key, parcel] of this.#reportsOf(toolId)) {
      if (attempt === undefined || parcel.report.attempt === attempt) this.#settle(key, parcel, delivery);
    }
  }

  /** The server may have this result, but it is unknown of which attempt. Sends it again: the response tells. */
  resendReportsOf(toolId: string): void {
    for (const [, { hurry }] of this.#reportsOf(toolId)) hurry.abort();
  }

  /** The server is back: everything is tried at once. */
  resend(): void {
    for (const { hurry } of this.#parcels.values()) hurry.abort();
  }

  /**
   * Stops trying; what is on its way gets a moment to arrive. What is not acknowledged stays in the journal.
   */
  async close(): Promise<void> {
    for (const { settled } of this.#parcels.values()) settled.abort();
    const arrived = new AbortController();
    const arrivals = Promise.allSettled(this.#deliveries).then(() => arrived.abort());
    await Promise.race([arrivals, pause(this.#deps.clock, LAST_MOMENT_MS, arrived.signal)]);
    this.#parcels.clear();
  }

  #reportsOf(toolId: string): [string, PendingReport][] {
    return [...this.#parcels].filter(
      ([, parcel]) => parcel.toolId === toolId && parcel.report.undo_id === undefined,
    );
  }

  async #deliver(key: string, parcel: PendingReport): Promise<void> {
    const { api, clock, logger } = this.#deps;
    const { toolId } = parcel;
    const { error_details: _, ...body } = parcel.report;
    const failing = `Sending the result failed: ${toolId}`;
    try {
      const { audit_head } = await retry(() => api.sendToolResult(toolId, body), {
        clock,
        logger,
        failing,
        signal: parcel.settled.signal,
        isFinal: isRefusedResult,
        hurry: () => {
          if (parcel.hurry.signal.aborted) parcel.hurry = new AbortController();
          return parcel.hurry.signal;
        },
      });
      this.#settle(key, parcel, { audit_head });
    } catch (error) {
      if (!isRefusedResult(error)) return; // nobody waits for it any more
      const { report } = parcel;
      if (report.result === undefined || !undeliverable.has(error.code) || parcel.settled.signal.aborted)
        return this.#settle(key, parcel, { refused: `${error.code}: ${error.message}` });
      logger.error(failing, { error });
      parcel.report = withoutResult(report, error.code);
      await this.#deliver(key, parcel);
    }
  }

  #settle(key: string, parcel: PendingReport, delivery: Delivery): void {
    if (!this.#parcels.delete(key)) return;
    parcel.settled.abort();
    this.#deps.onDelivered(parcel.toolId, parcel.report, delivery);
  }
}

const keyOf = (toolId: string, { attempt, undo_id }: ResultReport): string =>
  `${toolId}#${undo_id ?? attempt}`;

/** The server has another result or does not know the call. An expired token is not final: a new one is made. */
const isRefusedResult = (error: unknown): error is CountersignError =>
  isRefusal(error) && error.code !== 'UNAUTHENTICATED';

const undeliverable: ReadonlySet<ErrorCode> = new Set(['BODY_TOO_LARGE', 'INVALID_BODY']);

/** A result that no server will ever take must not keep its call open for ever: the call is told that instead. */
function withoutResult({ result: _, ...rest }: ResultReport, code: ErrorCode): ResultReport {
  if (rest.status !== 'completed') return rest;
  const problem = `it ended, but its result could not be delivered (${code})`;
  return { ...rest, status: 'failed', error: describeError('EXECUTION_FAILED', { problem }) };
}
