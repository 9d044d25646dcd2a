import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';

const program = fileURLToPath(new URL('../bin/countersign.mjs', import.meta.url));
let folder: string;
const started: ChildProcessWithoutNullStreams[] = [];
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-input-')));
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the command in its own workspace; resolves when it has printed a line that contains `ready`. */
async function start(name: string, ready: string, ...args: string[]) {
  const root = join(folder, name);
  mkdirSync(root);
  const env = { HOME: folder, PATH: process.env.PATH ?? '', LANG: 'en' };
  const child = spawn(process.execPath, [program, ...args, root], { env });
  started.push(child);
  const ended = once(child, 'exit');
  for await (const line of createInterface(child.stdout)) {
    if (line.includes(ready)) return { child, line, ended };
  }
  throw new Error(`It ended without saying "${ready}".`);
}

it('a runner and an up that were started by a program end when it is gone', async () => {
  const up = await start('up', '"address"', 'up', '--json', '--no-open', '--end-with-input');
  const { address } = JSON.parse(up.line) as { address: string };
  const runner = await start('runner', 'Connected', 'connect', '--no-prompt', '--end-with-input');

  runner.child.stdin.destroy();
  expect(await runner.ended).toEqual([0, null]);

  up.child.stdin.destroy();
  expect(await up.ended).toEqual([0, null]);
  await expect(fetch(`${address}/healthz`)).rejects.toThrow();
});

it('one that has no input at all ends at once, without a word', async () => {
  const root = join(folder, 'work');
  mkdirSync(root);
  const args = [program, 'up', '--json', '--no-open', '--end-with-input', root];
  const env = { HOME: folder, PATH: process.env.PATH ?? '', LANG: 'en' };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stdout.on('data', (part) => {
    said += part;
  });
  child.stderr.on('data', (part) => {
    said += part;
  });
  const [code, signal] = await once(child, 'close');
  expect({ said, isEnded: code === 130 || signal === 'SIGTERM' }).toEqual({ said: '', isEnded: true });
});

it('a program whose input is /dev/null continues without the option', async () => {
  await start('up', '"address"', 'up', '--json', '--no-open');
  const runner = await start('runner', 'Connected', 'connect', '--no-prompt');
  runner.child.stdin.destroy();
  const isOver = await Promise.race([
    runner.ended.then(() => true),
    new Promise((resolve) => setTimeout(resolve, 500, false)),
  ]);
  expect(isOver).toBe(false);
});
