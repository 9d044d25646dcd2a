import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { execPath } from 'node:process';
import { expect, it } from 'vitest';

const module = new URL('child-process.ts', import.meta.url).href;

it.each(['SIGTERM', 'SIGHUP'] as const)('%s also ends the running program', async (signal) => {
  const program = `console.log(process.pid); setInterval(() => {}, 1000)`;
  const runs = `import { run } from '${module}'; run(process.execPath, ['--eval', ${JSON.stringify(program)}]);`;
  const child = spawn(execPath, ['--input-type=module', '--eval', runs], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const closed = once(child, 'close'); // after the program, which shares this output, has ended
  child.kill(signal);
  expect(await closed).toEqual([null, signal]);
});

it('prints the output of a background program in one piece when it ends', async () => {
  const slow = JSON.stringify(`console.log('one'); setTimeout(() => console.log('two'), 200)`);
  const runs = `import { inBackground, run } from '${module}';
    const slow = inBackground(() => run(process.execPath, ['--eval', ${slow}]));
    await run(process.execPath, ['--eval', 'console.log("quick")']);
    await slow;`;
  const child = spawn(execPath, ['--input-type=module', '--eval', runs], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += String(chunk);
  });
  await once(child, 'close');
  expect(printed.trim().split('\n')).toEqual(expect.arrayContaining(['quick', 'one', 'two']));
  expect(printed).toMatch(/one\ntwo/);
});
