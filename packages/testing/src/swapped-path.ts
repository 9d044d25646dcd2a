import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { SecurityCase } from './security-cases.ts';
import type { TemporaryWorkspace } from './temporary-workspace.ts';

/**
 * Starts a process that keeps swapping a path between a directory and a link, as a race case says. Resolves once it has
 * begun, with a function that stops it.
 */
export function startSwapping(
  workspace: TemporaryWorkspace,
  race: NonNullable<SecurityCase['input']['race']>,
): Promise<() => Promise<void>> {
  const [inside = '', link = ''] = workspace.fill(race.alternate);
  const target = link.replace(/^symlink:/, '');
  return startProgram(swapDirectory, join(workspace.root, race.path), join(workspace.root, inside), target);
}

/**
 * Starts a process that keeps switching a link between targets, atomically, so that the link is never missing and
 * nobody creates a folder in its place. Resolves once it has begun, with a function that stops it.
 */
export function startSwappingLink(path: string, targets: readonly string[]): Promise<() => Promise<void>> {
  return startProgram(swapLink, path, ...targets);
}

async function startProgram(program: string, ...args: string[]): Promise<() => Promise<void>> {
  const swapper = spawn(process.execPath, ['-e', program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(swapper, 'exit');
  await once(swapper.stdout, 'data');
  return async () => {
    swapper.kill('SIGKILL');
    await ended;
  };
}

const swapDirectory = `
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

const swapLink = `
const { renameSync, symlinkSync } = require('node:fs');
const [path, ...targets] = process.argv.slice(1);
for (let i = 0; ; i++) {
  symlinkSync(targets[i % targets.length], path + '.next');
  renameSync(path + '.next', path);
  if (i === 1) process.stdout.write('swapping');
}`;
