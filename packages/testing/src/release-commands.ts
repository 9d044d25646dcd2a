import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Bit 11 of the mask in `/proc/PID/status` is signal 12, SIGUSR2. */
const catchesRelease = /^SigCgt:\s*[0-9a-f]*[89a-f][0-9a-f]{2}$/m;
const longestMs = 120_000;

/**
 * Sends SIGUSR2 to running commands that wait for it, once there are `count` of them. What tests write in the workspace
 * meanwhile does not reach a command in its layer (RN-11), so that no file can release it.
 *
 * `folder` is where they run; `words` is a part of their command line.
 */
export async function releaseCommands(folder: string, words: string, count = 1): Promise<void> {
  const start = performance.now();
  for (;;) {
    const waiting = readdirSync('/proc').filter((pid) => isWaiting(pid, folder, words));
    if (waiting.length >= count) {
      for (const pid of waiting) process.kill(Number(pid), 'SIGUSR2');
      return;
    }
    if (performance.now() - start > longestMs)
      throw new Error(`${waiting.length} of ${count} commands with "${words}" wait for SIGUSR2`);
    await pause(10);
  }
}

function isWaiting(pid: string, folder: string, words: string): boolean {
  if (!/^\d+$/.test(pid)) return false;
  try {
    return (
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(words) &&
      readlinkSync(`/proc/${pid}/cwd`) === folder &&
      catchesRelease.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    );
  } catch {
    return false; // it has ended meanwhile
  }
}
