import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('keep-busy.mjs', import.meta.url));

it('ends with the program that started it', async () => {
  const busy = fork(program, ['1', '10']);
  const ended = once(busy, 'exit');
  await once(busy, 'spawn');
  busy.disconnect();
  expect(await ended).toEqual([0, null]);
});

it('ends by itself', async () => {
  expect(await once(fork(program, ['1', '0.001']), 'exit')).toEqual([0, null]);
});

it.each([['none'], ['0']])('refuses to keep %s cores busy', async (cores) => {
  expect(await once(fork(program, [cores], { silent: true }), 'exit')).toEqual([2, null]);
});
