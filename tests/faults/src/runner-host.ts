import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RunnerProcess } from '../../lab/src/runner-process.ts';
import type { AddedToProcess } from '../../lab/src/server-process.ts';
import { pause } from '../../lab/src/waiting.ts';

const betweenStartsMs = 300;

export interface RunnerHostSettings {
  /** One person's machine: contains the workspace, the home folder and the record of changes. */
  readonly folder: string;
  readonly serverUrl: string;
  readonly token: string;
  readonly added: AddedToProcess;
}

/** Keeps one `countersign connect` running: the real runner, with a real disk and journal. */
export class RunnerHost {
  readonly root: string;
  readonly home: string;
  /** Every command sees what is made here meanwhile, and cannot change it. */
  readonly shown: string;
  readonly #settings: RunnerHostSettings;
  #supervised: Promise<void> | undefined;
  #process: RunnerProcess | undefined;
  #isOver = false;
  #downUntil = 0;
  log = '';

  constructor(settings: RunnerHostSettings) {
    this.#settings = settings;
    this.root = join(settings.folder, 'workspace');
    this.home = join(settings.folder, 'home');
    this.shown = join(settings.folder, 'shown');
    const config = join(settings.folder, 'config', 'countersign');
    for (const path of [this.root, this.home, this.shown]) mkdirSync(path, { recursive: true });
    mkdirSync(config, { recursive: true, mode: 0o700 });
    const runnerJson = JSON.stringify({ version: 1, readable: [this.shown] });
    writeFileSync(join(config, 'runner.json'), runnerJson, { mode: 0o600 });
  }

  get pid(): number | undefined {
    return this.#process?.isRunning ? this.#process.pid : undefined;
  }

  start(): void {
    this.#supervised ??= this.#supervise();
  }

  async kill(downMs: number): Promise<void> {
    this.#downUntil = performance.now() + downMs;
    await this.#process?.end('SIGKILL');
  }

  /** Replaces the machine: everything but the workspace is gone. */
  async replace(downMs: number): Promise<void> {
    await this.kill(downMs);
    for (const name of readdirSync(this.home))
      rmSync(join(this.home, name), { recursive: true, force: true });
  }

  async pause(ms: number): Promise<void> {
    const paused = this.#process;
    paused?.pause();
    await pause(ms);
    paused?.resume();
  }

  resume(): void {
    this.#process?.resume();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.kill(0);
    await this.#supervised;
  }

  async #supervise(): Promise<void> {
    const { serverUrl, token, folder, added: given } = this.#settings;
    const added = { ...given, env: { ...given.env, XDG_CONFIG_HOME: join(folder, 'config') } };
    while (!this.#isOver) {
      const downMs = this.#downUntil - performance.now();
      if (downMs > 0) {
        await pause(Math.min(downMs, betweenStartsMs));
        continue;
      }
      const { root, home } = this;
      const changeLog = join(folder, 'changes.log');
      const process = new RunnerProcess({ root, home, changeLog, serverUrl, token, added });
      this.#process = process;
      await process.connect().catch(() => {}); // no server, or no room for its journal: start it again
      await process.ended;
      this.log += process.log.slice(-200_000);
      await pause(betweenStartsMs);
    }
  }
}
