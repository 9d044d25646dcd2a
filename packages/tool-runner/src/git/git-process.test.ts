import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { IsolatingStarter } from '../isolation/process-starter.ts';
import { GitFixture } from './git-fixture.test-data.ts';
import { runGit } from './git-process.ts';

describe('runGit', () => {
  let fixture: GitFixture;
  let starter: IsolatingStarter;
  beforeEach(() => {
    fixture = new GitFixture().withCommit();
    starter = new IsolatingStarter(fixture.workspace);
  });
  afterEach(async () => {
    await starter.dispose();
    await fixture.remove();
  });

  const run = (
    args: readonly string[],
    { signal, timeoutSeconds = 60, program }: Partial<Parameters<typeof runGit>[1]>,
  ) =>
    runGit(starter, {
      ...(program !== undefined && { program }),
      args,
      confinement: { workspace: 'write', network: false, writableGit: 'data', maskSensitive: false },
      environment: {},
      maxBytes: 1_000,
      timeoutSeconds,
      signal,
    });

  it('[EX-8] git that ended before the cancellation completed, even if its end was not noticed yet', async () => {
    const cancel = new AbortController();
    const answer = run(['branch', 'made'], { signal: cancel.signal });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000); // git ends while this process stands still
    cancel.abort();
    expect(await answer).toMatchObject({ exitCode: 0 });
    expect(readdirSync(`${fixture.root}/.git/refs/heads`)).toContain('made');
  });

  it('[RN-6] git that ended in time did not time out', async () => {
    const answer = run(['rev-parse', '--is-inside-work-tree'], { timeoutSeconds: 1 });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    expect((await answer).stdout.toString()).toBe('true\n');
  });

  it('[TL-3] keeps as much output as it may, and stops a program that prints more', async () => {
    const endless = await run([], { program: 'yes', timeoutSeconds: 3_600 });
    expect(endless).toMatchObject({ cut: true, stdout: Buffer.from('y\n'.repeat(500)) });
    const short = await run(['rev-parse', '--is-inside-work-tree'], {});
    expect(short).toMatchObject({ cut: false, exitCode: 0 });
  });
});
