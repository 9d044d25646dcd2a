import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The id by which the server knows the runner of a workspace, the same at every start (EX-6, EX-7). */
export function runnerIdOf(stateFolder: string): string {
  const path = idFileIn(stateFolder);
  try {
    const known = readFileSync(path, 'utf8').trim();
    if (/^[A-Za-z0-9_-]{1,64}$/.test(known)) return known;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const id = randomUUID();
  mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
  writeFileSync(path, `${id}\n`, { mode: 0o600 });
  return id;
}

/**
 * Distinguishes copies of one runner (docs/decisions/0006): the same at every start, but different for a state folder that
 * was copied or restored, because the copied journal does not know which calls the original has started.
 */
export function runnerInstanceOf(stateFolder: string): string {
  runnerIdOf(stateFolder);
  const { ino } = statSync(idFileIn(stateFolder), { bigint: true });
  return createHash('sha256').update(`${machineId()}\n${ino}`).digest('hex').slice(0, 32);
}

const idFileIn = (stateFolder: string): string => join(stateFolder, 'runner-id');

/** The id of this Linux installation; empty elsewhere, where only the inode tells copies apart. */
function machineId(): string {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim();
  } catch {
    return '';
  }
}
