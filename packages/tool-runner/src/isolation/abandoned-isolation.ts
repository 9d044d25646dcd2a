import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Workspace } from '../workspace.ts';
import { ExecutingPlaceGuard, type Planted } from './executing-place-guard.ts';
import { hasEnded, knowProcess, sendSignal } from './started-process.ts';
import { WorkspaceScan } from './workspace-scan.ts';

/** Of the folders in the state folder that git is shown instead of a repository's own configuration. */
export const viewPrefix = 'git-';

/** A killed process is gone within a moment; longer than this nobody is kept waiting. */
const LONGEST_WAIT_MS = 1_000;

export interface ClearedIsolation {
  /** How many processes were still there. */
  readonly ended: number;
  /** What the commands of the killed runner had planted where it would execute later (VA-3). */
  readonly planted: Planted;
}

/**
 * Ends what a runner of this workspace that was killed has left in isolation, removes its stand-ins, and sets aside what
 * its commands had planted. Bubblewrap dies with its parent, but not in its first milliseconds: who loses it then runs
 * on, or waits for ever. Only for whoever holds the journal's lock: to them, all that runs from this state folder is
 * abandoned.
 */
export function clearAbandonedIsolation({ root, stateFolder, home }: Workspace): ClearedIsolation {
  const folder = join(stateFolder, 'isolation');
  const deadline = performance.now() + LONGEST_WAIT_MS;
  const ended = new Set<number>();
  // Until none is found: one that was just starting another one must not leave that behind.
  for (let left = startedFrom(folder); left.length > 0; left = startedFrom(folder)) {
    for (const pid of left) {
      sendSignal(pid, 'SIGKILL');
      ended.add(pid);
    }
    if (performance.now() > deadline) break;
    sleep(2);
  }
  // Not before: whoever still ran could put something in their place.
  const scan = new WorkspaceScan({ root, home });
  const guard = new ExecutingPlaceGuard({ root, stateFolder, look: () => scan.look() });
  const planted = guard.settleAbandoned(() => true);
  removeViews(stateFolder);
  return { ended: ended.size, planted };
}

/** What git was shown of a repository (git-repository.ts). */
function removeViews(stateFolder: string): void {
  for (const name of namesIn(stateFolder).filter((found) => found.startsWith(viewPrefix)))
    rmSync(join(stateFolder, name), { recursive: true, force: true });
}

/** Every bubblewrap that mounts something of this folder, or is about to be one; what it started ends with it. */
function startedFrom(folder: string): number[] {
  return pids().filter((pid) => {
    const known = knowProcess(pid);
    const args = commandLine(pid);
    const isOurs = args.includes('--unshare-user') && args.some((arg) => arg.startsWith(`${folder}/`));
    return isOurs && known !== undefined && !hasEnded(known);
  });
}

/** Of this machine; none where there is no /proc, and so no bubblewrap either. */
function pids(): number[] {
  return namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return []; // it has ended meanwhile
  }
}

const sleep = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
};
