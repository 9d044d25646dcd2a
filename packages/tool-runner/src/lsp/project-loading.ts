import { pause, type RunnerClock } from '../clock.ts';
import type { LoadingSign, WaitTimes } from './server-definition.ts';

const MAX_TASKS = 1_000;

/** Tracks whether a server is still loading its project: until then its answers may be incomplete. */
export class ProjectLoading {
  readonly #sign: LoadingSign;
  readonly #clock: RunnerClock;
  /** Work that the server announced and has not finished. */
  readonly #tasks = new Set<unknown>();
  #lastMessageAt = 0;
  #isLoading = true;
  readonly #waits: WaitTimes;
  #limitMs: number;
  #onSign: (() => void) | undefined;

  constructor(sign: LoadingSign, clock: RunnerClock, waits: WaitTimes) {
    this.#sign = sign;
    this.#clock = clock;
    this.#waits = waits;
    this.#limitMs = waits.firstLoadMs;
    if (sign === 'at-once') this.#isLoading = false;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** True while an answer counts only if the server gives it twice. */
  get needsRepeat(): boolean {
    return this.#sign === 'quiet' && this.#isLoading;
  }

  /** Call when files were added or removed: the server must load them before its next answer is complete. */
  expectReload(): void {
    if (this.#sign === 'at-once' || this.#isLoading) return;
    this.#isLoading = true;
    this.#limitMs = this.#waits.reloadMs;
  }

  /** Call when the same answer came twice, or the repeats are used up. */
  finishRepeats(): void {
    if (this.#sign === 'quiet') this.#isLoading = false;
  }

  onMessage(): void {
    this.#lastMessageAt = this.#clock.monotonic();
  }

  onLogLine(line: string): void {
    if (typeof this.#sign === 'object' && this.#sign.logLine.test(line)) {
      this.#isLoading = false;
      this.#onSign?.();
    }
  }

  onProgress(token: unknown, value: unknown): void {
    const kind = (value as { kind?: unknown } | null)?.kind;
    if (kind === 'begin' && this.#tasks.size < MAX_TASKS) this.#tasks.add(token);
    else if (kind === 'end') this.#tasks.delete(token);
  }

  /** Resolves when the project seems to be loaded, after a bounded time, or on abort. */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#isLoading) return;
    if (this.#sign === 'quiet') await this.#waitForQuiet(signal);
    else {
      const enough = new AbortController();
      this.#onSign = () => enough.abort();
      await pause(this.#clock, this.#limitMs, AbortSignal.any([signal, enough.signal]));
      this.#onSign = undefined;
      if (!signal.aborted) this.#isLoading = false;
    }
  }

  async #waitForQuiet(signal: AbortSignal): Promise<void> {
    const { quietMs } = this.#waits;
    const end = this.#clock.monotonic() + this.#limitMs;
    this.onMessage(); // count from now: we have just sent it something
    while (!signal.aborted && this.#clock.monotonic() < end) {
      const quietFor = this.#clock.monotonic() - this.#lastMessageAt;
      if (this.#tasks.size === 0 && quietFor >= quietMs) return;
      await pause(this.#clock, this.#tasks.size > 0 ? quietMs : quietMs - quietFor, signal);
    }
  }
}
