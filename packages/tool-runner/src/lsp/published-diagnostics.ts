import { pause, type RunnerClock } from '../clock.ts';
import type { WaitTimes } from './server-definition.ts';

interface Publication {
  readonly version: number | undefined;
  readonly items: readonly unknown[];
  readonly at: number;
}

/** Diagnostics that a server publishes by itself, for servers that cannot be asked for them. */
export class PublishedDiagnostics {
  readonly #clock: RunnerClock;
  readonly #waits: WaitTimes;
  readonly #byUri = new Map<string, Publication>();
  readonly #waiting = new Set<() => void>();
  #updateExpectedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: RunnerClock, waits: WaitTimes) {
    this.#clock = clock;
    this.#waits = waits;
  }

  accept(uri: string, version: unknown, items: readonly unknown[]): void {
    const at = this.#clock.monotonic();
    this.#byUri.set(uri, { version: typeof version === 'number' ? version : undefined, items, at });
    for (const wake of this.#waiting) wake();
  }

  /** Call when the document was closed. */
  forget(uri: string): void {
    this.#byUri.delete(uri);
  }

  /** Call when any file has changed: the server may publish newer diagnostics soon. */
  expectUpdate(): void {
    this.#updateExpectedAt = this.#clock.monotonic();
  }

  /** The diagnostics of one version of a document, once they have settled; undefined if none came in time. */
  async of(
    { uri, version }: { readonly uri: string; readonly version: number },
    signal: AbortSignal,
  ): Promise<readonly unknown[] | undefined> {
    const end = this.#clock.monotonic() + this.#waits.requestMs;
    for (;;) {
      const now = this.#clock.monotonic();
      const published = this.#byUri.get(uri);
      const isCurrent = published !== undefined && (published.version ?? version) >= version;
      const finalAt = isCurrent ? this.#finalAt(published) : end;
      if (isCurrent && now >= finalAt) return published.items;
      if (signal.aborted || now >= end) return undefined;
      await this.#publicationOr(Math.min(finalAt, end) - now, signal);
    }
  }

  #finalAt({ at }: Publication): number {
    const { updateMs, settleMs } = this.#waits;
    return at < this.#updateExpectedAt ? this.#updateExpectedAt + updateMs : at + settleMs;
  }

  async #publicationOr(ms: number, signal: AbortSignal): Promise<void> {
    const published = new AbortController();
    const wake = () => published.abort();
    this.#waiting.add(wake);
    await pause(this.#clock, ms, AbortSignal.any([signal, published.signal]));
    this.#waiting.delete(wake);
  }
}
