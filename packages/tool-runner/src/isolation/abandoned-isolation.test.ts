import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi, RecordedLogger } from '../handler-fixture.test-data.ts';
import { ToolHandler } from '../tool-handler.ts';
import { tryOr } from '../try-or.ts';
import { clearAbandonedIsolation } from './abandoned-isolation.ts';
import { cannotIsolate, IsolationFixture, mayWrite } from './isolation-fixture.test-data.ts';
import { probeIsolation } from './isolation-probe.ts';
import { descendants } from './started-process.ts';

/** The name that the kernel shows for a process; empty once it has ended. */
const programOf = (pid: number): string => tryOr(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), '');

describe.skipIf(cannotIsolate)('clearAbandonedIsolation', () => {
  let fixture: IsolationFixture;
  beforeEach(() => {
    fixture = new IsolationFixture();
  });
  afterEach(() => fixture.remove());

  /** A runner that is killed when its command has begun. */
  async function killedRunner(line = 'true'): Promise<void> {
    const starter = JSON.stringify(import.meta.resolve('./process-starter.ts'));
    const request = {
      program: 'bash',
      args: ['-c', `${line}; echo up; sleep 60`],
      cwd: '',
      confinement: mayWrite,
      stdin: 'ignore',
    };
    const script = `
      import { IsolatingStarter } from ${starter};
      const starter = new IsolatingStarter(${JSON.stringify(fixture.workspace)});
      const child = starter.start(${JSON.stringify(request)});
      child.stdout.once('data', () => console.log('up'));`;
    const runner = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(runner.stdout, 'data');
    runner.kill('SIGKILL');
    await once(runner, 'exit');
  }

  it('[RN-5] removes the stand-ins of a killed runner', async () => {
    await killedRunner();
    expect(fixture.has('.vscode')).toBe(true);
    clearAbandonedIsolation(fixture.workspace);
    expect([fixture.has('.vscode'), fixture.has('.github')]).toEqual([false, false]);
  });

  it('[RN-5] ends a bubblewrap that lost its runner, and no other', async () => {
    const orphan = (folder: string) => {
      mkdirSync(join(folder, 'isolation/etc'), { recursive: true });
      const mount = ['--ro-bind', join(folder, 'isolation/etc'), '/etc'];
      const args = ['--unshare-user', '--unshare-pid', '--ro-bind', '/', '/', ...mount, 'sleep', '60'];
      const probe = probeIsolation();
      return spawn('tools' in probe ? probe.tools.bubblewrap : '', args, { stdio: 'ignore' });
    };
    const ours = orphan(fixture.workspace.stateFolder);
    const another = orphan(join(fixture.parent, 'state-of-another'));
    // The second descendant is one more bubblewrap until it has become the command.
    const commandsBelow = ({ pid = 0 }) => descendants(pid).map(programOf);
    await expect.poll(() => [ours, another].map(commandsBelow)).toEqual(Array(2).fill(['bwrap', 'sleep']));
    const below = descendants(ours.pid ?? 0);
    expect(clearAbandonedIsolation(fixture.workspace).ended).toBe(2);
    await once(ours, 'exit');
    expect(ours.signalCode).toBe('SIGKILL');
    await expect.poll(() => below.filter((pid) => descendants(1).includes(pid))).toEqual([]);
    expect([another.exitCode, another.signalCode]).toEqual([null, null]);
    another.kill('SIGKILL');
    await once(another, 'exit');
  });

  it('[VA-3] sets aside what its commands had planted, and nothing else', async () => {
    fixture.write('.envrc', 'mine');
    await killedRunner(
      'echo evil > .bashrc; mkdir -p sub/.vscode; echo evil > sub/.vscode/tasks.json; echo ok > made',
    );
    const { planted } = clearAbandonedIsolation(fixture.workspace);
    expect(planted.setAside.map(({ path }) => path).sort()).toEqual(['.bashrc', 'sub/.vscode']);
    expect(readFileSync(planted.setAside.find(({ path }) => path === '.bashrc')?.keptIn ?? '', 'utf8')).toBe(
      'evil\n',
    );
    expect(readdirSync(fixture.root).sort()).toEqual(['.envrc', 'made', 'sub']);
    expect(clearAbandonedIsolation(fixture.workspace)).toEqual({ ended: 0, planted: { setAside: [] } });
  });

  it('[VA-3] the next runner tells the person of it', async () => {
    await killedRunner('echo evil > .bashrc');
    const logger = new RecordedLogger();
    const handler = new ToolHandler(new RecordedApi(), undefined, logger, {
      workspace: fixture.workspace,
      configFolder: fixture.home,
    });
    await handler.dispose();
    expect(logger.lines).toContainEqual({
      level: 'error',
      message: 'Planted file set aside: .bashrc, left by a runner that was killed',
      details: { keptIn: expect.stringMatching(/set-aside\/.*\/\.bashrc$/) },
    });
  });

  it('[VA-3] the first command of the next runner does the same', async () => {
    await killedRunner('echo evil > .bashrc');
    await fixture.bash('true', mayWrite);
    expect(readdirSync(fixture.root)).toEqual([]);
  });

  it('[RN-6] removes what git was shown', () => {
    for (const name of ['git-Ab3xYz/0123', 'github', 'journal'])
      mkdirSync(join(fixture.workspace.stateFolder, name), { recursive: true });
    clearAbandonedIsolation(fixture.workspace);
    expect(readdirSync(fixture.workspace.stateFolder).sort()).toEqual(['github', 'journal']);
  });

  it('leaves alone what the person has put into a stand-in', async () => {
    await killedRunner();
    writeFileSync(join(fixture.root, '.vscode/settings.json'), '{}');
    clearAbandonedIsolation(fixture.workspace);
    expect([fixture.has('.vscode/settings.json'), fixture.has('.idea')]).toEqual([true, false]);
  });
});

it('has nothing to do where no runner was', () => {
  const workspace = { root: '/nowhere', stateFolder: '/nowhere/state' } as IsolationFixture['workspace'];
  expect(clearAbandonedIsolation(workspace)).toEqual({ ended: 0, planted: { setAside: [] } });
});
