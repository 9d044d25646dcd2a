import { fileURLToPath } from 'node:url';
import { type AddedToProcess, ServerProcess, type ServerSettings } from '../../lab/src/server-process.ts';
import { pause } from '../../lab/src/waiting.ts';
import type { History } from './history.ts';

const jumpingClock = fileURLToPath(new URL('./jumping-clock.ts', import.meta.url));
const betweenStartsMs = 200;
/** Within this time after it resumed, a process does what it was about to do when it was paused. */
const resumeMs = 2_000;

export interface NodeSettings extends ServerSettings {
  readonly index: number;
  readonly history: History;
  readonly added: AddedToProcess;
}

/** Keeps one `countersign serve` running: starts it again whenever it ends. */
export class ServerNode {
  readonly #settings: NodeSettings;
  readonly #supervised: Promise<void>;
  #process: ServerProcess | undefined;
  #isListening = false;
  #isOver = false;
  /** The node stays down until this time. */
  #downUntil = 0;
  #endedByUs = false;
  #clockOffsetMs = 0;
  #wokeAt = Number.NEGATIVE_INFINITY;
  /** The fault point at which its next process is killed. */
  #killAt: string | undefined;
  /** True if it may end by itself now, because its disk is full. */
  mayEnd = false;
  /** How often it was killed at its planned fault point. */
  pointKills = 0;
  log = '';

  constructor(settings: NodeSettings) {
    this.#settings = settings;
    this.#supervised = this.#supervise();
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  get pid(): number | undefined {
    return this.#process?.isRunning ? this.#process.pid : undefined;
  }

  /** Ends it by a signal, and keeps it down for a while. */
  async end(signal: 'SIGKILL' | 'SIGTERM', downMs: number): Promise<void> {
    this.#endedByUs = true;
    this.#downUntil = performance.now() + downMs;
    this.#process?.resume(); // a paused process does not handle SIGTERM
    await this.#process?.kill(signal);
  }

  /** Kills it, and kills its next process at a labelled point. */
  async killAtPoint(killAt: string): Promise<void> {
    this.#killAt = killAt;
    await this.end('SIGKILL', 0);
  }

  async pause(ms: number): Promise<void> {
    const paused = this.#process;
    paused?.pause();
    await pause(ms);
    this.#wokeAt = performance.now();
    paused?.resume();
  }

  /** True if it was paused until a moment ago. */
  get hasJustResumed(): boolean {
    return performance.now() - this.#wokeAt < resumeMs;
  }

  resume(): void {
    this.#process?.resume();
  }

  setClock(offsetMs: number): void {
    this.#clockOffsetMs = offsetMs;
    this.#process?.tell({ clockOffsetMs: offsetMs });
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.end('SIGKILL', 0);
    await this.#supervised;
  }

  async #supervise(): Promise<void> {
    const { index, history, added } = this.#settings;
    while (!this.#isOver) {
      const downMs = this.#downUntil - performance.now();
      if (downMs > 0) {
        await pause(Math.min(downMs, betweenStartsMs));
        continue;
      }
      this.#endedByUs = false;
      const process = new ServerProcess({
        node: ['--import', jumpingClock, ...(added.node ?? [])],
        env: { FAULTS_CLOCK_OFFSET_MS: String(this.#clockOffsetMs), ...added.env },
      });
      this.#process = process;
      const killAt = this.#killAt;
      this.#killAt = undefined;
      await process.serve({ ...this.#settings, modelKey: String(index), killAt }).then(
        () => {
          this.#isListening = process.isRunning;
        },
        () => {}, // its database may be down; it ends, and is started again
      );
      const wasListening = this.#isListening;
      const how = await process.ended;
      this.#isListening = false;
      this.log += process.log;
      if (this.#isOver) return;
      const hasKillPoint = killAt !== undefined && how === 'SIGKILL';
      if (hasKillPoint && !this.#endedByUs) this.pointKills += 1;
      const isExpected = this.#endedByUs || this.mayEnd || hasKillPoint;
      if (!isExpected && wasListening)
        history.add({ what: 'ended', node: index, how, log: process.log.slice(-2_000) });
      await pause(betweenStartsMs);
    }
  }
}
