import { readdirSync, readFileSync } from 'node:fs';

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
