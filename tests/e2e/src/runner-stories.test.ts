import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiError } from '@countersign/client';
import type { PolicyRule } from '@countersign/protocol';
import { releaseCommands } from '@countersign/testing/release-commands';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../lab/src/waiting.ts';
import { RunnerServer, RunnerStory } from './runner/runner-story.ts';

/** What can go wrong between a decision and its effect, with the real server and `countersign connect`. */

let server: RunnerServer;
let story: RunnerStory;
beforeAll(async () => {
  server = await RunnerServer.start();
  story = await RunnerStory.open(server, 'ada');
  await story.startRunner();
});
afterAll(async () => {
  await story?.close();
  await server?.close();
});

const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: ApiError) => error.code,
  );
const ask = async (tool: string, params: object): Promise<string> => {
  const asked = await story.ask(tool, params);
  if (typeof asked !== 'string') throw new Error(asked.message);
  return asked;
};
/** A later read by the same runner: when it has ended, calls that were decided before have done their work. */
const barrier = () => story.call('read_file', { path: 'README.md' });

beforeAll(() => story.write('README.md', '# Hello\n'));

/** Approves the card, and calls `meanwhile` before the runner hears of it. */
async function approveThen(toolId: string, meanwhile: () => unknown): Promise<string> {
  const card = await story.card(toolId);
  story.runner.pause();
  try {
    await story.approve(card);
    await meanwhile();
  } finally {
    story.runner.resume();
  }
  return String(card.digest);
}

describe('[AP-8] what was approved has changed before it runs', () => {
  it('a file: nothing is written, and the person is asked again with a new preview', async () => {
    story.write('stale.md', 'first\n');
    const toolId = await ask('write_file', { path: 'stale.md', content: 'theirs\n' });
    const before = await approveThen(toolId, () => story.write('stale.md', 'mine\n'));
    const again = await story.card(toolId, ({ digest }) => digest !== before);
    expect(story.read('stale.md')).toBe('mine\n');
    expect(JSON.stringify(again.preview)).toContain('-mine');
    expect(JSON.stringify(again.preview)).not.toContain('first');
    expect((await story.look(toolId)).execution.status).toBe('awaiting_approval');
    await story.approve(again);
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'completed' });
    expect(story.read('stale.md')).toBe('theirs\n');
  });

  it('at most 3 times, then the call fails', async () => {
    story.write('restless.md', 'version 0\n');
    const toolId = await ask('write_file', { path: 'restless.md', content: 'theirs\n' });
    const digests = new Set<string>();
    for (let turn = 1; turn <= 4; turn += 1) {
      await story.card(toolId, ({ digest }) => !digests.has(String(digest)));
      digests.add(await approveThen(toolId, () => story.write('restless.md', `version ${turn}\n`)));
    }
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'failed', code: 'APPROVAL_STALE' });
    expect([digests.size, story.read('restless.md')]).toEqual([4, 'version 4\n']);
    const asked = story.person.all('tool.approval_request').filter(({ tool_id }) => tool_id === toolId);
    expect(asked).toHaveLength(4);
  });

  it('a script: it does not run', async () => {
    story.write('script.js', "console.log('what was shown');\n");
    const toolId = await ask('execute_command', { command: 'node', args: ['script.js'] });
    const evil = "require('node:fs').writeFileSync('evil.txt', '');\n";
    const before = await approveThen(toolId, () => story.write('script.js', evil));
    const { approval_id, project_id } = await story.card(toolId, ({ digest }) => digest !== before);
    await story.person.client.reject({ params: { approval_id, project_id }, body: {} });
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'rejected' });
    expect(existsSync(story.at('evil.txt'))).toBe(false);
  });

  it('a parent folder became a link to the outside: nothing is written there', async () => {
    story.write('way/a.md', 'old\n');
    const toolId = await ask('write_file', { path: 'way/a.md', content: 'theirs\n' });
    await approveThen(toolId, () => {
      story.run('mv', 'way', 'way.before');
      story.run('ln', '-s', story.outside, 'way');
    });
    const ended = await story.untilFinal(toolId);
    expect([ended.status, ended.code]).toEqual(['failed', 'PATH_OUTSIDE_WORKSPACE']);
    expect([readdirSync(story.outside), story.read('way.before/a.md')]).toEqual([[], 'old\n']);
  });
});

describe('[EX-6] a call that may not start does nothing', () => {
  it('cancelled between the decision and the claim: nothing runs', async () => {
    const toolId = await ask('write_file', { path: 'cancelled.md', content: 'x' });
    await approveThen(toolId, async () => {
      const answer = await story.agent.cancelExecution({ params: { tool_id: toolId }, body: {} });
      expect(answer.status).toBe('cancelled');
    });
    await barrier();
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'cancelled' });
    expect(existsSync(story.at('cancelled.md'))).toBe(false);
    expect(story.recordedChanges()).not.toContain('renamed cancelled.md');
  });

  it('[AP-7] [EX-10] approved without a runner, it runs when one connects; HIGH cannot be approved without a preview', async () => {
    await story.runner.end('SIGTERM');
    const medium = await ask('write_file', { path: 'offline.md', content: 'x\n' });
    const high = await ask('delete_file', { path: 'README.md' });
    const approvals = (await story.person.client.listApprovals()).approvals;
    const idOf = (toolId: string) => String(approvals.find(({ tool_id }) => tool_id === toolId)?.approval_id);
    const confirm = (toolId: string) =>
      codeOf(story.person.client.confirm({ params: { approval_id: idOf(toolId) }, body: {} }));
    // The runner may reconnect within its lease, and then sends a preview.
    expect([await confirm(medium), await confirm(high)]).toEqual(['PREVIEW_PENDING', 'PREVIEW_PENDING']);
    const isGone = async () =>
      (await story.person.client.listRunners()).runners.every(({ connected }) => !connected);
    await until(isGone, { within: 60_000, otherwise: () => 'its lease does not end' });
    expect([await confirm(medium), await confirm(high)]).toEqual(['ok', 'PREVIEW_PENDING']);
    expect((await story.look(medium)).execution.status).toBe('approved');
    await story.startRunner();
    expect(await story.untilFinal(medium)).toMatchObject({ status: 'completed' });
    expect(story.read('offline.md')).toBe('x\n');
    await story.card(high);
    await story.person.client.cancelExecution({ params: { tool_id: high }, body: {} });
    expect(existsSync(story.at('README.md'))).toBe(true);
  });
});

describe('[AP-10] the runner is killed while an approval is pending', () => {
  it('after the preview: the card stays, and the next runner does what it shows', async () => {
    const toolId = await ask('delete_file', { path: 'offline.md' });
    const card = await story.card(toolId);
    await story.runner.end('SIGKILL');
    await story.startRunner();
    await story.approve(card);
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'completed' });
    expect(existsSync(story.at('offline.md'))).toBe(false);
  });

  it('before the preview: the next runner makes it', async () => {
    story.runner.pause();
    const toolId = await ask('shell_exec', { command: 'echo previewed; touch previewed.md' });
    await story.runner.end('SIGKILL');
    await story.startRunner();
    expect((await story.card(toolId)).preview).toMatchObject({
      kind: 'command',
      commands: [
        ['echo', 'previewed'],
        ['touch', 'previewed.md'],
      ],
    });
    expect((await story.approvedToTheEnd(toolId)).result.stdout).toBe('previewed\n');
  });

  it('twice during the call, at the claim and in the middle: the call runs once', async () => {
    const toolId = await ask('write_file', { path: 'thrice.md', content: 'x\n', mode: 'append' });
    const card = await story.card(toolId);
    await story.runner.killAt({ step: 'claim asked', onlyReads: false });
    await story.approve(card);
    expect(await story.runner.ended).toBe('SIGKILL');
    const second = story.prepare();
    await second.killAt({ step: 'renamed', onlyReads: false });
    void second.start(['--no-prompt', '--json', story.root]);
    expect(await second.ended).toBe('SIGKILL');
    await story.startRunner();
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'completed' });
    expect(story.read('thrice.md')).toBe('x\n');
  });
});

describe('[RN-2] the ceiling file', () => {
  const ceiling = () => join(story.home, '.config/countersign/ceiling.json');
  afterEach(() => story.run('rm', '-f', ceiling()));

  it('HIGH needs a decision on this machine: one made elsewhere does not run it; MEDIUM still runs', async () => {
    mkdirSync(join(story.home, '.config/countersign'), { recursive: true, mode: 0o700 });
    story.write(ceiling(), '{"version": 1, "decide_here": ["HIGH"]}', 0o600);
    const high = await story.call('shell_exec', { command: 'echo x > ceiling.sh' });
    expect([high.status, high.code]).toEqual(['failed', 'APPROVAL_STALE']);
    expect(high.message).toContain('a decision made on the machine');
    expect(existsSync(story.at('ceiling.sh'))).toBe(false);
    const medium = await story.call('write_file', { path: 'ceiling.md', content: 'x' });
    expect(medium.status).toBe('completed');
  });

  it('a file that others can write is not trusted: nothing above LOW runs', async () => {
    story.write(ceiling(), '{"version": 1, "decide_here": []}', 0o666);
    const ended = await story.call('write_file', { path: 'unbelieved.md', content: 'x' });
    expect([ended.status, ended.code]).toEqual(['failed', 'DENIED_BY_POLICY']);
    expect(existsSync(story.at('unbelieved.md'))).toBe(false);
    expect((await barrier()).status).toBe('completed');
  });
});

it("[RK-5] [VA-8] a link that leads to what the person's rules at the server deny: refused before approval", async () => {
  const save = (rules: PolicyRule[]) => story.person.client.putPolicy({ body: { version: 1, rules } });
  await save([{ id: 'no-private', effect: 'deny', tool: '*', path: 'private/**' }]);
  try {
    mkdirSync(story.at('private'));
    story.write('private/a.md', 'private\n');
    symlinkSync('private/a.md', story.at('leads-there.md'));
    const toolId = await ask('write_file', { path: 'leads-there.md', content: 'x' });
    const ended = await story.untilFinal(toolId);
    expect([ended.status, ended.code]).toEqual(['failed', 'DENIED_BY_POLICY']);
    expect((await story.look(toolId)).decision).toMatchObject({ status: 'cancelled', by: null });
    expect(story.read('private/a.md')).toBe('private\n');
  } finally {
    await save([]);
  }
});

it('[RN-10] a second runner of the same workspace is told which one has it, and ends; the first continues', async () => {
  const second = story.prepare();
  await second.start(['--no-prompt', '--json', story.root]);
  expect(await second.ended).toBe('1');
  expect(second.log).toMatch(/is the runner of this workspace already/);
  expect((await story.call('write_file', { path: 'first.md', content: 'x' })).status).toBe('completed');
  await story.runner.end('SIGKILL');
  await story.startRunner();
  expect((await story.call('write_file', { path: 'first.md', content: 'y' })).status).toBe('completed');
});

/** Waits until the call's command has printed this. */
const hasPrinted = (toolId: string, text: string) =>
  story.person.next(
    'tool.progress',
    (told) => told.tool_id === toolId && told.output?.chunk.includes(text) === true,
  );

/** Starts a command that says so in `log`, and runs until it is released; then it does `then`. */
async function held(log: string, then: string) {
  const waits = 'while :; do sleep 0.1; done';
  const command = `trap "${then}; exit 0" USR2; echo begun ${log} | tee -a ${log}; ${waits}`;
  const toolId = await ask('shell_exec', { command, timeout: 300 });
  await story.approve(await story.card(toolId));
  await hasPrinted(toolId, `begun ${log}`);
  return { toolId, release: () => releaseCommands(story.root, log) };
}

describe('the server restarts', () => {
  it('[AP-10] while an approval is pending: the card stays, and the approved call runs', async () => {
    const toolId = await ask('write_file', { path: 'restart.md', content: 'x\n' });
    const card = await story.card(toolId);
    await server.crash();
    await story.approve(card);
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'completed' });
    expect(story.read('restart.md')).toBe('x\n');
  });

  it('[EX-7] while a call runs: it continues, once, and its result arrives', async () => {
    const { toolId, release } = await held('once.log', 'echo ended >> once.log');
    await server.crash(async () => {
      await release();
      await until(() => existsSync(story.at('once.log')), { otherwise: () => story.runner.log });
    });
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'completed', result: { exit_code: 0 } });
    expect(story.read('once.log')).toBe('begun once.log\nended\n');
  });
});

describe('[EX-8] cancelling a running call', () => {
  const noneLeft = (mark: string) =>
    until(() => !story.processes().some((line) => line.includes(mark)), {
      otherwise: () => story.processes().join('\n'),
    });

  it.each([
    [
      'ends a command and its children',
      // The program itself reports that it was told to end, not killed.
      'trap "echo told; exit 1" TERM; sleep 601 & (sleep 602; true) & echo up | tee up-1; wait',
      'up-1',
      'up\ntold\n',
    ],
    [
      'ends what ignores SIGTERM',
      'trap "" TERM; echo up | tee up-2; while :; do sleep 0.1; done',
      'up-2',
      'up\n',
    ],
  ])('%s', async (_what, command, mark, stdout) => {
    const toolId = await ask('shell_exec', { command, timeout: 300 });
    await story.approve(await story.card(toolId));
    await hasPrinted(toolId, 'up');
    const { status } = await story.agent.cancelExecution({ params: { tool_id: toolId }, body: {} });
    expect(status).toBe('executing');
    expect(await story.untilFinal(toolId)).toMatchObject({
      status: 'cancelled',
      code: 'EXECUTION_CANCELLED',
      result: { stdout },
    });
    await noneLeft(mark);
    expect(existsSync(story.at(mark))).toBe(false); // nothing landed (RN-11)
  });

  it('[RN-1] ending the runner ends its processes and leaves nothing behind', async () => {
    const job = await story.call('shell_background', { command: 'echo up > up-3; sleep 603' });
    expect(job.status).toBe('completed');
    const toolId = await ask('shell_exec', { command: 'echo up | tee up-4; sleep 604', timeout: 300 });
    await story.approve(await story.card(toolId));
    await hasPrinted(toolId, 'up');
    await until(() => existsSync(story.at('up-3')), { otherwise: () => story.runner.log });
    expect(await story.runner.end('SIGTERM')).toBe('0');
    for (const mark of ['up-3', 'up-4']) await noneLeft(mark);
    expect(readdirSync(story.root).filter((name) => name.startsWith('.'))).toEqual([]);
    await story.startRunner();
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'cancelled' });
    const gone = await story.call('shell_output', { job_id: job.result.job_id });
    expect(gone.code).toBe('JOB_NOT_FOUND');
  });
});

describe('[RN-3] undo by call', () => {
  const written = async (content: string) => {
    const { toolId } = await story.call('write_file', { path: 'undo.md', content });
    return toolId;
  };

  it('restores the file, but not twice', async () => {
    story.write('undo.md', 'before\n', 0o640);
    const toolId = await written('after\n');
    expect(await story.undo(toolId)).toMatchObject({ status: 'completed', error: null });
    expect(story.read('undo.md')).toBe('before\n');
    expect((await story.look(toolId)).execution.undone_at).not.toBeNull();
    expect(await codeOf(story.undo(toolId))).toBe('NOT_UNDOABLE');
  });

  it('a file that changed since is a conflict, unless undo is forced', async () => {
    story.write('undo.md', 'before\n');
    const toolId = await written('after\n');
    story.write('undo.md', 'mine\n');
    expect(await story.undo(toolId)).toMatchObject({ error: { code: 'UNDO_CONFLICT' } });
    expect(story.read('undo.md')).toBe('mine\n');
    expect(await story.undo(toolId, { force: true })).toMatchObject({ status: 'completed', error: null });
    expect(story.read('undo.md')).toBe('before\n');
  });

  it('restores a deleted file and removes a new one, also after a restart of the runner', async () => {
    story.write('deleted.md', 'kept\n');
    const deleted = await story.call('delete_file', { path: 'deleted.md' });
    const created = await story.call('write_file', { path: 'created.md', content: 'x' });
    await story.runner.end('SIGKILL');
    await story.startRunner();
    await story.undo(deleted.toolId);
    await story.undo(created.toolId);
    expect([story.read('deleted.md'), existsSync(story.at('created.md'))]).toEqual(['kept\n', false]);
  });
});

it('[EX-7] a result that comes after the lease has ended is stored, and the status stays', async () => {
  const { toolId, release } = await held('late.log', 'echo the result');
  story.runner.pause(); // like a machine that sleeps: its lease ends after 30 s
  try {
    await release();
    expect(await story.untilFinal(toolId)).toMatchObject({ status: 'failed', code: 'RUNNER_LOST' });
  } finally {
    story.runner.resume();
  }
  const late = await story.person.next('tool.result', (result) => result.tool_id === toolId && result.late);
  expect(JSON.stringify(late.result)).toContain('the result');
  const { execution, late_result } = await story.look(toolId);
  expect([execution.status, execution.error?.code]).toEqual(['failed', 'RUNNER_LOST']);
  const result = { success: true, exit_code: 0, stdout: 'begun late.log\nthe result\n' };
  expect(late_result).toMatchObject({ status: 'completed', result, error: null });
  expect((await barrier()).status).toBe('completed');
});

it('[EX-6] a runner on a copy of the folder is refused while the original is connected', async () => {
  const home = join(story.parent, 'copied-home');
  cpSync(story.home, home, { recursive: true });
  const copy = story.prepare([], { home });
  await copy.start(['--no-prompt', '--json', story.root]);
  expect(await copy.ended).toBe('1');
  expect(copy.log).toContain('Another program is connected as the runner');
  expect((await story.call('write_file', { path: 'once.md', content: 'x\n' })).status).toBe('completed');
});

it('leaves no call and no approval open', async () => {
  const final = "('completed', 'failed', 'rejected', 'timeout', 'cancelled')";
  const open = await server.database.query(
    `select tool_name, status from tool_executions where status not in ${final}`,
  );
  expect(open).toEqual([]);
  expect(await server.database.query("select id from approvals where status = 'pending'")).toEqual([]);
});
