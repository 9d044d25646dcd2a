import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Whether the nearest git repository begins above a directory. Wrong answers only show or hide ignored files. */
export function isBelowRepository(directory: string): boolean {
  if (existsSync(join(directory, '.git'))) return false;
  const above = dirname(directory);
  return above !== directory && (existsSync(join(above, '.git')) || isBelowRepository(above));
}
