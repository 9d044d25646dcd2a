import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultLimits } from '@countersign/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../handler-fixture.test-data.ts';
import { cannotIsolate } from '../isolation/isolation-fixture.test-data.ts';
import { Journal } from '../journal/journal.ts';
import { ToolHandler } from '../tool-handler.ts';
import type { Workspace } from '../workspace.ts';
import { landTried, undoHere } from './ask-here.ts';
import { defaultTrialLimits, removeAbandonedTries, Trial, type TrialLimits } from './trial.ts';

let folder: string;
let workspace: Workspace;
let configFolder: string;
let place: { workspace: Workspace; configFolder: string; program: string };
const opened: { dispose(): Promise<void> }[] = [];

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-trial-')));
  configFolder = join(folder, 'config');
  const [root, stateFolder] = [join(folder, 'workspace'), join(folder, 'state')];
  for (const path of [root, configFolder]) mkdirSync(path);
  workspace = { root, stateFolder, limits: defaultLimits, home: folder, addedEnvironment: [] };
  place = { workspace, configFolder, program: 'a test' };
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.dispose();
  rmSync(folder, { recursive: true, force: true });
});

const at = (path: string): string => join(workspace.root, path);
const write = (path: string, text = `${path}\n`): void => writeFileSync(at(path), text);
const read = (path: string): string => readFileSync(at(path), 'utf8');
const generous: TrialLimits = { ...defaultTrialLimits, seconds: 300 };

/** Runs a command to its end and returns what it printed too. `stop` stops it when it prints something. */
async function tried(
  command: string | readonly [string, ...string[]],
  limits: Partial<TrialLimits> = {},
  stop?: AbortController,
) {
  const trial = new Trial(place);
  opened.push(trial);
  let output = '';
  const words: readonly [string, ...string[]] = typeof command === 'string' ? [command] : command;
  const onOutput = async (_: string, chunk: Buffer) => {
    output += chunk;
    stop?.abort();
  };
  const { signal } = stop ?? new AbortController();
  const run = await trial.run(words, { ...generous, ...limits }, { signal, onOutput });
  return { trial, run, output };
}

/** Tries a command and lands all that may land. */
async function landed(command: string) {
  const { trial } = await tried(command);
  const { effects } = await trial.effects();
  const { id: layerId, upper } = trial.layer;
  return landTried(place, { command, exitCode: 0, layerId, upper, effects });
}

describe.skipIf(cannotIsolate)('[RN-13] a command that is tried', () => {
  it('changes nothing, and its effects are read: deletions first, with their diffs', async () => {
    write('a.txt', 'one\ntwo\n');
    write('old.txt');
    mkdirSync(at('build'));
    write('build/x');
    const { trial, run, output } = await tried(
      'sed -i s/two/TWO/ a.txt; rm -r old.txt build; echo new > new.txt; ln -s a.txt link; chmod 750 a.txt; echo said; exit 3',
    );
    expect([run.ending, output]).toEqual([{ kind: 'ended', exitCode: 3 }, 'said\n']);
    const { effects, withheld, conflicts } = await trial.effects();
    expect(effects.map(({ change, path }) => `${change} ${path}`)).toEqual([
      'deleted build',
      'deleted build/x',
      'deleted old.txt',
      'modified a.txt',
      'created link',
      'created new.txt',
    ]);
    expect([withheld, conflicts]).toEqual([[], []]);
    const diffs = trial.diffs();
    const byPath = new Map(effects.map((effect) => [effect.path, diffs.of(effect)]));
    expect(byPath.get('a.txt')).toBe(
      'old mode 100644\nnew mode 100750\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n',
    );
    expect(byPath.get('old.txt')).toContain('-old.txt\n');
    expect(byPath.get('link')).toContain('new file mode 120000');
    expect(byPath.get('build')).toBeUndefined();
    expect([read('a.txt'), existsSync(at('build/x')), existsSync(at('new.txt'))]).toEqual([
      'one\ntwo\n',
      true,
      false,
    ]);
  });

  it('takes one text for a shell line, and several for a program and its arguments', async () => {
    expect((await tried('echo $((1 + 1)); echo "a b"')).output).toBe('2\na b\n');
    expect((await tried(['printf', '<%s>', 'a b', '$x', ';'])).output).toBe('<a b><$x><;>');
    write('own.sh', '#!/bin/bash\necho own "$1"\n');
    execFileSync('chmod', ['+x', at('own.sh')]);
    expect((await tried(['./own.sh', 'x'])).output).toBe('own x\n');
    const { run } = await tried(['no-such-program']);
    expect(run.ending).toEqual({ kind: 'ended', exitCode: 127 });
  });

  it('has no network, says which hosts it asked for, and sees no secret, state or other process', async () => {
    const server = createServer((socket) => socket.end('reached'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    write('.env', 'TOKEN=secret-of-env\n');
    mkdirSync(workspace.stateFolder);
    writeFileSync(join(workspace.stateFolder, 'kept'), 'secret-of-state');
    const { run, output } = await tried(
      `cat .env ${workspace.stateFolder}/kept; exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3; ls /proc | grep -c ^${process.pid}$;
       curl -s -m 20 http://example.invalid/ -o out; true`,
    );
    server.close();
    expect(run.ending).toEqual({ kind: 'ended', exitCode: 0 });
    expect(output).not.toMatch(/secret-of|reached/);
    expect(output).toMatch(/^0$/m);
    expect(run.hosts).toEqual(['example.invalid']);
  });

  it('cannot change a secret, nor plant what executes later; git may commit', async () => {
    const git = (...args: string[]) => execFileSync('git', ['-C', workspace.root, ...args]);
    git('init', '-q', '-b', 'main');
    write('.env', 'TOKEN=1\n');
    write('a.txt');
    const { trial } = await tried(
      `rm -f .env; echo x > .env; echo evil > .git/hooks/pre-commit; git config core.pager evil; mkdir .husky; echo evil > .husky/x;
       git -c user.name=n -c user.email=a@b.c add a.txt; git -c user.name=n -c user.email=a@b.c commit -qm one`,
    );
    const { effects, withheld } = await trial.effects();
    expect(effects.map(({ path }) => path).filter((path) => !path.startsWith('.git/'))).toEqual([]);
    expect(effects.map(({ path }) => path)).toContain('.git/refs/heads/main');
    expect(withheld.map(({ path }) => path)).toEqual([
      '.git/config',
      '.git/hooks/pre-commit',
      '.husky',
      '.husky/x',
    ]);
    const kept = trial.setAside(withheld);
    expect(readFileSync(join(kept ?? '', '.husky/x'), 'utf8')).toBe('evil\n');
  });

  it.each([
    ['seconds', { seconds: 1 }, 'echo x > made; sleep 600'],
    ['files', { files: 50 }, 'i=0; while :; do echo > "f$((i++))"; done'],
    ['files', { files: 50 }, 'for i in $(seq 60); do echo > f$i; done'],
    ['bytes', { bytes: 1024 * 1024 }, 'for i in $(seq 9); do truncate -s 500K "f$i"; done; sleep 600'],
  ] as const)('is stopped at its limit: %s %o', async (limit, limits, line) => {
    const { trial, run } = await tried(line, limits);
    expect(run.ending).toEqual({ kind: 'limit', limit });
    // Within its second it may not have begun to write.
    expect(await trial.countChanges()).toBeGreaterThan(limit === 'seconds' ? -1 : 0);
  });

  it('cannot write one file over the limit of all, however full of holes', async () => {
    const bytes = 1024 * 1024;
    const { trial, run, output } = await tried('truncate -s 1T huge || echo refused', { bytes });
    expect([run.ending, output]).toEqual([
      { kind: 'ended', exitCode: 0 },
      expect.stringContaining('refused'),
    ]);
    const { effects } = await trial.effects();
    expect(effects.filter(({ after }) => (after?.size ?? 0) > bytes)).toEqual([]);
  });

  it('is stopped when the person stops it, and killed as it is killed', async () => {
    const stop = new AbortController();
    const { run } = await tried('trap "" TERM; echo x > made; echo ready; sleep 600', {}, stop);
    expect(run.ending).toEqual({ kind: 'cancelled' });
    expect((await tried('kill -9 $$')).run.ending).toEqual({ kind: 'killed', signal: 'SIGKILL' });
  });

  it('shows no diff of a binary or large file, nor of more than anybody reads', async () => {
    const { trial } = await tried(
      `head -c 1000 /dev/urandom > b; head -c 3000000 /dev/zero | tr '\\0' x > large; seq 20000 > lines; mkdir many; for i in $(seq 2100); do echo $i > many/$i; done`,
    );
    const { effects } = await trial.effects();
    const diffs = trial.diffs();
    const told = effects.map((effect) => [effect.path, diffs.of(effect)] as const);
    const of = (path: string) => told.find(([name]) => name === path)?.[1];
    expect([of('b'), of('large')]).toEqual([undefined, undefined]);
    expect(of('lines')).toMatch(/not shown\n$/);
    expect((of('lines') ?? '').length).toBeLessThan(70_000);
    // The binary file was read for one of the 2,000.
    expect(told.filter(([, diff]) => diff !== undefined)).toHaveLength(1_999);
  });

  it('says why a machine without layers cannot try', () => {
    const odd = join(folder, 'a:b');
    mkdirSync(odd);
    expect(() => new Trial({ ...place, workspace: { ...workspace, root: odd } })).toThrow(
      /a command cannot run in a layer here, because .*has a colon/,
    );
  });
});

describe.skipIf(cannotIsolate)('[RN-12] what lands of a tried command', () => {
  const before = { 'a.txt': 'one\n', 'old.txt': 'old\n' };
  const line = 'echo two > a.txt; rm old.txt; mkdir made; echo x > made/x; ln -s a.txt link';
  beforeEach(() => {
    for (const [path, text] of Object.entries(before)) write(path, text);
  });
  const expectLanded = () => {
    expect([read('a.txt'), existsSync(at('old.txt')), read('made/x'), readlinkSync(at('link'))]).toEqual([
      'two\n',
      false,
      'x\n',
      'a.txt',
    ]);
  };
  const expectUndone = () => {
    expect([read('a.txt'), read('old.txt'), existsSync(at('made')), existsSync(at('link'))]).toEqual([
      'one\n',
      'old\n',
      false,
      false,
    ]);
  };

  it('is taken back by "the newest", without a runner', async () => {
    expect(await landed(line)).toEqual({ landed: 5, conflicts: [], notes: [] });
    expectLanded();
    const undone = await undoHere(place, { toolIds: undefined, force: false });
    expect(undone).toMatchObject({ report: { status: 'completed' }, call: { command: line, count: 5 } });
    expectUndone();
    // Nobody waits for the reports: no server knows the call.
    const journal = Journal.open({ folder: workspace.stateFolder, holder: { program: 'a test' } });
    expect([journal.unacknowledged(), journal.unacknowledgedUndos()]).toEqual([[], []]);
    journal.close();
    const again = await undoHere(place, { toolIds: undefined, force: false });
    expect(again.report.error?.code).toBe('NOT_UNDOABLE');
    // The undo can be taken back too.
    const { undo_id } = undone.report;
    expect((await undoHere(place, { toolIds: [undo_id ?? ''], force: false })).report.status).toBe(
      'completed',
    );
    expectLanded();
  });

  it('[RN-10] lands and is taken back by the runner that has the workspace, and the server hears nothing of it', async () => {
    const api = new RecordedApi();
    const logger = { debug() {}, info() {}, error() {} };
    const runner = new ToolHandler(api, undefined, logger, { workspace, configFolder });
    opened.push(runner);
    expect(await landed(line)).toEqual({ landed: 5, conflicts: [], notes: [] });
    expectLanded();
    const undone = await undoHere(place, { toolIds: undefined, force: false });
    expect(undone.report.status).toBe('completed');
    expectUndone();
    const { undo_id } = undone.report;
    expect((await undoHere(place, { toolIds: [undo_id ?? ''], force: false })).report.status).toBe(
      'completed',
    );
    expect((await undoHere(place, { toolIds: undefined, force: false })).report.status).toBe('completed');
    expect(api.sent).toEqual([]);
    await runner.dispose();
    expect(await landed(line)).toMatchObject({ landed: 5 });
  });

  it('[RN-10] says which program has the workspace if it does not answer', async () => {
    const journal = Journal.open({ folder: workspace.stateFolder, holder: { program: 'an old runner' } });
    await expect(undoHere(place, { toolIds: undefined, force: false })).rejects.toThrow(/an old runner/);
    journal.close();
  });

  it('does not overwrite what others changed while the person looked at it, and keeps the command’s version', async () => {
    const { trial } = await tried(line);
    const { effects } = await trial.effects();
    write('a.txt', 'mine\n');
    const { id: layerId, upper } = trial.layer;
    const outcome = await landTried(place, { command: line, exitCode: 0, layerId, upper, effects });
    expect(outcome).toMatchObject({ landed: 4, conflicts: ['a.txt'] });
    expect(read('a.txt')).toBe('mine\n');
    expect(readFileSync(join(outcome.keptIn ?? '', 'a.txt'), 'utf8')).toBe('two\n');
  });

  it('is refused by undo where a file was changed since, unless forced', async () => {
    await landed(line);
    write('a.txt', 'mine\n');
    const undo = (force: boolean) => undoHere(place, { toolIds: undefined, force });
    expect((await undo(false)).report.error?.code).toBe('UNDO_CONFLICT');
    expect((await undo(true)).report.status).toBe('completed');
    expectUndone();
  });

  it('lands names that are not UTF-8 through the runner', async () => {
    const runner = new ToolHandler(
      new RecordedApi(),
      undefined,
      { debug() {}, info() {}, error() {} },
      {
        workspace,
        configFolder,
      },
    );
    opened.push(runner);
    expect(await landed(`echo x > $'\\xff\\xfe'`)).toMatchObject({ landed: 1 });
    expect(existsSync(Buffer.concat([Buffer.from(at('/')), Buffer.of(0xff, 0xfe)]))).toBe(true);
  });
});

it('[RN-13] what a killed try left is removed by the next runner, not what another still uses', async () => {
  const child = spawn('sleep', ['600']);
  await once(child, 'spawn');
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
  const startedAt = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  const tries = join(workspace.stateFolder, 'tries');
  const left = ['1-0-1', '2-0-2', `${child.pid}-${startedAt}-3`];
  for (const name of left) mkdirSync(join(tries, name, 'layers/x/upper'), { recursive: true });
  symlinkSync('/', join(tries, '1-0-1', 'link'));
  await removeAbandonedTries(workspace.stateFolder, [join(tries, '2-0-2', 'layers/x/upper')]);
  expect(left.map((name) => existsSync(join(tries, name)))).toEqual([false, true, true]);
  child.kill();
});
