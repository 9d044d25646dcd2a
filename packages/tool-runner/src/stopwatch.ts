import type { RunnerClock } from './clock.ts';

/** Measures one call, in whole milliseconds: all of it, and stage by stage for the log. */
export class Stopwatch {
  readonly stages: Record<string, number> = {};
  readonly #clock: RunnerClock;
  readonly #startedAt: number;
  #stageBegan: number;

  constructor(clock: RunnerClock) {
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#stageBegan = this.#startedAt;
  }

  elapsed(): number {
    return milliseconds(this.#startedAt, this.#clock.monotonic());
  }

  /** Ends a stage. It began when the stage before it ended. */
  endStage(name: string): void {
    const now = this.#clock.monotonic();
    this.stages[name] = milliseconds(this.#stageBegan, now);
    this.#stageBegan = now;
  }
}

const milliseconds = (from: number, to: number): number => Math.max(0, Math.round(to - from));
