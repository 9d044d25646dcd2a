import { appendFileSync, linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuiltInToolCall, findTool } from '@countersign/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { BuiltInTools } from '../built-in-tools.ts';
import type { CallContext, Progress, ToolResult } from '../executor.ts';
import { cannotIsolate, IsolationFixture } from '../isolation/isolation-fixture.test-data.ts';
import { longTime, timeIsOverOnce } from './time-over.test-data.ts';

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function setup(options: ConstructorParameters<typeof IsolationFixture>[0] = {}) {
  const fixture = new IsolationFixture({ killDelayMs: 300, ...options });
  const executor = new BuiltInTools({
    command: { workspace: fixture.workspace, starter: fixture.starter },
  });
  const progress: Progress[] = [];
  const abort = new AbortController();
  cleanUps.push(
    () => fixture.remove(),
    () => executor.dispose(),
  );
  const context = (more: Partial<CallContext> = {}): CallContext => ({
    toolId: 'tool-1',
    attempt: 1,
    sessionId: 'session-1',
    riskLevel: 'MEDIUM',
    network: false,
    signal: abort.signal,
    onProgress: (told) => progress.push(told),
    changes: { begin: () => {} },
    ...more,
  });
  const execute = async (
    command: string,
    args: string[],
    { timeout = 200, ...more }: Partial<CallContext> & { timeout?: number } = {},
  ): Promise<ToolResult> => {
    const call: BuiltInToolCall = { tool: 'execute_command', params: { command, args, timeout } };
    const result = await executor.execute(call, context(more));
    expect(findTool('execute_command')?.result.parse(result)).toEqual(result);
    return result;
  };
  /** A script in the workspace, since execute_command has no shell. */
  const script = (source: string): string => {
    writeFileSync(join(fixture.root, 'script.py'), source);
    return 'script.py';
  };
  return { fixture, executor, execute, progress, abort, script };
}

/** Processes of this machine whose command line contains the mark. */
function processesWith(mark: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        Number(pid) !== process.pid &&
        readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark)
      );
    } catch {
      return false;
    }
  });
}

const mark = (): string => `mark-${process.pid}-${Math.random().toString(36).slice(2)}`;

describe.skipIf(cannotIsolate)('CommandExecutor', () => {
  it('[RN-4] answers with output, exit code and duration', async () => {
    const { execute, fixture } = setup();
    fixture.write('a.txt', 'hello\n');
    const result = await execute('cat', ['a.txt'], { riskLevel: 'LOW' });
    expect(result).toEqual({
      success: true,
      stdout: 'hello\n',
      stderr: '',
      exit_code: 0,
      execution_time: expect.any(Number),
    });
    expect(result.execution_time).toBeGreaterThan(0);
  });

  it('[RN-4] uses no shell: nothing in an argument is expanded', async () => {
    const { execute } = setup();
    expect(await execute('echo', ['$HOME', '*', '`id`', '; id'])).toMatchObject({
      stdout: '$HOME * `id` ; id\n',
    });
  });

  it('[TL-2] has the exit code and no error where a program ended by itself (founding documents: tools-specification)', async () => {
    const { execute } = setup();
    expect(await execute('ls', ['nothing-here'])).toEqual({
      success: false,
      stdout: '',
      stderr: expect.stringContaining('nothing-here'),
      exit_code: 2,
      execution_time: expect.any(Number),
    });
  });

  it('[TL-2] has no exit code for a program that a signal ended', async () => {
    const { execute, script } = setup();
    const result = await execute('python3', [
      script('import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n'),
    ]);
    expect(result).toMatchObject({ success: false, exit_code: null, code: 'COMMAND_FAILED' });
    expect(result.error).toContain('SIGSEGV');
  });

  it('[VA-4] finds programs on the fixed PATH only', async () => {
    const { execute, fixture } = setup({ environment: { PATH: '/nowhere' } });
    fixture.write('cat', '#!/bin/sh\necho planted\n');
    expect(await execute('echo', ['real'])).toMatchObject({ stdout: 'real\n' });
    for (const program of ['./cat', 'no-such-program-at-all', '', '../cat', join(fixture.root, 'cat')])
      await expect(execute(program, [])).rejects.toMatchObject({ code: 'PROGRAM_NOT_FOUND' });
  });

  it('[RN-4] gives it an empty standard input', async () => {
    const { execute } = setup();
    expect(await execute('cat', [])).toMatchObject({ success: true, stdout: '' });
  });

  it('[EX-8] stops a command at its timeout, and returns its output so far', async () => {
    const { execute, script, fixture } = setup({ killDelayMs: 3_600_000 }); // longer than this test may take
    const source = `import time
print("begun", flush=True)
open("ready", "w").close()
time.sleep(600)
`;
    timeIsOverOnce(() => fixture.has('ready'));
    const result = await execute('python3', [script(source)], { timeout: longTime });
    expect(result).toMatchObject({
      success: false,
      code: 'COMMAND_TIMEOUT',
      stdout: 'begun\n',
      exit_code: null,
    });
  });

  it('[EX-8] asks with SIGTERM first, so that a program can clean up', async () => {
    const { execute, script, fixture } = setup({ killDelayMs: 3_600_000 });
    const source = `import signal, sys, time
def end(*_):
  open("cleaned", "w").close()
  sys.exit(0)
signal.signal(signal.SIGTERM, end)
open("ready", "w").close()
time.sleep(600)
`;
    timeIsOverOnce(() => fixture.has('ready'));
    expect(await execute('python3', [script(source)], { timeout: longTime })).toMatchObject({
      code: 'COMMAND_TIMEOUT',
    });
    expect(fixture.has('cleaned')).toBe(true);
  });

  it('[EX-8] kills what ignores SIGTERM, with all that it started', async () => {
    const { execute, script, fixture } = setup();
    const sign = mark();
    const source = `import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "${sign}"])
if os.fork() == 0:
  os.setsid()
  if os.fork() == 0:
    os.execvp("python3", ["python3", "-c", "import time; time.sleep(600)", "${sign}"])
  os._exit(0)
print("begun", flush=True)
open("ready", "w").close()
time.sleep(600)
`;
    timeIsOverOnce(() => fixture.has('ready'));
    const result = await execute('python3', [script(source)], { timeout: longTime });
    expect(result).toMatchObject({ code: 'COMMAND_TIMEOUT', stdout: 'begun\n' });
    expect(result.execution_time).toBeGreaterThan(0.25); // SIGKILL comes 0.3 s after SIGTERM
    expect(processesWith(sign)).toEqual([]);
  });

  it('[RN-4] ends when its program ends, with all remaining processes', async () => {
    const { execute, script } = setup();
    const sign = mark();
    const source = `import os, sys
if os.fork() == 0:
  os.setsid()
  if os.fork() == 0:
    os.execvp("python3", ["python3", "-c", "import time; time.sleep(3600)", "${sign}"])
  os._exit(0)
os.wait()
print("done")
`;
    const result = await execute('python3', [script(source)]);
    expect(result).toMatchObject({ success: true, stdout: 'done\n' });
    expect(processesWith(sign)).toEqual([]);
  });

  it('[EX-8] ends a cancelled call', async () => {
    const { execute, abort, script, progress } = setup();
    const sign = mark();
    const running = execute('python3', [
      script('import time\nprint("x", flush=True)\ntime.sleep(60)\n'),
      sign,
    ]);
    await expect.poll(() => progress.length).toBeGreaterThan(0);
    abort.abort();
    await expect(running).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' });
    expect(processesWith(sign)).toEqual([]);
    await expect(execute('echo', [])).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' });
  });

  it('[EX-8] ends a call that is cancelled while isolation is being set up', async () => {
    const { execute, abort } = setup({ killDelayMs: 3_600_000 }); // longer than this test may take
    const running = execute('python3', ['-c', 'import time; time.sleep(600)']);
    abort.abort();
    await expect(running).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' });
  });

  it('leaves nothing behind when it is disposed of', async () => {
    const { execute, executor, script, progress } = setup();
    const sign = mark();
    const running = execute('python3', [
      script('import time\nprint("x", flush=True)\ntime.sleep(60)\n'),
      sign,
    ]);
    const outcome = expect(running).rejects.toMatchObject({ code: 'EXECUTION_CANCELLED' });
    await expect.poll(() => progress.length).toBeGreaterThan(0);
    await executor.dispose();
    await outcome;
    expect(processesWith(sign)).toEqual([]);
    await executor.dispose();
  });

  it('[TL-3] keeps head and tail of a flood, within bounds', async () => {
    const { execute, script } = setup({ limits: { outputStreamBytes: 10_000 } });
    const source = 'import sys\nfor i in range(20000): print(f"line {i}")\n';
    const { stdout, truncated } = (await execute('python3', [script(source)])) as unknown as {
      stdout: string;
      truncated: boolean;
    };
    expect(truncated).toBe(true);
    expect(stdout.startsWith('line 0\nline 1\n')).toBe(true);
    expect(stdout.endsWith('line 19999\n')).toBe(true);
    const cut = Number(/\[(\d+) bytes of output were cut here\]/.exec(stdout)?.[1]);
    const all = Array.from({ length: 20_000 }, (_, i) => `line ${i}\n`).join('').length;
    expect(all - cut).toBe(10_000);
  });

  it('[RN-4] bounds a program that never stops printing', async () => {
    const { execute, progress } = setup();
    const before = process.memoryUsage().rss;
    timeIsOverOnce(() => progress.length >= 10);
    const result = (await execute('yes', [], { timeout: longTime })) as unknown as { stdout: string };
    expect(result).toMatchObject({ code: 'COMMAND_TIMEOUT', truncated: true });
    expect(result.stdout.length).toBeLessThan(1024 * 1024 + 100);
    expect(process.memoryUsage().rss - before).toBeLessThan(500e6);
    expect(progress.length).toBeGreaterThan(0);
    expect(progress.length).toBeLessThan(30);
    for (const { output } of progress)
      expect(Buffer.byteLength(output?.chunk ?? '')).toBeLessThanOrEqual(32 * 1024);
  });

  it('[RN-4] streams output as it comes, no character split', async () => {
    const { execute, script, progress } = setup();
    const source = `import sys, time
for byte in "я€😀!".encode():
  sys.stdout.buffer.write(bytes([byte]))
  sys.stdout.flush()
  time.sleep(0.06)
print("problem", file=sys.stderr, flush=True)
`;
    const result = await execute('python3', [script(source)]);
    expect(result).toMatchObject({ stdout: 'я€😀!', stderr: 'problem\n' });
    const chunks = (stream: string) =>
      progress.flatMap(({ output }) => (output?.stream === stream ? [output.chunk] : []));
    expect(chunks('stdout').length).toBeGreaterThan(1);
    expect(chunks('stdout').join('')).toBe('я€😀!');
    expect(chunks('stderr').join('')).toBe('problem\n');
  });

  it('[RN-4] shows half a character at the very end as what it is', async () => {
    const { execute, script } = setup();
    const result = await execute('python3', [
      script('import sys\nsys.stdout.buffer.write(b"ab\\xe2\\x82")\n'),
    ]);
    expect(result).toMatchObject({ success: true, stdout: 'ab\ufffd' });
  });

  it('[RN-4] waits for a program that has closed its output', async () => {
    const { execute, script, fixture } = setup();
    const source = 'import os, time\nos.close(1)\nos.close(2)\ntime.sleep(0.3)\nopen("late", "w").close()\n';
    expect(await execute('python3', [script(source)])).toMatchObject({ success: true, stdout: '' });
    expect(fixture.has('late')).toBe(true);
  });

  it('[RN-5] lets a LOW command look, and others write', async () => {
    const { execute, fixture } = setup();
    fixture.write('.env', 'SECRET=1\n');
    const touch = ['-c', 'open("made", "w")'];
    expect(await execute('python3', touch, { riskLevel: 'LOW' })).toMatchObject({ success: false });
    expect(fixture.has('made')).toBe(false);
    expect(await execute('grep', ['-r', 'SECRET', '.'], { riskLevel: 'LOW' })).toMatchObject({
      exit_code: 1,
      stdout: '',
    });
    expect(await execute('python3', touch)).toMatchObject({ success: true });
    expect(fixture.has('made')).toBe(true);
    expect(await execute('cat', ['.env'])).toMatchObject({ stdout: 'SECRET=1\n' });
  });

  it('[VA-1] hides a file that also has a name outside from a LOW command, which may read any file', async () => {
    const { fixture, execute } = setup();
    writeFileSync(join(fixture.parent, 'outside.txt'), 'needle outside');
    linkSync(join(fixture.parent, 'outside.txt'), join(fixture.root, 'notes.txt'));
    fixture.write('own.txt', 'needle inside');
    linkSync(join(fixture.root, 'own.txt'), join(fixture.root, 'same.txt'));
    const { stdout } = await execute('grep', ['-rh', 'needle', '.'], { riskLevel: 'LOW' });
    expect(stdout).toBe('needle inside\nneedle inside\n');
    const approved = await execute('grep', ['-h', 'needle', 'notes.txt'], { riskLevel: 'MEDIUM' });
    expect(approved.stdout).toBe('needle outside\n');
  });

  it('[VA-3] reports what a command planted and what was set aside', async () => {
    const { execute, fixture } = setup();
    const result = await execute('python3', ['-c', 'open(".envrc", "w").write("evil")']);
    expect(result.stderr).toContain('".envrc" would execute later; it was set aside');
    expect(fixture.has('.envrc')).toBe(false);
  });

  it.each([
    ['apply', ['apply', 'notes.txt'], 'notes.txt', ''],
    ['am', ['am', 'mail.txt'], 'mail.txt', 'From: a <a@x>\nSubject: [PATCH] x\n\n---\n'],
  ])(
    '[VA-3] git %s: what a patch plants comes from no history, and is set aside',
    async (_, args, name, head) => {
      const { execute, fixture } = setup();
      fixture.makeRepository();
      appendFileSync(join(fixture.root, '.git/config'), '[user]\nname = a\nemail = a@example.test\n');
      const file = (path: string): string =>
        `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+evil\n`;
      fixture.write(name, `${head}${file('.envrc')}${file('sub/.vscode/tasks.json')}${file('a.txt')}`);
      const result = await execute('git', args, { riskLevel: 'MEDIUM' });
      expect(result).toMatchObject({ success: true, exit_code: 0 });
      expect(['a.txt', '.envrc', 'sub/.vscode/tasks.json'].map((path) => fixture.has(path))).toEqual([
        true,
        false,
        false,
      ]);
      expect(result.stderr).toContain('".envrc" would execute later; it was set aside');
    },
  );

  it('[RN-5] without isolation nothing runs unless the operator decided so', async () => {
    const refusing = setup({ bubblewrap: '/no/such/bwrap' });
    await expect(refusing.execute('echo', ['hi'])).rejects.toMatchObject({ code: 'ISOLATION_UNAVAILABLE' });
    const { execute, script, fixture } = setup({ bubblewrap: '/no/such/bwrap', allowUnisolated: true });
    expect(await execute('echo', ['hi'])).toMatchObject({ success: true, stdout: 'hi\n' });
    const sign = mark();
    const source = `import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "${sign}"])
open("ready", "w").close()
time.sleep(600)
`;
    timeIsOverOnce(() => fixture.has('ready'));
    expect(await execute('python3', [script(source)], { timeout: longTime })).toMatchObject({
      code: 'COMMAND_TIMEOUT',
    });
    await expect.poll(() => processesWith(sign)).toEqual([]);
  });

  it('reports isolation that fails only when it is needed', async () => {
    const { fixture: folder } = setup();
    const wrapper = join(folder.parent, 'bwrap');
    const source =
      '#!/bin/sh\ncase "$*" in *json-status*) echo "bwrap: out of luck" >&2; exit 1;; esac\nexec bwrap "$@"\n';
    writeFileSync(wrapper, source.replace('exec bwrap', 'PATH=/usr/local/bin:/usr/bin:/bin exec bwrap'), {
      mode: 0o755,
    });
    const { execute, fixture } = setup({ bubblewrap: wrapper });
    expect(fixture.starter.isIsolated).toBe(true);
    await expect(execute('echo', [])).rejects.toMatchObject({
      code: 'SPAWN_FAILED',
      message: 'echo could not be started: bwrap: out of luck. Try again.',
    });
    rmSync(wrapper);
    await expect(execute('echo', [])).rejects.toMatchObject({ code: 'SPAWN_FAILED' });
    expect(readdirSync(fixture.root)).toEqual([]);
  });

  it('reports a program that could not be started', async () => {
    const { execute } = setup();
    await expect(execute('echo', ['x\0y'])).rejects.toMatchObject({ code: 'SPAWN_FAILED' });
    const tooLong = Array.from({ length: 40 }, () => 'x'.repeat(100_000));
    await expect(execute('echo', tooLong)).rejects.toMatchObject({ code: 'SPAWN_FAILED' });
  });
});
