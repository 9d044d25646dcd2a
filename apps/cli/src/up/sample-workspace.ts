import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PersonsFolders } from '@countersign/tool-runner';

const original = fileURLToPath(new URL('../../sample-workspace', import.meta.url));

/** The person's copy. It is outside our state folder, which no tool may touch. */
export function sampleFolder({ state }: PersonsFolders): string {
  const folder = join(dirname(state), 'countersign-sample', 'greetings');
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Restores our sample files, so that the first message always has something to do. Leaves other files alone. */
export function restoreSample(folder: string): void {
  cpSync(original, folder, { recursive: true, force: true });
}
