import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { statusDescriptor } from './bubblewrap.ts';
import type { Planted, Protection } from './executing-place-guard.ts';

/** One program from its start until nothing of it is left. */
export class StartedProcess {
  /** Resolves when no process of it is left and what it planted has been set aside. Never rejects. */
  readonly isOver: Promise<void>;
  planted: Planted = { setAside: [] };
  readonly #child: ChildProcess;
  readonly #isIsolated: boolean;
  /** The first process of the namespace, as seen from here; with it, all others end. */
  #first: KnownProcess | undefined;
  #stopping: Promise<void> | undefined;
  #hasRun = false;
  #wasTold = false;

  constructor(
    child: ChildProcess,
    { isIsolated, protection }: { readonly isIsolated: boolean; readonly protection: Protection },
  ) {
    this.#child = child;
    this.#isIsolated = isIsolated;
    const said = isIsolated ? this.#readStatus(child.stdio[statusDescriptor] as Readable) : undefined;
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    this.isOver = exited.then(() => said).then(() => this.#settle(protection));
  }

  /** False when it ended by itself before the program was started: isolation could not be set up. */
  get hasRun(): boolean {
    return !this.#isIsolated || this.#hasRun || this.#wasTold;
  }

  /** SIGTERM to all of it, SIGKILL after the delay. Asking twice is asking once. */
  stop(killDelayMs: number): Promise<void> {
    this.#stopping ??= this.#stop(killDelayMs);
    return this.#stopping;
  }

  async #stop(killDelayMs: number): Promise<void> {
    if (!this.#hasExited()) {
      this.#wasTold = true;
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
   * In isolation bubblewrap must not get the signal, since everything is killed when it ends; its namespace's first
   * process ignores it. While it still prepares there is nobody to tell: then a moment later again.
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
    // Killing the namespace's first process ends all others before bubblewrap hears of it.
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

  /** bubblewrap says which process is the first of the namespace as soon as there is one. */
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
  /** Of the kernel: `Z` has ended and waits for its parent to look. */
  readonly state: string;
  /** Ticks since the machine started. A number is given again some day, but not at the same time. */
  readonly startedAt: string;
}

/** What /proc says of one process; undefined once it is gone. */
function readProcess(pid: number | string): ProcessLine | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name stands in parentheses and may contain some itself.
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

/** A process that is not taken for another one with the same number. */
export type KnownProcess = Pick<ProcessLine, 'pid' | 'startedAt'>;

export const knowProcess = (pid: number): KnownProcess | undefined => readProcess(pid);

/** Ended, though perhaps not yet looked at by its parent. */
export function hasEnded({ pid, startedAt }: KnownProcess): boolean {
  const found = readProcess(pid);
  return found === undefined || found.startedAt !== startedAt || found.state === 'Z' || found.state === 'X';
}

/**
 * All processes below `pid`, parents first. What a program in isolation starts never leaves this tree, however often
 * it forks: whoever loses its parent becomes a child of the namespace's first process.
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

/** True when the signal was sent; false when there is no such process any more. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
