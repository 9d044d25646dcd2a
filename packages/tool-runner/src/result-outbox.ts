import { CountersignError, describeError } from '@countersign/protocol';
import { backoffMs, pause, type RunnerClock } from './clock.ts';
import type { Logger } from './logger.ts';
import type { ResultReport, RunnerApi } from './runner-api.ts';

/** What became of a report: the server has it, or it will never take it. */
export type Delivery = { readonly auditHead?: string; readonly refused?: string };

export interface ResultOutboxDeps {
  readonly api: Pick<RunnerApi, 'sendToolResult'>;
  readonly clock: RunnerClock;
  readonly logger: Logger;
  readonly onDelivered: (toolId: string, report: ResultReport, delivery: Delivery) => void;
}

/** How long the end of the runner waits for a server that does not answer. */
const LAST_MOMENT_MS = 2_000;

interface Parcel {
  readonly toolId: string;
  report: ResultReport;
  readonly settled: AbortController;
  /** Aborted to try again now instead of waiting. */
  hurry: AbortController;
}

/** Sends each report until the server has acknowledged it (EX-6), however long it is away. */
export class ResultOutbox {
  readonly #deps: ResultOutboxDeps;
  readonly #parcels = new Map<string, Parcel>();
  readonly #deliveries = new Set<Promise<void>>();

  constructor(deps: ResultOutboxDeps) {
    this.#deps = deps;
  }

  /** Tool ids of reports of calls, not of undos: those the server knows by. */
  get unacknowledged(): readonly string[] {
    const calls = [...this.#parcels.values()].filter(({ report }) => report.undoId === undefined);
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
    const parcel: Parcel = { toolId, report, settled: new AbortController(), hurry: new AbortController() };
    this.#parcels.set(key, parcel);
    const delivery = this.#deliver(key, parcel).finally(() => this.#deliveries.delete(delivery));
    this.#deliveries.add(delivery);
  }

  /** The server said in another way that it has the result of this call, or does not want it. */
  acknowledge(toolId: string, delivery: Delivery): void {
    for (const [key, parcel] of this.#parcels) {
      if (parcel.toolId === toolId && parcel.report.undoId === undefined) this.#settle(key, parcel, delivery);
    }
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

  async #deliver(key: string, parcel: Parcel): Promise<void> {
    const { api, clock, logger } = this.#deps;
    for (let failures = 0; !parcel.settled.signal.aborted; ) {
      try {
        const answer = await api.sendToolResult(parcel.toolId, parcel.report);
        if (answer.outcome === 'acknowledged') {
          const { auditHead } = answer;
          this.#settle(key, parcel, auditHead === undefined ? {} : { auditHead });
        } else this.#settle(key, parcel, { refused: `${answer.code}: ${answer.message}` });
        return;
      } catch (error) {
        if (parcel.settled.signal.aborted) return;
        failures += 1;
        logger.error(`Sending the result failed: ${parcel.toolId}, try ${failures}`, { error });
        parcel.report = deliverable(parcel.report, error);
        if (parcel.hurry.signal.aborted) parcel.hurry = new AbortController();
        const wake = AbortSignal.any([parcel.settled.signal, parcel.hurry.signal]);
        await pause(clock, backoffMs(failures), wake);
      }
    }
  }

  #settle(key: string, parcel: Parcel, delivery: Delivery): void {
    if (!this.#parcels.delete(key)) return;
    parcel.settled.abort();
    this.#deps.onDelivered(parcel.toolId, parcel.report, delivery);
  }
}

const keyOf = (toolId: string, { attempt, undoId }: ResultReport): string => `${toolId}#${undoId ?? attempt}`;

/** A result that no server will ever take must not keep its call open for ever: the call is told that instead. */
function deliverable(report: ResultReport, error: unknown): ResultReport {
  const isHopeless =
    error instanceof CountersignError && (error.code === 'BODY_TOO_LARGE' || error.code === 'INVALID_BODY');
  if (!isHopeless || report.result === undefined) return report;
  const { result: _, ...rest } = report;
  if (report.status !== 'completed') return rest;
  const told = describeError('EXECUTION_FAILED', {
    problem: `it ended, but its result could not be delivered (${error.code})`,
  });
  return { ...rest, status: 'failed', error: told };
}
