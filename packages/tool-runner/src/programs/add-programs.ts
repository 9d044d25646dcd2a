import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProgramFolders } from '../isolation/shown-folders.ts';
import { readPersonsFile } from '../persons-file.ts';
import { readRunnerSettings } from '../runner-settings.ts';

/**
 * Adds folders to `readable` and `path` of the person's `runner.json`, which is made if there is none. Throws USAGE for a file
 * that the runner would not accept. Returns the file's path.
 */
export function addPrograms(configFolder: string, root: string, added: readonly ProgramFolders[]): string {
  const path = join(configFolder, 'runner.json');
  const settings = readRunnerSettings(configFolder, root);
  const file = readPersonsFile(path, root);
  const written = file.state === 'read' ? (JSON.parse(file.text) as Record<string, unknown>) : { version: 1 };
  const merged = {
    ...written,
    path: [...new Set([...settings.path, ...added.flatMap((offer) => offer.path)])],
    readable: [...new Set([...settings.readable, ...added.flatMap((offer) => offer.readable)])],
  };
  mkdirSync(configFolder, { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(merged, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, path);
  return path;
}
