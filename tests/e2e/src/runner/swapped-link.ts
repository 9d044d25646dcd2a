import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Starts a process that keeps switching a link between targets, atomically, so that the link is never missing and
 * nobody creates a folder in its place. Resolves once it has begun, with a function that stops it.
 */
export async function startSwappingLink(
  path: string,
  targets: readonly string[],
): Promise<() => Promise<void>> {
  const swapper = spawn(process.execPath, ['-e', program, path, ...targets], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(swapper, 'exit');
  await once(swapper.stdout, 'data');
  return async () => {
    swapper.kill('SIGKILL');
    await ended;
  };
}

const program = `
const { renameSync, symlinkSync } = require('node:fs');
const [path, ...targets] = process.argv.slice(1);
for (let i = 0; ; i++) {
  symlinkSync(targets[i % targets.length], path + '.next');
  renameSync(path + '.next', path);
  if (i === 1) process.stdout.write('swapping');
}`;
