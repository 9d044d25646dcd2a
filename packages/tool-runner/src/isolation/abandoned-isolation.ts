import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tryOr } from '../try-or.ts';
import type { Workspace } from '../workspace.ts';
import { namesIn } from './disk-names.ts';
import { ExecutingPlaceGuard, type Planted } from './executing-place-guard.ts';
import { hasEnded, identifyProcess, sendSignal } from './started-process.ts';
import { WorkspaceScan } from './workspace-scan.ts';

/** Name prefix of folders in the state folder that git gets instead of a repository's own configuration. */
export const viewPrefix = 'git-';

/** The runner waits at most this long for killed processes to disappear. */
const LONGEST_WAIT_MS = 1_000;

export interface ClearedIsolation {
  /** Number of processes that were still running and were killed. */
  readonly ended: number;
  /** Files that the killed runner's commands left in places that execute later (VA-3). */
  readonly planted: Planted;
}

/**
 * Cleans up after a killed runner of this workspace: kills its isolated processes, removes its empty stand-in folders,
 * and moves planted files out of the workspace (executing-place-guard.ts). Bubblewrap normally dies with its parent, but
 * not if the parent dies in the first milliseconds. Call this function only while holding the journal's lock: then every
 * process that was started from this state folder is abandoned.
 */
export function clearAbandonedIsolation({ root, stateFolder, home }: Workspace): ClearedIsolation {
  const folder = join(stateFolder, 'isolation');
  const deadline = performance.now() + LONGEST_WAIT_MS;
  const ended = new Set<number>();
  // Repeat until no process is found: a process may have started another one meanwhile.
  for (let left = startedFrom(folder); left.length > 0; left = startedFrom(folder)) {
    for (const pid of left) {
      sendSignal(pid, 'SIGKILL');
      ended.add(pid);
    }
    if (performance.now() > deadline) break;
    sleep(2);
  }
  // Clean up only after all processes have ended: a running process could plant files again.
  const scan = new WorkspaceScan({ root, home });
  const guard = new ExecutingPlaceGuard({ root, stateFolder, findPlaces: () => scan.findPlaces() });
  const planted = guard.settleAbandoned(() => true);
  for (const name of namesIn(stateFolder).filter((found) => found.startsWith(viewPrefix)))
    rmSync(join(stateFolder, name), { recursive: true, force: true });
  return { ended: ended.size, planted };
}

/** Returns the pids of all bubblewrap processes, and shells about to exec one, that mount a file of this folder. */
function startedFrom(folder: string): number[] {
  const pids = namesIn('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    const known = identifyProcess(pid);
    const args = tryOr(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '').split('\0');
    const isOurs = args.includes('--unshare-user') && args.some((arg) => arg.startsWith(`${folder}/`));
    return isOurs && known !== undefined && !hasEnded(known);
  });
}

const sleep = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};
