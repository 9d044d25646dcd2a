import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { SecurityCase } from './security-cases.ts';
import type { TemporaryWorkspace } from './temporary-workspace.ts';

/**
 * Starts a process that keeps swapping a path between a directory and a link, as a race case says. Resolves once it has
 * begun, with a function that stops it.
 */
export async function startSwapping(
  workspace: TemporaryWorkspace,
  race: NonNullable<SecurityCase['input']['race']>,
): Promise<() => Promise<void>> {
  const [inside = '', link = ''] = workspace.fill(race.alternate);
  const swapper: ChildProcess = spawn(
    process.execPath,
    [
      '-e',
      program,
      join(workspace.root, race.path),
      join(workspace.root, inside),
      link.replace(/^symlink:/, ''),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await once(swapper.stdout as NodeJS.ReadableStream, 'data');
  return async () => {
    const ended = once(swapper, 'exit');
    swapper.kill('SIGKILL');
    await ended;
  };
}

const program = `
const { renameSync, rmSync, symlinkSync } = require('node:fs');
const [path, inside, target] = process.argv.slice(1);
let told = false;
for (;;) {
  renameSync(inside, path);
  renameSync(path, inside);
  symlinkSync(target, path);
  rmSync(path);
  if (!told) { process.stdout.write('swapping'); told = true; }
}`;
