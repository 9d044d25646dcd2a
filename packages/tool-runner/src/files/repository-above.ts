import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Whether the nearest `.git` is above this directory. A wrong result only shows or hides ignored files. */
export function isBelowRepository(directory: string): boolean {
  if (existsSync(join(directory, '.git'))) return false;
  const above = dirname(directory);
  return above !== directory && (existsSync(join(above, '.git')) || isBelowRepository(above));
}
