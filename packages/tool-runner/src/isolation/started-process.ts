import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { tryOr } from '../try-or.ts';
import { statusDescriptor } from './bubblewrap.ts';
import type { Planted, Protection } from './executing-place-guard.ts';

/** One program, from its start until all its processes have ended. */
export class StartedProcess {
  /** Resolves when all its processes have ended and `planted` is set. Never rejects. */
  readonly ended: Promise<void>;
  /** Files that the program left in places that execute later (VA-3), and where they were moved. */
  planted: Planted = { setAside: [] };
  readonly #child: ChildProcess;
  readonly #isIsolated: boolean;
  /** The first process of the pid namespace, by its pid outside. When it ends, the kernel kills all the others. */
  #namespaceInit: ProcessIdentity | undefined;
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
    this.ended = exited.then(() => statusRead).then(() => this.#cleanUp(protection));
  }

  /** False if bubblewrap ended by itself before it started the program: isolation could not be set up. */
  get hasRun(): boolean {
    return !this.#isIsolated || this.#hasRun || this.#wasStopped;
  }

  /** Sends SIGTERM to every process, and SIGKILL after the delay. Calling it again has no further effect. */
  stop(killDelayMs: number): Promise<void> {
    this.#stopping ??= this.#stop(killDelayMs);
    return this.#stopping;
  }

  async #stop(killDelayMs: number): Promise<void> {
    if (!this.#hasExited()) {
      this.#wasStopped = true;
      const timer = setTimeout(() => this.#kill(), killDelayMs);
      await this.#terminate();
      await this.ended;
      clearTimeout(timer);
    }
    await this.ended;
  }

  #hasExited(): boolean {
    return this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /**
   * Sends SIGTERM to the program's processes, but not to bubblewrap itself: when bubblewrap ends, everything is killed.
   * The namespace's first process ignores SIGTERM. While bubblewrap is still setting up, there is no program yet, so this
   * tries again every 5 ms.
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
      const programs = descendants(pid).filter((found) => found !== this.#namespaceInit?.pid);
      const signalled =
        this.#namespaceInit === undefined ? [] : programs.filter((found) => sendSignal(found, 'SIGTERM'));
      for (const program of signalled) sendSignal(program, 'SIGCONT');
      if (signalled.length > 0) return;
      await wait(5);
    }
  }

  #kill(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    // Killing the namespace's first process ends all others, and bubblewrap then exits by itself.
    if (this.#namespaceInit !== undefined) sendSignal(this.#namespaceInit.pid, 'SIGKILL');
    else sendSignal(-pid, 'SIGKILL');
  }

  async #cleanUp(protection: Protection): Promise<void> {
    const { pid } = this.#child;
    if (!this.#isIsolated) {
      // Other processes of the group may outlive its leader.
      if (pid !== undefined) sendSignal(-pid, 'SIGKILL');
    } else if (this.#namespaceInit !== undefined) {
      for (let pause = 1; !hasEnded(this.#namespaceInit); pause = Math.min(2 * pause, 50)) {
        sendSignal(this.#namespaceInit.pid, 'SIGKILL');
        await wait(pause);
      }
    }
    try {
      this.planted = protection.release();
    } catch (error) {
      this.planted = { setAside: [], problem: (error as Error).message };
    }
  }

  /** Reads bubblewrap's status: the pid of the namespace's first process, and later the program's exit code. */
  #readStatus(status: Readable): Promise<void> {
    let text = '';
    status.setEncoding('utf8');
    status.on('error', () => {}); // 'close' follows
    status.on('data', (chunk: string) => {
      text = (text + chunk).slice(0, 4_096);
      const found = /"child-pid": *(\d+)/.exec(text)?.[1];
      if (found !== undefined) this.#namespaceInit ??= identifyProcess(Number(found));
      this.#hasRun ||= text.includes('"exit-code"');
    });
    return new Promise((resolve) => status.once('close', resolve));
  }
}

interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  /** The kernel's letter. `Z` is a process that has ended but that its parent has not waited for yet. */
  readonly state: string;
  /** Clock ticks since boot. Together with the pid, this identifies a process: pids are reused. */
  readonly startedAt: string;
}

/** Reads one process from /proc; undefined if it does not exist. */
function readProcess(pid: number | string): ProcessStat | undefined {
  return tryOr(() => {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name is in parentheses and may contain parentheses itself.
    const [state = '', parent, ...rest] = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return { pid: Number(pid), state, parent: Number(parent), startedAt: rest[17] ?? '' };
  }, undefined);
}

/** Identifies a process even if its pid is reused. */
export type ProcessIdentity = Pick<ProcessStat, 'pid' | 'startedAt'>;

export const identifyProcess = (pid: number): ProcessIdentity | undefined => readProcess(pid);

/** True also for a zombie: a process that has ended but that its parent has not waited for yet. */
export function hasEnded({ pid, startedAt }: ProcessIdentity): boolean {
  const found = readProcess(pid);
  return found === undefined || found.startedAt !== startedAt || found.state === 'Z' || found.state === 'X';
}

/**
 * Returns all processes below `pid`, parents first. A process in isolation never leaves this tree: if its parent ends, it
 * becomes a child of the namespace's first process.
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

/** Returns false if the process does not exist any more. */
export const sendSignal = (pid: number, signal: NodeJS.Signals): boolean =>
  tryOr(() => process.kill(pid, signal), false);
