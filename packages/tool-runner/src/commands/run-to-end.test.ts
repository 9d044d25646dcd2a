import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cannotIsolate, IsolationFixture, lookOnly } from '../isolation/isolation-fixture.test-data.ts';
import { runToEnd } from './run-to-end.ts';

describe.skipIf(cannotIsolate)('runToEnd', () => {
  let fixture: IsolationFixture;
  beforeEach(() => {
    fixture = new IsolationFixture({ killDelayMs: 200 });
  });
  afterEach(() => fixture.remove());

  const run = (line: string, signal = new AbortController().signal) =>
    runToEnd(
      fixture.starter,
      { program: 'bash', args: ['-c', line], cwd: '', confinement: lookOnly, stdin: 'ignore' },
      { timeoutSeconds: 1, outputBytes: 1_000, signal, onProgress: () => {} },
    );

  it('[RN-4] a command that ended in time did not time out, even if the process could only check later', async () => {
    const ending = run('echo done');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500); // the whole process stands still
    expect(await ending).toMatchObject({ stdout: 'done\n', status: { exitCode: 0 } });
  });

  it('[EX-8] a command that ended before the cancellation completed, even if its end was not noticed yet', async () => {
    const cancel = new AbortController();
    const ending = run('echo done', cancel.signal);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
    cancel.abort();
    expect(await ending).toMatchObject({ stdout: 'done\n', status: { exitCode: 0 } });
  });

  it('[RN-4] one that did not is stopped', async () => {
    expect(await run('echo begun; sleep 60')).toMatchObject({ stdout: 'begun\n', status: 'timeout' });
  });
});
