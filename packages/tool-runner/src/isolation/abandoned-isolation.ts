import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Workspace } from '../workspace.ts';
import { namesIn } from './disk-names.ts';
import { ExecutingPlaceGuard, type Planted } from './executing-place-guard.ts';
import { hasEnded, knowProcess, sendSignal } from './started-process.ts';
import { WorkspaceScan } from './workspace-scan.ts';

/** Begins the names of folders in the state folder that git sees instead of a repository's own configuration. */
export const viewPrefix = 'git-';

/** A killed process is gone within a moment; the runner does not wait longer than this. */
const LONGEST_WAIT_MS = 1_000;

export interface ClearedIsolation {
  /** How many processes still ran. */
  readonly ended: number;
  /** What the killed runner's commands planted where it would execute later (VA-3). */
  readonly planted: Planted;
}

/**
 * Cleans up after a killed runner of this workspace: ends its isolated processes, removes its stand-ins, and sets aside
 * what its commands planted. Bubblewrap dies with its parent, except in its first milliseconds: then it runs on, or
 * waits for ever. Call it only while holding the journal's lock: then every process from this state folder is
 * abandoned.
 */
export function clearAbandonedIsolation({ root, stateFolder, home }: Workspace): ClearedIsolation {
  const folder = join(stateFolder, 'isolation');
  const deadline = performance.now() + LONGEST_WAIT_MS;
  const ended = new Set<number>();
  // Repeat until none is found: one of them may just have started another.
  for (let left = startedFrom(folder); left.length > 0; left = startedFrom(folder)) {
    for (const pid of left) {
      sendSignal(pid, 'SIGKILL');
      ended.add(pid);
    }
    if (performance.now() > deadline) break;
    sleep(2);
  }
  // Only now: a process that still ran could put something in their place.
  const scan = new WorkspaceScan({ root, home });
  const guard = new ExecutingPlaceGuard({ root, stateFolder, look: () => scan.look() });
  const planted = guard.settleAbandoned(() => true);
  removeViews(stateFolder);
  return { ended: ended.size, planted };
}

/** Removes the folders that git-repository.ts makes for git. */
function removeViews(stateFolder: string): void {
  for (const name of namesIn(stateFolder).filter((found) => found.startsWith(viewPrefix)))
    rmSync(join(stateFolder, name), { recursive: true, force: true });
}

/** Every bubblewrap, or shell about to exec it, that mounts something of this folder; its children end with it. */
function startedFrom(folder: string): number[] {
  return pids().filter((pid) => {
    const known = knowProcess(pid);
    const args = commandLine(pid);
    const isOurs = args.includes('--unshare-user') && args.some((arg) => arg.startsWith(`${folder}/`));
    return isOurs && known !== undefined && !hasEnded(known);
  });
}

/** Empty if there is no /proc, and so no bubblewrap either. */
function pids(): number[] {
  return namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return []; // it has ended
  }
}

const sleep = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};
