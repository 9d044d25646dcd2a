import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The id by which the server knows the runner of a workspace, the same at every start (EX-6, EX-7). */
export function runnerIdOf(stateFolder: string): string {
  const path = join(stateFolder, 'runner-id');
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
