import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Another process that keeps pointing a link to one target and to the other, each time at once: it is never missing,
 * so that nobody makes a folder in its place. Resolves once it has begun; call the answer to stop it.
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
