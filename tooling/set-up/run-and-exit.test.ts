import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { execPath, platform } from 'node:process';
import { expect, it } from 'vitest';

const module = new URL('run-and-exit.mjs', import.meta.url).href;

it('passes input and output through, and ends with the same exit status', async () => {
  const child = runInOurPlace(
    `process.stdin.on('data', (data) => { process.stdout.write(data); process.exit(7); })`,
  );
  child.stdin.write('hello');
  const [output] = await once(child.stdout, 'data');
  expect(String(output)).toBe('hello');
  expect(await once(child, 'exit')).toEqual([7, null]);
});

it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  'passes %s on, and lets the program decide',
  async (signal) => {
    const child = runInOurPlace(`
    process.on('${signal}', () => process.exit(3));
    setInterval(() => {}, 1000);
    console.log('ready');`);
    await once(child.stdout, 'data');
    child.kill(signal);
    expect(await once(child, 'exit')).toEqual([3, null]);
  },
);

it('ends by the signal that ended the program', async () => {
  const child = runInOurPlace(`process.kill(process.pid, 'SIGKILL')`);
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
});

it.runIf(platform !== 'win32')('ends the program, as SIGTERM does, when this process is killed', async () => {
  const child = runInOurPlace(`import('${module}').then(({ endWithLauncher }) => {
    process.on('SIGTERM', () => { console.log('in order'); process.exit(); });
    setInterval(() => {}, 1000);
    const isLaunched = endWithLauncher();
    console.log(JSON.stringify({ isLaunched, again: endWithLauncher(), names: Object.keys(process.env) }));
  })`);
  const [ready] = await once(child.stdout, 'data');
  const { isLaunched, again, names } = JSON.parse(String(ready));
  expect([isLaunched, again]).toEqual([true, false]);
  expect(names).not.toContain('COUNTERSIGN_LAUNCHER_PIPE'); // its child processes must not see it
  child.kill('SIGKILL');
  const [words] = await once(child.stdout, 'data');
  expect(String(words)).toBe('in order\n');
});

it('lets a program without a launcher live on', async () => {
  const { endWithLauncher } = await import(module);
  expect(endWithLauncher()).toBe(false);
});

it('says which program could not be started', async () => {
  const child = runModule(`runAndExit('/nonexistent/node', [])`);
  const [output] = await once(child.stderr, 'data');
  expect(String(output)).toContain('Could not start /nonexistent/node');
  expect(await once(child, 'exit')).toEqual([1, null]);
});

function runInOurPlace(program: string) {
  return runModule(`runAndExit(process.execPath, ['--eval', ${JSON.stringify(program)}])`);
}

function runModule(call: string) {
  return spawn(execPath, [
    '--input-type=module',
    '--eval',
    `import { runAndExit } from '${module}'; ${call}`,
  ]);
}
