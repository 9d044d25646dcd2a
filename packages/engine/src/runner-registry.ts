import { timing } from '@countersign/protocol';
import type { Clock } from './clock.ts';
import { Deadlines } from './deadlines.ts';

/** A runner that has a stream open, here on this node. */
export interface ConnectedRunner {
  readonly id: string;
  readonly userId: string;
  readonly workspace: string;
  readonly capabilities: readonly string[];
  /** Which program it is, where it says so: tells two that were given one id apart. */
  readonly instance?: string | undefined;
}

/**
 * Which runners are there, and when each was last alive (EX-7, EX-10). A lease ends 30 s after the last sign of
 * life, whether its stream still looks open or not.
 */
export class RunnerRegistry {
  readonly #runners = new Map<string, ConnectedRunner>();
  /** Those that a process before this one had given calls to, until they are back. */
  readonly #expected = new Map<string, ConnectedRunner>();
  readonly #leases: Deadlines;

  constructor(clock: Clock, onLost: (runner: ConnectedRunner) => void) {
    this.#leases = new Deadlines(clock, (key) => {
      const runner = this.#runners.get(key) ?? this.#expected.get(key);
      this.#runners.delete(key);
      this.#expected.delete(key);
      if (runner) onLost(runner);
    });
  }

  connect(runner: ConnectedRunner): void {
    const key = keyOf(runner.userId, runner.id);
    this.#runners.set(key, runner);
    this.#expected.delete(key);
    this.alive(runner.userId, runner.id);
  }

  /** It is lost unless it gives a sign of life within this time. Nothing is given to it before it is back. */
  expect(runner: ConnectedRunner, withinMs: number): void {
    const key = keyOf(runner.userId, runner.id);
    if (this.#runners.has(key)) return;
    this.#expected.set(key, runner);
    this.#leases.set(key, withinMs);
  }

  /** Any request of a runner is a sign of life. */
  alive(userId: string, runnerId: string): void {
    const key = keyOf(userId, runnerId);
    if (this.#runners.has(key) || this.#expected.has(key))
      this.#leases.set(key, timing.runnerLeaseSeconds * 1000);
  }

  find(userId: string, runnerId: string): ConnectedRunner | undefined {
    return this.#runners.get(keyOf(userId, runnerId));
  }

  /** The runner of a workspace; the preferred one when it is there and serves it. */
  pick(userId: string, workspace: string, preferred: string | null): ConnectedRunner | undefined {
    const wanted = preferred === null ? undefined : this.find(userId, preferred);
    if (wanted?.workspace === workspace) return wanted;
    for (const runner of this.#runners.values()) {
      if (runner.userId === userId && runner.workspace === workspace) return runner;
    }
    return undefined;
  }

  ofUser(userId: string): ConnectedRunner[] {
    return [...this.#runners.values()].filter((runner) => runner.userId === userId);
  }

  close(): void {
    this.#leases.close();
    this.#runners.clear();
    this.#expected.clear();
  }
}

const keyOf = (userId: string, runnerId: string): string => `${userId}\u0000${runnerId}`;
