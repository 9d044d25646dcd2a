import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { statusDescriptor } from './bubblewrap.ts';
import type { Planted, Protection } from './executing-place-guard.ts';

/** One program, from its start until no process of it is left. */
export class StartedProcess {
  /** Resolves when no process of it is left and what it planted has been set aside. Never rejects. */
  readonly isOver: Promise<void>;
  planted: Planted = { setAside: [] };
  readonly #child: ChildProcess;
  readonly #isIsolated: boolean;
  /** The first process of the namespace, by its pid out here; when it ends, all others end. */
  #first: KnownProcess | undefined;
  #stopping: Promise<void> | undefined;
  #hasRun = false;
  #wasStopped = false;

  constructor(
    child: ChildProcess,
    { isIsolated, protection }: { readonly isIsolated: boolean; readonly protection: Protection },
  ) {
    this.#child = child;
    this.#isIsolated = isIsolated;
    const statusRead = isIsolated ? this.#readStatus(child.stdio[statusDescriptor] as Readable) : undefined;
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    this.isOver = exited.then(() => statusRead).then(() => this.#settle(protection));
  }

  /** False when it ended by itself before the program was started: isolation could not be set up. */
  get hasRun(): boolean {
    return !this.#isIsolated || this.#hasRun || this.#wasStopped;
  }

  /** SIGTERM to every process of it, SIGKILL after the delay. Calling it again has no further effect. */
  stop(killDelayMs: number): Promise<void> {
    this.#stopping ??= this.#stop(killDelayMs);
    return this.#stopping;
  }

  async #stop(killDelayMs: number): Promise<void> {
    if (!this.#hasExited()) {
      this.#wasStopped = true;
      const timer = setTimeout(() => this.#kill(), killDelayMs);
      await this.#terminate();
      await this.isOver;
      clearTimeout(timer);
    }
    await this.isOver;
  }

  #hasExited(): boolean {
    return this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /**
   * In isolation, bubblewrap itself must not get the signal: when it ends, everything is killed. The namespace's first
   * process ignores it. While bubblewrap is still setting up there is no program yet, so this tries again a moment
   * later.
   */
  async #terminate(): Promise<void> {
    const { pid } = this.#child;
    if (pid === undefined) return;
    if (!this.#isIsolated) {
      sendSignal(-pid, 'SIGTERM');
      sendSignal(-pid, 'SIGCONT');
      return;
    }
    while (!this.#hasExited()) {
      const programs = descendants(pid).filter((found) => found !== this.#first?.pid);
      const told = this.#first === undefined ? [] : programs.filter((found) => sendSignal(found, 'SIGTERM'));
      for (const program of told) sendSignal(program, 'SIGCONT');
      if (told.length > 0) return;
      await wait(5);
    }
  }

  #kill(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    // Killing the namespace's first process ends all others before bubblewrap notices.
    if (this.#first !== undefined) sendSignal(this.#first.pid, 'SIGKILL');
    else sendSignal(-pid, 'SIGKILL');
  }

  async #settle(protection: Protection): Promise<void> {
    const { pid } = this.#child;
    if (!this.#isIsolated) {
      // The group may outlive its leader.
      if (pid !== undefined) sendSignal(-pid, 'SIGKILL');
    } else if (this.#first !== undefined) {
      for (let pause = 1; !hasEnded(this.#first); pause = Math.min(2 * pause, 50)) {
        sendSignal(this.#first.pid, 'SIGKILL');
        await wait(pause);
      }
    }
    try {
      this.planted = protection.release();
    } catch (error) {
      this.planted = { setAside: [], problem: (error as Error).message };
    }
  }

  /** bubblewrap reports the pid of the namespace's first process as soon as there is one. */
  #readStatus(status: Readable): Promise<void> {
    let text = '';
    status.setEncoding('utf8');
    status.on('error', () => {}); // it closes as well then
    status.on('data', (chunk: string) => {
      text = (text + chunk).slice(0, 4_096);
      const found = /"child-pid": *(\d+)/.exec(text)?.[1];
      if (found !== undefined) this.#first ??= knowProcess(Number(found));
      this.#hasRun ||= text.includes('"exit-code"');
    });
    return new Promise((resolve) => status.once('close', resolve));
  }
}

interface ProcessLine {
  readonly pid: number;
  readonly parent: number;
  /** The kernel's letter: `Z` has ended, but its parent has not collected it yet. */
  readonly state: string;
  /** Ticks since the machine started. Together with the pid it identifies a process: pids are reused. */
  readonly startedAt: string;
}

/** Reads one process from /proc; undefined once it is gone. */
function readProcess(pid: number | string): ProcessLine | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name is in parentheses and may contain parentheses itself.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return {
      pid: Number(pid),
      state: fields[0] ?? '',
      parent: Number(fields[1]),
      startedAt: fields[19] ?? '',
    };
  } catch {
    return undefined;
  }
}

/** Identifies a process even if its pid is reused. */
export type KnownProcess = Pick<ProcessLine, 'pid' | 'startedAt'>;

export const knowProcess = (pid: number): KnownProcess | undefined => readProcess(pid);

/** Ended, though perhaps not yet collected by its parent. */
export function hasEnded({ pid, startedAt }: KnownProcess): boolean {
  const found = readProcess(pid);
  return found === undefined || found.startedAt !== startedAt || found.state === 'Z' || found.state === 'X';
}

/**
 * All processes below `pid`, parents first. A process in isolation never leaves this tree, however often it forks: if
 * its parent ends, it becomes a child of the namespace's first process.
 */
export function descendants(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const found = /^\d+$/.test(name) ? readProcess(name) : undefined;
    if (!found || found.state === 'Z') continue;
    const siblings = children.get(found.parent);
    if (siblings) siblings.push(found.pid);
    else children.set(found.parent, [found.pid]);
  }
  const all = [...(children.get(pid) ?? [])];
  for (const next of all) all.push(...(children.get(next) ?? []));
  return all;
}

/** False if there is no such process any more. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
