import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type BuiltInToolCall, findTool } from '@countersign/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { BuiltInTools } from '../built-in-tools.ts';
import type { CallContext, Progress, ToolResult } from '../executor.ts';
import { GitRepository } from '../git/git-repository.ts';
import { cannotIsolate, IsolationFixture } from '../isolation/isolation-fixture.test-data.ts';
import { failedReport } from '../result-outbox.ts';
import { BackgroundJobs, maxRunningJobs } from './background-jobs.ts';
import { longTime, timeIsOverOnce } from './time-over.test-data.ts';

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function setup(options: ConstructorParameters<typeof IsolationFixture>[0] = {}) {
  const fixture = new IsolationFixture({ killDelayMs: 300, ...options });
  const { workspace, starter } = fixture;
  const jobs = new BackgroundJobs(starter, workspace.limits.outputStreamBytes);
  const git = new GitRepository(workspace, starter);
  const executor = new BuiltInTools({ shell: { workspace, starter, git, jobs } });
  const progress: Progress[] = [];
  cleanUps.push(
    () => fixture.remove(),
    () => executor.dispose(),
  );
  const call = async (
    tool: 'shell_exec' | 'shell_background' | 'shell_output' | 'shell_kill',
    params: object,
    more: Partial<CallContext> = {},
  ): Promise<ToolResult> => {
    const context: CallContext = {
      toolId: 'tool-1',
      attempt: 1,
      sessionId: 'session-1',
      riskLevel: 'HIGH',
      network: false,
      signal: new AbortController().signal,
      onProgress: (told) => progress.push(told),
      changes: { begin: () => {} },
      ...more,
    };
    const result = await executor.execute({ tool, params } as BuiltInToolCall, context);
    expect(findTool(tool)?.result.parse(result)).toEqual(result);
    return result;
  };
  const exec = (command: string, params: object = {}, more: Partial<CallContext> = {}) =>
    call('shell_exec', { command, timeout: 200, ...params }, more);
  const background = async (command: string, more: Partial<CallContext> = {}): Promise<string> =>
    String((await call('shell_background', { command }, more)).job_id);
  const output = (job_id: string, more: Partial<CallContext> = {}) => call('shell_output', { job_id }, more);
  const kill = (job_id: string, more: Partial<CallContext> = {}) => call('shell_kill', { job_id }, more);
  return { fixture, executor, call, exec, background, output, kill, progress };
}

it.skipIf(cannotIsolate)('[RN-10] is busy as long as a background job runs', async () => {
  const { executor, background, kill } = setup();
  expect(executor.isBusy).toBe(false);
  const job = await background('sleep 60');
  expect(executor.isBusy).toBe(true);
  await kill(job);
  expect(executor.isBusy).toBe(false);
});

describe.skipIf(cannotIsolate)('shell_exec', () => {
  it('[TL-2] runs a bash line and answers like a command', async () => {
    const { exec } = setup();
    expect(await exec('for i in 1 2; do echo $i; done | tac; [[ a < b ]] && echo err >&2')).toEqual({
      success: true,
      stdout: '2\n1\n',
      stderr: 'err\n',
      exit_code: 0,
      execution_time: expect.any(Number),
    });
    expect(await exec('exit 3')).toEqual({
      success: false,
      stdout: '',
      stderr: '',
      exit_code: 3,
      execution_time: expect.any(Number),
    });
  });

  it('[TL-2] says which files it changed, also when it failed, ran out of time or was cancelled (founding documents: tool-system)', async () => {
    const { exec, fixture } = setup();
    fixture.write('a.md', 'one\n');
    fixture.write('.env', 'SECRET=1\n');
    const line = 'echo two > a.md; echo x > b.md; echo S=2 > .env';
    const changed_files = [
      { path: 'a.md', operation: 'modified' },
      { path: 'b.md', operation: 'created' },
    ];
    expect(await exec(`${line}; exit 3`)).toMatchObject({ exit_code: 3, changed_files });
    expect(await exec('cat a.md')).not.toHaveProperty('changed_files');
    expect(await exec('cat a.md', {}, { riskLevel: 'LOW' })).not.toHaveProperty('changed_files');
    fixture.write('b.md', '');
    timeIsOverOnce(() => fixture.has('late'));
    const late = await exec('rm a.md b.md; echo x > late; sleep 60', { timeout: longTime });
    expect(late).toMatchObject({
      code: 'COMMAND_TIMEOUT',
      changed_files: [
        { path: 'a.md', operation: 'deleted' },
        { path: 'b.md', operation: 'deleted' },
        { path: 'late', operation: 'created' },
      ],
    });
    const abort = new AbortController();
    const onProgress = () => abort.abort();
    const cancelled = exec('echo x > kept; echo begun; sleep 60', {}, { signal: abort.signal, onProgress });
    const failure = await cancelled.catch((error: unknown) => error);
    expect(failedReport(failure, 1)).toMatchObject({
      status: 'cancelled',
      result: {
        success: false,
        code: 'EXECUTION_CANCELLED',
        stdout: 'begun\n',
        exit_code: null,
        changed_files: [{ path: 'kept', operation: 'created' }],
      },
    });
  });

  it('[VA-6] runs in the folder that was named, inside the workspace', async () => {
    const { exec, fixture } = setup();
    fixture.write('src/a.ts');
    symlinkSync('/etc', join(fixture.root, 'out'));
    expect(await exec('pwd', { cwd: 'src' })).toMatchObject({ stdout: `${fixture.root}/src\n` });
    expect(await exec('pwd', { cwd: `${fixture.root}/src` })).toMatchObject({
      stdout: `${fixture.root}/src\n`,
    });
    await expect(exec('pwd', { cwd: 'out' })).rejects.toMatchObject({ code: 'PATH_OUTSIDE_WORKSPACE' });
    await expect(exec('pwd', { cwd: '../..' })).rejects.toMatchObject({ code: 'PATH_OUTSIDE_WORKSPACE' });
    await expect(exec('pwd', { cwd: '.ssh' })).rejects.toMatchObject({ code: 'PATH_SENSITIVE' });
  });

  it("[RN-5] reads no start-up file, neither the workspace's nor one named in the environment", async () => {
    const { exec, fixture } = setup({
      environment: { BASH_ENV: 'evil.sh', ENV: 'evil.sh' },
      addedEnvironment: ['BASH_ENV', 'ENV'],
    });
    for (const name of ['.bashrc', '.bash_profile', '.profile', 'evil.sh']) fixture.write(name, 'echo evil');
    expect(await exec('echo ok')).toMatchObject({ stdout: 'ok\n' });
  });

  it('[EX-8] stops at its time, and when it is cancelled', async () => {
    const { exec, progress, fixture } = setup();
    timeIsOverOnce(() => fixture.has('ready'));
    expect(await exec('echo begun; echo > ready; sleep 600', { timeout: longTime })).toMatchObject({
      code: 'COMMAND_TIMEOUT',
      stdout: 'begun\n',
    });
    const abort = new AbortController();
    const running = exec('echo begun; sleep 60', {}, { signal: abort.signal });
    progress.length = 0;
    await expect.poll(() => progress.length).toBeGreaterThan(0);
    abort.abort();
    await expect(running).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' });
  });

  it('[TL-3] no timeout is above the limit', async () => {
    const { exec } = setup({ limits: { commandTimeoutMaxSeconds: 1 } });
    expect(await exec('sleep 60', { timeout: 300 })).toMatchObject({ code: 'COMMAND_TIMEOUT' });
  });
});

describe.skipIf(cannotIsolate)('background jobs', () => {
  it('[TL-1] go on after the call, tell what they printed, and can be ended', async () => {
    const { background, output, kill, fixture } = setup();
    const job = await background(
      'echo started; until [ -e go ]; do sleep 0.02; done; echo went on >&2; sleep 60',
    );
    await expect.poll(async () => (await output(job)).stdout).toBe('started\n');
    fixture.write('go');
    await expect.poll(async () => (await output(job)).stderr).toBe('went on\n');
    expect(await output(job)).toEqual({
      success: true,
      stdout: 'started\n',
      stderr: 'went on\n',
      running: true,
      exit_code: null,
    });
    expect(await kill(job)).toEqual({ success: true, exit_code: null });
    expect(await output(job)).toMatchObject({ running: false, exit_code: null, stdout: 'started\n' });
    expect(await kill(job)).toEqual({ success: true, exit_code: null });
  });

  it('[TL-1] tell their exit code when they have ended', async () => {
    const { background, output, kill } = setup();
    const job = await background('echo x; exit 4');
    await expect.poll(async () => (await output(job)).running).toBe(false);
    expect(await output(job)).toEqual({
      success: true,
      stdout: 'x\n',
      stderr: '',
      running: false,
      exit_code: 4,
    });
    expect(await kill(job)).toEqual({ success: true, exit_code: 4 });
  });

  it('[TL-1] belong to their session', async () => {
    const { background, output, kill } = setup();
    const job = await background('sleep 60');
    const other = { sessionId: 'session-2' };
    await expect(output(job, other)).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    await expect(kill(job, other)).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    await expect(output('job_none')).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    expect(await output(job)).toMatchObject({ running: true });
  });

  it('[TL-3] keep head and tail of what they print', async () => {
    const { background, output } = setup({ limits: { outputStreamBytes: 1_000 } });
    const job = await background('seq 1 5000');
    await expect.poll(async () => (await output(job)).running).toBe(false);
    const { stdout, truncated } = await output(job);
    expect(truncated).toBe(true);
    expect(stdout).toMatch(/^1\n2\n.*bytes of output were cut here.*4999\n5000\n$/s);
  });

  it('are limited for each session, and old ones are forgotten', async () => {
    const { background, kill, output } = setup();
    const jobs = await Promise.all(Array.from({ length: maxRunningJobs }, () => background('sleep 60')));
    await expect(background('true')).rejects.toMatchObject({ code: 'EXECUTION_FAILED' });
    expect(await background('true', { sessionId: 'session-2' })).toMatch(/^job_/);
    await Promise.all(jobs.map((job) => kill(job)));
    const first = jobs[0] ?? '';
    for (let i = 0; i < 32; i += 1) {
      const job = await background('true');
      await expect.poll(async () => (await output(job)).running, { interval: 5 }).toBe(false);
    }
    await expect(output(first)).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
  });

  it('of old sessions are forgotten, so that their output does not pile up', async () => {
    const { background, output } = setup();
    const sessions = Array.from({ length: 66 }, (_, i) => ({ sessionId: `session-${i}` }));
    const jobs: string[] = [];
    for (const session of sessions) {
      const job = await background('true', session);
      await expect.poll(async () => (await output(job, session)).running, { interval: 5 }).toBe(false);
      jobs.push(job);
    }
    const isKnown = (i: number) =>
      output(jobs[i] ?? '', sessions[i]).then(
        () => true,
        () => false,
      );
    expect([await isKnown(0), await isKnown(1), await isKnown(2), await isKnown(65)]).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });

  it('end when the runner does, and leave nothing', async () => {
    const { background, executor, fixture } = setup();
    const abort = new AbortController();
    await background('trap "" TERM; setsid sleep 60 & while :; do sleep 1; done', { signal: abort.signal });
    abort.abort();
    await executor.dispose();
    expect(readdirSync(fixture.root)).toEqual([]);
    await executor.dispose();
    await expect(background('true', { signal: abort.signal })).rejects.toMatchObject({
      code: 'EXECUTION_CANCELLED',
    });
  });

  it('[VA-3] tell what they had planted', async () => {
    const { background, output, fixture } = setup();
    const job = await background('echo evil > .envrc');
    await expect.poll(async () => (await output(job)).running).toBe(false);
    expect((await output(job)).stderr).toContain('".envrc" would execute later');
    expect(fixture.has('.envrc')).toBe(false);
  });
});

describe.skipIf(cannotIsolate)('[RN-5] the place of a conversation', () => {
  it('is shared by its commands and jobs; what runs unasked does not enter, nor does another conversation', async () => {
    const { exec, background, output, fixture } = setup();
    const job = await background(
      'echo note > /tmp/note; python3 -um http.server --bind 127.0.0.1 3000 --directory /tmp',
    );
    await expect.poll(async () => (await output(job)).stdout).toContain('Serving');
    const look = 'cat /tmp/note; curl -s --max-time 5 localhost:3000/note';
    expect((await exec(look)).stdout).toBe('note\nnote\n');
    expect((await exec(look, {}, { network: true })).stdout).toBe('note\nnote\n');
    expect((await exec(look, {}, { riskLevel: 'LOW' })).stdout).toBe('');
    expect((await exec(look, {}, { sessionId: 'session-2' })).stdout).toBe('');
    // A command that runs without approval can leave nothing there: no link, no writer of a pipe, no listener.
    fixture.write('target', 'as it was');
    const reader = await background('mkfifo /tmp/pipe; echo up; cat /tmp/pipe > piped');
    await expect.poll(async () => (await output(reader)).stdout).toBe('up\n');
    await exec(
      `ln -s $PWD/target /tmp/planted; echo evil > /tmp/pipe; echo x > /tmp/x`,
      {},
      { riskLevel: 'LOW' },
    );
    expect((await exec('ls /tmp; echo built > /tmp/planted; cat target')).stdout).toMatch(
      /^(countersign-isolation-\w+\n)?home\nnote\npipe\nas it was$/,
    );
    expect(readFileSync(join(fixture.root, 'piped'), 'utf8')).toBe('');
  });

  it('ends with the conversation, its jobs too', async () => {
    const { exec, background, output, executor } = setup();
    const job = await background('echo note > /tmp/note; sleep 60');
    await expect.poll(async () => (await exec('cat /tmp/note 2>/dev/null')).stdout).toBe('note\n');
    await executor.endConversation('session-1');
    await expect(output(job)).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
    expect((await exec('ls /tmp')).stdout).not.toContain('note');
  });
});

describe.skipIf(cannotIsolate)('[RN-5] the network of a command', () => {
  const fetching = (url: string) =>
    `node -e 'fetch("${url}").then((r) => console.log("status", r.status), (e) => console.log("failed", e.cause?.message ?? e.message))'`;

  it('the result names each host that was refused, and how to ask for it', async () => {
    const { exec } = setup();
    const { stdout, stderr } = await exec(
      `${fetching('http://other.invalid/')}; ${fetching('https://secure.invalid:8443/')}`,
      {},
      { network: ['named.invalid'] },
    );
    expect(stdout).not.toContain('status 200');
    expect(stderr).toContain(
      '[Countersign: it wanted to reach other.invalid, secure.invalid:8443, which its card did not name. To ask for that, call again with network: ["other.invalid","secure.invalid:8443"]',
    );
  });

  it('a command that failed for want of network says so; others do not', async () => {
    const { exec } = setup();
    const failing = 'curl -sS https://api.example.org/ || exit 6';
    expect((await exec(failing)).stderr).toMatch(
      /this command had no network\. If it needs some, call again with network: \["api\.example\.org"\]/,
    );
    expect((await exec('exit 6')).stderr).toBe('');
    expect((await exec('echo ENOTFOUND a.example')).stderr).toBe('');
  });

  it('[AP-9] the key of the gate does not stand in output, result or progress, and is of no use to another command', async () => {
    const { exec, background, output, kill, progress } = setup();
    const job = await background('env | grep http_proxy; sleep 60', { network: ['named.invalid'] });
    await expect.poll(async () => (await output(job)).stdout).toContain('***@127.0.0.1');
    const line = `env | grep _proxy; sleep 0.3; python3 -c 'import os, base64, re; print(base64.b64encode(re.search("//(.*)@", os.environ["http_proxy"])[1].encode()).decode())'`;
    const { stdout } = await exec(line, {}, { network: true });
    expect(stdout).toContain('http_proxy=http://countersign:***@127.0.0.1:');
    const told = [stdout, (await output(job)).stdout, JSON.stringify(progress)].join();
    expect(told).not.toMatch(/[0-9a-f]{48}/);
    expect(told).not.toContain(Buffer.from('countersign:').toString('base64').slice(0, -2));
    // Another command of the conversation finds the port on the shared loopback, but does not have the key.
    const port = /127\.0\.0\.1:(\d+)/.exec(String((await output(job)).stdout))?.[1];
    const talk = `exec 3<>/dev/tcp/127.0.0.1/${port} && printf 'CONNECT named.invalid:443 HTTP/1.1\r\n\r\n' >&3 && head -1 <&3`;
    expect((await exec(talk)).stdout).toBe('HTTP/1.1 407 Refused\r\n');
    await kill(job);
  });
});
