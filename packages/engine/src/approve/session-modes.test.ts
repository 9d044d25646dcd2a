import type { PolicyRule, SessionMode } from '@countersign/protocol';
import {
  AgentFixture,
  codeOf,
  digest,
  EngineFixture,
  type Listener,
  ScriptedModel,
  settle,
  toolCall,
} from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';

let fixture: EngineFixture;
let runner: Listener;
beforeEach(async () => {
  fixture = await EngineFixture.open();
  runner = await fixture.listen({ runnerId: 'runner-1' });
});

const switchTo = (mode: SessionMode) => fixture.engine.modes.change(fixture.person, 'session-1', { mode });
const write = (path: string) => fixture.submit('write_file', { path, content: 'x' });
const grants = () => fixture.store.read((tx) => tx.grantsOf('ada'));
// Without the first row, which records the runner's connection.
const audited = async () => (await fixture.store.read((tx) => tx.audit('ada', 0, 1000))).slice(1);

const changes: readonly [string, Record<string, string>][] = [
  ['write_file', { path: 'src/new.ts', content: 'x' }],
  ['edit_file', { path: 'README.md', old: 'a', new: 'b' }],
  ['copy_file', { source: 'docs/a.md', dest: 'src/a.md' }],
  ['create_directory', { path: 'src/lib' }],
];
const others: readonly [string, Record<string, unknown>][] = [
  ['write_file', { path: '.git/hooks/pre-commit', content: 'x' }],
  ['write_file', { path: '.vscode/tasks.json', content: 'x' }],
  ['write_file', { path: 'deploy.sh', content: 'x' }],
  ['copy_file', { source: 'a.md', dest: '.github/workflows/ci.yml' }],
  ['delete_file', { path: 'src/a.ts' }],
  ['move_file', { source: 'a.md', dest: 'b.md' }],
  ['execute_command', { command: 'npm', args: ['test'] }],
  ['git_commit', { message: 'x', files: ['a.md'] }],
];

describe('accept edits', () => {
  it.each(changes)('[AP-11] lets %s change the workspace unasked, by a grant', async (tool, params) => {
    await switchTo('accept_edits');
    const [grant] = await grants();
    expect(grant).toMatchObject({ scope: 'mode', session_id: 'session-1', max_risk: 'MEDIUM' });
    expect(await fixture.submit(tool, params)).toMatchObject({
      status: 'approved',
      approved_by: 'config',
      grant_id: grant?.id,
    });
    // The runner gets the predicate and checks it too.
    const { grant: told } = await runner.last('tool.execution_signal');
    expect(told).toMatchObject({ tool: grant?.tool, max_risk: 'MEDIUM', session_id: 'session-1' });
  });

  it.each(others)('[AP-11] [VA-3] still asks about %s %j', async (tool, params) => {
    await switchTo('accept_edits');
    expect((await fixture.submit(tool, params as never)).status).toBe('awaiting_approval');
  });

  it('[AP-11] refuses what was refused: places outside, secrets', async () => {
    await switchTo('accept_edits');
    expect((await write('../outside.md')).error_type).toBe('PATH_OUTSIDE_WORKSPACE');
    expect((await write('.env')).error_type).toBe('PATH_SENSITIVE');
  });

  it('[AP-11] counts in this conversation only', async () => {
    await switchTo('accept_edits');
    await fixture.store.write((tx) =>
      tx.insert('sessions', {
        id: 'session-2',
        user_id: 'ada',
        project_id: 'project-1',
        title: '',
        mode: 'ask',
        created_at: 0,
        opened_by: null,
        last_message_at: null,
        deleted_at: null,
      }),
    );
    const params = { path: 'a.md', content: 'x' };
    const other = await fixture.submit('write_file', params, { sessionId: 'session-2' });
    expect(other.status).toBe('awaiting_approval');
  });

  it('[AP-11] [RK-5] an ask rule of the person still asks, and a deny rule denies', async () => {
    const rules: PolicyRule[] = [
      { id: 'ask', effect: 'ask', tool: '*', path: 'package.json' },
      { id: 'deny', effect: 'deny', tool: '*', path: 'vendor/**' },
    ];
    await fixture.engine.policies.replace('ada', { version: 1, rules });
    const waiting = await write('package.json');
    await switchTo('accept_edits');
    expect((await fixture.execution(waiting.id)).status).toBe('awaiting_approval');
    expect((await write('package.json')).status).toBe('awaiting_approval');
    expect((await write('vendor/a.md')).error_type).toBe('DENIED_BY_POLICY');
  });

  it('[AP-4] [AP-11] releases what already waits and is covered, and nothing else', async () => {
    const covered = await write('a.md');
    const hook = await write('.git/hooks/pre-commit');
    // The runner found more risk on the disk than the text shows.
    const raised = await write('link.md');
    await fixture.preview(raised.approval_id, { risk_level: 'HIGH' });
    const linked = await write('second-name.md');
    const severalNames = { rule: 'PATH-5', why: 'has several names', operand: 'second-name.md' };
    await fixture.preview(linked.approval_id, { reasons: [severalNames] });
    const command = await fixture.submit('execute_command', { command: 'npm', args: ['test'] });
    await switchTo('accept_edits');
    expect((await fixture.execution(covered.id)).status).toBe('approved');
    for (const { id } of [hook, raised, linked, command])
      expect((await fixture.execution(id)).status).toBe('awaiting_approval');
    const [grant] = await grants();
    expect(await runner.last('approval.resolved')).toMatchObject({ status: 'approved', grant_id: grant?.id });
    const approval = await fixture.store.read((tx) => tx.get('approvals', String(covered.approval_id)));
    expect(approval).toMatchObject({ scope: 'mode', decided_token: 'token-person' });
    expect((await fixture.claim(covered.id, { digest: digest('b') })).status).toBe('executing');
  });

  it('[AP-11] switching back revokes it at once, also for a call that has not begun', async () => {
    await switchTo('accept_edits');
    const { id } = await write('a.md');
    await switchTo('ask');
    expect((await grants())[0]?.revoked_at).toBe(fixture.clock.now());
    expect(await codeOf(fixture.claim(id))).toBe('GRANT_REVOKED');
    expect((await fixture.execution(id)).status).toBe('awaiting_approval');
    expect((await write('b.md')).status).toBe('awaiting_approval');
  });

  it('[AP-11] revoking its grant switches back to ask, in every front end', async () => {
    await switchTo('accept_edits');
    const [grant] = await grants();
    const revoked = await fixture.engine.modes.revokeGrant(fixture.person, String(grant?.id));
    expect(revoked.revoked_at).toBe(fixture.clock.now());
    expect(await fixture.store.read((tx) => tx.modeOf('session-1'))).toBe('ask');
    expect(await runner.last('session.changed')).toMatchObject({ session: { mode: 'ask' } });
  });
});

it('[AP-11] revoking a grant never loosens a conversation that another device made read only', async () => {
  await switchTo('accept_edits');
  const [grant] = await grants();
  const { store } = fixture;
  // Another device switches the mode between the read and the write of the revocation.
  const read = store.read.bind(store);
  let switched = false;
  store.read = async (unit) => {
    const found = await read(unit);
    if (!switched) {
      switched = true;
      await switchTo('read_only');
    }
    return found;
  };
  const revoked = await fixture.engine.modes.revokeGrant(fixture.person, String(grant?.id));
  store.read = read;
  expect(revoked.revoked_at).toBe(fixture.clock.now());
  expect(await store.read((tx) => tx.modeOf('session-1'))).toBe('read_only');
});

describe('read only', () => {
  it.each([...changes, ...others])('[AP-11] refuses %s %j, and says why', async (tool, params) => {
    await switchTo('read_only');
    expect(await fixture.submit(tool, params as never)).toMatchObject({
      status: 'failed',
      error_type: 'SESSION_READ_ONLY',
      error: `This conversation is read only, and ${tool} may change something. Nothing ran; another mode can be chosen for the conversation.`,
    });
  });

  it('[AP-11] lets everything that only reads run', async () => {
    await switchTo('read_only');
    const calls: [string, Record<string, unknown>][] = [
      ['read_file', { path: 'a.md' }],
      ['search_files', { pattern: '*.ts' }],
      ['git_status', {}],
      ['git_branch', {}],
      ['execute_command', { command: 'ls', args: ['src'] }],
    ];
    for (const [tool, params] of calls)
      expect((await fixture.submit(tool, params as never)).status, tool).toBe('executing');
  });

  it('[AP-11] stands above grants and rules that allow', async () => {
    await fixture.engine.policies.replace('ada', {
      version: 1,
      rules: [{ id: 'allow', effect: 'allow', tool: 'write_file' }],
    });
    expect((await write('a.md')).approved_by).toBe('config');
    await switchTo('read_only');
    expect((await write('a.md')).error_type).toBe('SESSION_READ_ONLY');
  });

  it('[AP-11] refuses what waits or has not begun, in the same transaction', async () => {
    const waiting = await write('a.md');
    const approved = await write('b.md');
    await fixture.approve(approved.approval_id);
    const reading = await fixture.submit('read_file', { path: 'a.md' });
    const outcome = fixture.engine.outcomes.of(waiting.id);
    await switchTo('read_only');
    for (const { id } of [waiting, approved])
      expect(await fixture.execution(id)).toMatchObject({
        status: 'failed',
        error_type: 'SESSION_READ_ONLY',
      });
    expect((await fixture.execution(reading.id)).status).toBe('executing');
    expect(await outcome).toMatchObject({ status: 'failed', error: { code: 'SESSION_READ_ONLY' } });
    expect(await runner.last('approval.resolved')).toMatchObject({
      status: 'cancelled',
      error: { code: 'SESSION_READ_ONLY' },
    });
    expect(await codeOf(fixture.claim(approved.id))).toBe('CLAIM_REFUSED');
    expect(await codeOf(fixture.approve(waiting.approval_id))).toBe('ALREADY_DECIDED');
  });

  it('[AP-11] nobody is asked about a call that the runner finds riskier than reading', async () => {
    await switchTo('read_only');
    const { id } = await fixture.submit('execute_command', { command: 'cat', args: ['a.md'] });
    await fixture.engine.dispatcher.submitResult(fixture.runnerCaller, id, {
      status: 'failed',
      error: { code: 'APPROVAL_STALE', message: 'it is MEDIUM here', recoverable: true },
      runner_id: 'runner-1',
      attempt: 1,
    });
    expect(await fixture.execution(id)).toMatchObject({ status: 'failed', error_type: 'SESSION_READ_ONLY' });
  });

  it('[AP-11] a request that slipped in beside the switch cannot be approved, nor edited into a change', async () => {
    const { approval_id } = await write('a.md');
    await fixture.store.write((tx) => tx.update('sessions', 'session-1', { mode: 'read_only' }));
    expect(await codeOf(fixture.approve(approval_id))).toBe('SESSION_READ_ONLY');
    const edited = { tool_params: { path: 'b.md', content: 'y' } };
    expect(await codeOf(fixture.approve(approval_id, edited))).toBe('SESSION_READ_ONLY');
    expect(await fixture.engine.approvals.rejectTool(fixture.person, String(approval_id), {})).toEqual({
      status: 'rejected',
    });
  });

  it('[AP-11] a rule saved in another conversation does not release it either', async () => {
    const { id } = await write('src/a.md');
    await fixture.store.write(function* (tx) {
      const session = yield* tx.get('sessions', 'session-1');
      if (session) yield* tx.insert('sessions', { ...session, id: 'session-2' });
      yield* tx.update('sessions', 'session-1', { mode: 'read_only' });
    });
    const params = { path: 'src/b.md', content: 'x' };
    const other = await fixture.submit('write_file', params, { sessionId: 'session-2' });
    await fixture.approve(other.approval_id, { scope: 'always', pattern: 'src/**' });
    expect((await fixture.execution(other.id)).status).toBe('approved');
    expect((await fixture.execution(id)).status).toBe('awaiting_approval');
  });

  it('[AG-4] [AP-11] offers the model only tools that read, and tells it why', async () => {
    const model = new ScriptedModel([
      [toolCall('write_file', { path: 'a.md', content: 'x' })],
      ['It should say x.'],
      ['Now I can.'],
    ]);
    const agent = await AgentFixture.open({ model });
    const { modes } = agent.node.engine;
    await modes.change(agent.person, 'session-1', { mode: 'read_only' });
    await agent.say('Write x.');
    const names = (turn: number) => model.requests[turn]?.request.tools.map(({ name }) => name) ?? [];
    expect(names(0)).toEqual(expect.arrayContaining(['read_file', 'git_branch', 'execute_command']));
    for (const tool of ['write_file', 'edit_file', 'delete_file', 'shell_kill', 'git_push', 'git_commit'])
      expect(names(0)).not.toContain(tool);
    expect(model.requests[0]?.request.messages.at(-1)).toMatchObject({
      role: 'note',
      text: expect.stringContaining('This conversation is read only'),
    });
    expect(JSON.stringify(model.requests[1]?.request.messages)).toContain('SESSION_READ_ONLY');
    await modes.change(agent.person, 'session-1', { mode: 'ask' });
    await agent.say('And now?');
    await settle();
    expect(names(2)).toContain('write_file');
    expect(JSON.stringify(model.requests[2]?.request.messages)).not.toContain('"role":"note"');
  });
});

describe('the switch', () => {
  it('[AP-11] [DA-4] is recorded with who made it, and announced once', async () => {
    await switchTo('accept_edits');
    await switchTo('accept_edits');
    await switchTo('read_only');
    expect((await audited()).map(({ action }) => action)).toEqual([
      'session.mode_switched',
      'grant.made',
      'session.mode_switched',
      'grant.revoked',
    ]);
    expect((await audited())[0]).toMatchObject({
      subject: 'session-1',
      data: { mode: 'accept_edits', before: 'ask', token: 'token-person' },
    });
    expect(runner.all('session.changed').map(({ session }) => session.mode)).toEqual([
      'accept_edits',
      'read_only',
    ]);
  });

  it('renames without touching the mode', async () => {
    await switchTo('accept_edits');
    const { modes } = fixture.engine;
    const renamed = await modes.change(fixture.person, 'session-1', { title: 'The port' });
    expect(renamed).toMatchObject({ title: 'The port', mode: 'accept_edits' });
    expect((await grants()).map(({ revoked_at }) => revoked_at)).toEqual([null]);
  });

  it('[RE-3] is not found by another person or with a token of another project', async () => {
    const { modes } = fixture.engine;
    for (const other of [
      { ...fixture.person, userId: 'eve' },
      { ...fixture.person, projectId: 'another' },
    ])
      expect(await codeOf(modes.change(other, 'session-1', { mode: 'accept_edits' }))).toBe('NOT_FOUND');
    expect(await codeOf(modes.change(fixture.person, 'nothing', { mode: 'ask' }))).toBe('NOT_FOUND');
    expect(await grants()).toEqual([]);
  });

  it('[AP-11] survives a restart', async () => {
    await switchTo('accept_edits');
    await fixture.restart();
    runner = await fixture.listen({ runnerId: 'runner-1' });
    expect((await write('a.md')).approved_by).toBe('config');
  });
});
