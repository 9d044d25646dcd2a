import { newId } from '@countersign/engine';
import { defaultLimits, sentLimits } from '@countersign/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptedRunner } from '../testing/scripted-runner.ts';
import { type Person, someDigest, TestServer } from '../testing/test-server.ts';
import { backtest } from './backtest.ts';

let server: TestServer;
let runner: ScriptedRunner;
let ada: Person;
let report: (params: Record<string, unknown>) => object;

beforeAll(async () => {
  server = await TestServer.start({ executeWaitMs: 30_000 });
  ada = await server.person('ada');
  runner = await server.runner(ada, { execute: ({ tool_params }) => report(tool_params) });
});
afterAll(() => server.close());

const as = (token = ada.tokens.person) => ({
  get: async (path: string) => (await server.send('GET', path, { token })).body,
  post: (path: string, body: object = {}) => server.send('POST', path, { token, body }),
  put: (path: string, body: object) => server.send('PUT', path, { token, body }),
  delete: (path: string) => server.send('DELETE', path, { token }),
});
const execute = (tool_name: string, tool_params: object, session_id: string | undefined = ada.sessionId) =>
  as().post('/my/tools/execute', { tool_name, tool_params, ...(session_id !== undefined && { session_id }) });
const endOf = (toolId: string) =>
  runner.stream.until(
    ({ event, data }) => event === 'tool.result' && (data as { tool_id: string }).tool_id === toolId,
  );
const completed = () => ({ status: 'completed', result: { success: true }, execution_time_ms: 7 });
const changed = (path: string) => ({
  status: 'completed',
  result: { success: true, path, size: 1, changed_files: [{ path, operation: 'modified' }] },
});

describe('[RE-2] executing', () => {
  it('answers with the result when it comes soon', async () => {
    report = () => ({
      status: 'completed',
      result: { success: true, content: 'hello' },
      execution_time_ms: 4,
    });
    const { body } = await execute('read_file', { path: 'a.md' });
    expect(body).toEqual({
      success: true,
      tool_id: expect.any(String),
      session_id: ada.sessionId,
      approval_id: null,
      status: 'completed',
      result: { success: true, content: 'hello' },
      error: null,
    });
  });

  it('answers with what went wrong in the tool, as a call that was taken', async () => {
    report = () => ({ status: 'failed', error: { code: 'FILE_NOT_FOUND', message: 'no such file' } });
    const { status, body } = await execute('read_file', { path: 'a.md' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'failed',
      error: { code: 'FILE_NOT_FOUND', message: 'no such file' },
    });
  });

  it.each([
    ['su', { command: 'su', args: [] }, 403, 'COMMAND_NOT_ALLOWED'],
    ['a bad parameter', { command: 'ls', args: 'x' }, 400, 'INVALID_PARAMS'],
  ])('[EX-1] records %s that is refused, and names the record', async (_what, params, status, code) => {
    const answered = await execute('execute_command', params);
    expect([answered.status, answered.body.code]).toEqual([status, code]);
    const { execution } = await as().get(`/my/tools/${answered.body.tool_id}`);
    expect(execution).toMatchObject({ status: 'failed', approval_id: null, error: { code } });
  });

  it('needs a session where there is more than one project', async () => {
    report = completed;
    const two = await server.person('two', '/two');
    await server.runner(two, { runnerId: 'twos', workspace: '/two' });
    const token = two.tokens.person;
    const call = { tool_name: 'read_file', tool_params: { path: 'a.md' } };
    const alone = await as(token).post('/my/tools/execute', call);
    expect(alone.body.session_id).not.toBe(two.sessionId);
    await as(token).post('/my/projects', { name: 'second' });
    const refused = await as(token).post('/my/tools/execute', call);
    expect([refused.status, refused.body.code]).toEqual([400, 'PROJECT_REQUIRED']);
  });

  it("[RE-3] does not take another person's session", async () => {
    const other = await server.person(`other-${newId()}`);
    expect((await execute('read_file', { path: 'a.md' }, other.sessionId)).status).toBe(404);
  });
});

describe('[AP-2] deciding', () => {
  const ask = async (path: string) => (await execute('write_file', { path, content: 'x' })).body;

  it('is done once; a later one learns the standing decision and its device', async () => {
    report = () => changed('a.md');
    const { approval_id, tool_id } = await ask('a.md');
    const path = `/my/projects/${ada.projectId}/approvals/${approval_id}`;
    expect((await as().post(`${path}/approve`, { device: 'phone' })).body).toEqual({
      success: true,
      approval_id,
      status: 'approved',
    });
    const late = await as().post(`${path}/reject`, { reason: 'no' });
    expect([late.status, late.body]).toEqual([
      409,
      {
        success: false,
        error: expect.any(String),
        code: 'ALREADY_DECIDED',
        standing: { status: 'approved', device: 'phone' },
      },
    ]);
    await endOf(tool_id);
    const { decision } = await as().get(`/my/tools/${tool_id}`);
    expect(decision).toMatchObject({
      status: 'approved',
      by: { device: 'phone', token_id: expect.any(String) },
    });
  });

  it('20 at once make one decision and one execution', async () => {
    report = () => changed('b.md');
    const { approval_id, tool_id } = await ask('b.md');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => as().post(`/my/approvals/${approval_id}/confirm`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
    await endOf(tool_id);
    expect(runner.executed.filter((signal) => signal.tool_id === tool_id).length).toBe(1);
  });

  it('[RE-2] approve, confirm and reject need no project, and any of them decides once (founding documents: plan)', async () => {
    report = () => changed('d.md');
    const decide = async (approvalId: string, decision: string, body = {}) => {
      const answered = await as().post(`/my/approvals/${approvalId}/${decision}`, body);
      return [answered.status, answered.body.status ?? answered.body.standing?.status];
    };
    const approved = await ask('d.md');
    const { approval_id } = approved;
    expect(await decide(approval_id, 'approve', { decision: 'approved' })).toEqual([200, 'approved']);
    expect(await decide(approval_id, 'confirm')).toEqual([409, 'approved']);
    expect(await decide(approval_id, 'reject')).toEqual([409, 'approved']);
    await endOf(approved.tool_id);
    const rejected = await ask('e.md');
    const why = { reason: 'User declined execution', message: 'another file' };
    expect(await decide(rejected.approval_id, 'reject', why)).toEqual([200, 'rejected']);
    expect(await decide(rejected.approval_id, 'approve')).toEqual([409, 'rejected']);
    expect((await as().get(`/my/tools/${rejected.tool_id}`)).decision).toMatchObject({
      status: 'rejected',
      ...why,
    });
    expect(runner.executed.map(({ tool_id }) => tool_id)).not.toContain(rejected.tool_id);
  });

  it('[AP-9] names the token where no device was said', async () => {
    const { approval_id, tool_id } = await ask('c.md');
    const made = await as().post('/my/tokens', { name: 'my laptop', scope: 'front_end' });
    await as(made.body.token).post(`/my/projects/${ada.projectId}/approvals/${approval_id}/reject`, {
      message: 'later',
    });
    const { decision } = await as().get(`/my/tools/${tool_id}`);
    expect(decision).toEqual({
      status: 'rejected',
      by: { device: 'token my laptop', token_id: made.body.details.token_id },
      reason: null,
      message: 'later',
    });
  });

  it('is not found under another project of the same person', async () => {
    const { approval_id, tool_id } = await ask('d.md');
    const { body } = await as().post('/my/projects', { name: 'elsewhere' });
    const elsewhere = `/my/projects/${body.project.project_id}`;
    expect((await as().post(`${elsewhere}/approvals/${approval_id}/approve`)).status).toBe(404);
    expect((await as().post(`${elsewhere}/tools/${tool_id}/result`, completed())).status).toBe(404);
    expect((await as().get(`/my/approvals/${approval_id}`)).approval.status).toBe('pending');
    await as().post(`/my/tools/${tool_id}/cancel`);
  });

  it('[AP-4] makes a grant that is seen, counted and revoked', async () => {
    report = () => changed('src/a.ts');
    const first = await ask('src/a.ts');
    const made = await as().post(`/my/approvals/${first.approval_id}/confirm`, {
      scope: 'class',
      pattern: 'src/**',
    });
    expect(made.body).toMatchObject({ status: 'approved', grant_id: expect.any(String) });
    await endOf(first.tool_id);
    const second = await execute('write_file', { path: 'src/b.ts', content: 'x' });
    expect(second.body).toMatchObject({ status: 'completed', approval_id: null });
    const { grants } = await as().get('/my/grants');
    expect(grants).toMatchObject([
      { grant_id: made.body.grant_id, pattern: 'src/**', uses: 1, revoked_at: null },
    ]);
    await as().delete(`/my/grants/${made.body.grant_id}`);
    const third = await execute('write_file', { path: 'src/c.ts', content: 'x' });
    expect(third.body.status).toBe('awaiting_approval');
    await as().post(`/my/tools/${third.body.tool_id}/cancel`);
  });
});

describe('undoing', () => {
  async function written(path: string): Promise<string> {
    report = () => changed(path);
    const { approval_id, tool_id } = (await execute('write_file', { path, content: 'x' })).body;
    await as().post(`/my/approvals/${approval_id}/confirm`);
    await endOf(tool_id);
    return tool_id;
  }

  it('asks the runner, which reports, and is done once', async () => {
    const toolId = await written('u.md');
    const asked = await as().post(`/my/tools/${toolId}/undo`);
    const { undo_id } = asked.body;
    const event = await runner.stream.until((one) => one.event === 'tool.undo');
    expect(event.data).toMatchObject({ tool_id: toolId, undo_id, runner_id: 'runner-1', force: false });
    const path = `/my/projects/${ada.projectId}/tools/${toolId}/result`;
    const done = await as(ada.tokens.runner).post(path, { status: 'completed', result: null, undo_id });
    expect(done.body).toMatchObject({ success: true, status: 'completed' });
    const { execution } = await as().get(`/my/tools/${toolId}`);
    expect(execution).toMatchObject({ status: 'completed', undoable: false, undone_at: expect.any(String) });
    const again = await as().post(`/my/tools/${toolId}/undo`);
    expect([again.status, again.body.code]).toEqual([409, 'NOT_UNDOABLE']);
  });

  it('tells the person when the runner could not', async () => {
    const toolId = await written('v.md');
    const { undo_id } = (await as().post(`/my/tools/${toolId}/undo`, { force: true })).body;
    await as(ada.tokens.runner).post(`/my/projects/${ada.projectId}/tools/${toolId}/result`, {
      status: 'failed',
      error: { code: 'UNDO_CONFLICT', message: 'v.md was changed' },
      undo_id,
    });
    const told = await runner.stream.until(
      (one) => (one.data as { undo_id?: string }).undo_id === undo_id && one.event === 'tool.result',
    );
    expect(told.data).toMatchObject({
      status: 'failed',
      error: { code: 'UNDO_CONFLICT', message: 'v.md was changed' },
    });
    expect((await as().get(`/my/tools/${toolId}`)).execution.undone_at).toBeNull();
  });

  it('is refused for what changed nothing', async () => {
    report = completed;
    const { tool_id } = (await execute('read_file', { path: 'a.md' })).body;
    expect((await as().post(`/my/tools/${tool_id}/undo`)).body.code).toBe('NOT_UNDOABLE');
  });

  it('[TL-2] [RN-3] is refused for a command: it changed files, and exited with 1 (founding documents: tools-specification)', async () => {
    report = () => ({
      status: 'completed',
      result: {
        success: false,
        stdout: '',
        stderr: '',
        exit_code: 1,
        execution_time: 0.1,
        changed_files: [{ path: 'a.md', operation: 'modified' }],
      },
      execution_time_ms: 7,
    });
    const count = async () => {
      const { tools } = await as().get('/my/tools/metrics');
      const row = tools.find(({ tool_name }: { tool_name: string }) => tool_name === 'execute_command');
      return [row?.success_count ?? 0, row?.error_count ?? 0];
    };
    const [successes, errors] = await count();
    const call = { command: 'npm', args: ['run', 'format'] };
    const { approval_id, tool_id } = (await execute('execute_command', call)).body;
    await as().post(`/my/approvals/${approval_id}/confirm`);
    expect((await endOf(tool_id)).data).toMatchObject({ status: 'completed', exit_code: 1, error: null });
    const { execution, result } = await as().get(`/my/tools/${tool_id}`);
    expect(execution).toMatchObject({ status: 'completed', exit_code: 1, undoable: false, error: null });
    expect(result).toMatchObject({ success: false, exit_code: 1 });
    expect(await count()).toEqual([successes + 1, errors]);
    const refused = await as().post(`/my/tools/${tool_id}/undo`);
    expect(refused.body).toMatchObject({
      code: 'NOT_UNDOABLE',
      error: expect.stringContaining('only what file tools and commands in a layer changed can be undone'),
    });
  });

  it.each([true, false])(
    '[RN-12] of a command whose effects landed: as its result says (undoable: %s)',
    async (undoable) => {
      const result = { success: true, stdout: '', stderr: '', exit_code: 0, execution_time: 1, undoable };
      report = () => ({
        status: 'completed',
        result: { ...result, changed_files: [{ path: 'x.md', operation: 'modified' }] },
      });
      const { approval_id, tool_id } = (
        await execute('execute_command', { command: 'npm', args: ['run', 'format'] })
      ).body;
      await as().post(`/my/approvals/${approval_id}/confirm`);
      await endOf(tool_id);
      expect((await as().get(`/my/tools/${tool_id}`)).execution).toMatchObject({ undoable });
      const asked = await as().post(`/my/tools/${tool_id}/undo`);
      expect(asked.body.code).toBe(undoable ? undefined : 'NOT_UNDOABLE');
    },
  );

  it('needs a runner of that workspace', async () => {
    const toolId = await written('w.md');
    await server.store.write(function* (tx) {
      yield* tx.update('projects', ada.projectId, { workspace: '/elsewhere' });
      yield* tx.update('tool_executions', toolId, { runner_id: 'gone' });
    });
    const refused = await as().post(`/my/tools/${toolId}/undo`);
    expect([refused.status, refused.body.code]).toEqual([503, 'NO_RUNNER']);
    await server.store.write(function* (tx) {
      yield* tx.update('projects', ada.projectId, { workspace: '/workspace' });
    });
  });
});

describe('[RE-2] the history', () => {
  it('comes in pages, newest first, without gaps or repetitions', async () => {
    report = completed;
    const person = await server.person(`history-${newId()}`, '/h');
    await server.runner(person, { runnerId: newId(), workspace: '/h' });
    const token = person.tokens.person;
    for (let i = 0; i < 7; i++) {
      await as(token).post('/my/tools/execute', { tool_name: 'read_file', tool_params: { path: `${i}.md` } });
    }
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await as(token).get(`/my/tools/history?limit=3${cursor}`);
      seen.push(...page.executions.map((one: { tool_params: { path: string } }) => one.tool_params.path));
      cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(['6.md', '5.md', '4.md', '3.md', '2.md', '1.md', '0.md']);
  });

  it('is filtered', async () => {
    const { executions } = await as().get('/my/tools/history?tool_name=write_file&status=cancelled');
    expect(executions.length).toBeGreaterThan(0);
    for (const one of executions) expect(one).toMatchObject({ tool_name: 'write_file', status: 'cancelled' });
  });

  it('[DA-3] is masked, and the detail is in full for its owner', async () => {
    report = completed;
    const secret = 'token=ghp_abcdefghijklmnopqrstuvwxyz';
    const { tool_id } = (await execute('search_files', { content: secret })).body;
    const { executions } = await as().get('/my/tools/history?limit=1');
    expect(JSON.stringify(executions)).not.toContain('ghp_abc');
    expect((await as().get(`/my/tools/${tool_id}`)).execution.tool_params.content).toBe(secret);
  });

  it.each(['x', 'e30', 'WzFd', encodeURIComponent('[1,2]')])('refuses the cursor %s', async (cursor) => {
    const answered = await server.send('GET', `/my/tools/history?cursor=${cursor}`, {
      token: ada.tokens.person,
    });
    expect([answered.status, answered.body.code]).toEqual([400, 'INVALID_QUERY']);
  });
});

describe('[RK-5] the policy', () => {
  it('[AG-4] removes tools that it denies for any arguments', async () => {
    const names = async (): Promise<string[]> =>
      (await as().get(`/my/projects/${ada.projectId}/tools/available`)).tools.map(
        (tool: { name: string }) => tool.name,
      );
    const before = await names();
    const rules = [
      { id: 'no-shell', effect: 'deny', tool: 'shell_*' },
      { id: 'no-deploy', effect: 'deny', tool: 'write_file', path: 'deploy/**' },
      { id: 'ask', effect: 'ask', tool: 'read_file' },
    ];
    expect((await as().put('/my/policy', { version: 1, rules })).body.policy.rules).toEqual(rules);
    expect(before.filter((name) => !name.startsWith('shell_'))).toEqual(await names());
    expect(before).toContain('shell_exec');
    await as().put('/my/policy', { version: 1, rules: [] });
  });

  it('is refused whole when a rule is wrong', async () => {
    const rule = {
      id: 'r',
      effect: 'deny',
      tool: 'read_file',
      matches: [{ tool: 'write_file', args: { path: 'a', content: '' } }],
    };
    const refused = await as().put('/my/policy', { version: 1, rules: [rule] });
    expect([refused.status, refused.body.code]).toEqual([400, 'POLICY_INVALID']);
    expect((await as().get('/my/policy')).policy.rules).toEqual([]);
    expect((await as().post('/my/policy/backtest', { rule })).body.code).toBe('POLICY_INVALID');
  });

  it('[PF-2] gives way to others while it judges calls that take long', async () => {
    const person = await server.person(`backtest-${newId()}`, '/b');
    const { post } = as(person.tokens.person);
    for (let i = 0; i < 8; i += 1)
      await post('/my/tools/execute', {
        tool_name: 'shell_exec',
        tool_params: { command: `echo ${i};`.repeat(2_000) },
      });
    const rule = { id: 'no-shell', effect: 'deny', tool: 'shell_exec' } as const;
    const file = { version: 1, rules: [] } as const;
    let turns = 0;
    const beat = setInterval(() => {
      turns += 1;
    });
    const about = { userId: person.userId, file: { ...file, rules: [] }, rules: [rule], since: undefined };
    const { considered } = await backtest(server.store, about);
    clearInterval(beat);
    expect([considered, turns > 3]).toEqual([8, true]);
  });

  it('says what a rule would have decided', async () => {
    const person = await server.person(`backtest-${newId()}`, '/b');
    const own = await server.runner(person, {
      runnerId: newId(),
      workspace: '/b',
      execute: () => completed(),
      preview: () => ({ preview: { kind: 'summary', summary: 's' }, digest_base: someDigest }),
    });
    const { post } = as(person.tokens.person);
    const call = async (tool_name: string, tool_params: object) =>
      (await post('/my/tools/execute', { tool_name, tool_params })).body;
    await call('read_file', { path: 'a.md' });
    const approved = await call('write_file', { path: 'docs/a.md', content: 'x' });
    await post(`/my/approvals/${approved.approval_id}/confirm`);
    await own.stream.until(
      ({ event, data }) =>
        event === 'tool.result' && (data as { tool_id: string }).tool_id === approved.tool_id,
    );
    const rejected = await call('write_file', { path: 'docs/b.md', content: 'x' });
    await post(`/my/projects/${person.projectId}/approvals/${rejected.approval_id}/reject`);
    const other = await call('write_file', { path: 'src/b.ts', content: 'x' });
    await post(`/my/tools/${other.tool_id}/cancel`);

    const rule = { id: 'docs', effect: 'allow', tool: 'write_file', path: 'docs/**' };
    const { body } = await post('/my/policy/backtest', { rule });
    expect(body).toEqual({
      success: true,
      considered: 4,
      matched: 2,
      would_change: 2,
      approved_before: 1,
      rejected_before: 1,
      examples: [rejected, approved].map(({ tool_id }) => ({
        tool_id,
        description: expect.stringContaining('docs/'),
        before: 'asks (MEDIUM)',
        after: 'runs without asking',
      })),
    });
    const deny = { id: 'no-reading', effect: 'deny', tool: 'read_file' };
    expect((await post('/my/policy/backtest', { rule: deny })).body).toMatchObject({
      matched: 1,
      examples: [{ before: 'runs without asking', after: 'denied' }],
    });
    const since = new Date(Date.now() + 60_000).toISOString();
    expect((await post('/my/policy/backtest', { rule, since })).body.considered).toBe(0);
  });
});

describe('a runner', () => {
  it('[EX-7] is told what to do with each call, and keeps the head of the audit chain', async () => {
    report = completed;
    const { tool_id } = (await execute('read_file', { path: 'a.md' })).body;
    const { body } = await as(ada.tokens.runner).post(
      `/my/projects/${ada.projectId}/runners/runner-1/heartbeat`,
      {
        queued: [],
        executing: ['nobody-knows-it'],
        unacknowledged: [tool_id],
      },
    );
    expect(body).toEqual({
      success: true,
      calls: { 'nobody-knows-it': 'cancel', [tool_id]: 'acknowledged' },
      limits: sentLimits(defaultLimits),
      audit_head: expect.stringMatching(/^\d+:[0-9a-f]{64}$/),
    });
    const { runners } = await as().get('/my/runners');
    expect(runners).toMatchObject([{ runner_id: 'runner-1', connected: true, workspace: '/workspace' }]);
  });

  it('must have a stream before it has a heartbeat', async () => {
    const answered = await as(ada.tokens.runner).post(
      `/my/projects/${ada.projectId}/runners/stranger/heartbeat`,
      {
        queued: [],
        executing: [],
        unacknowledged: [],
      },
    );
    expect(answered.status).toBe(404);
  });
});

describe('messages', () => {
  it('come in pages, oldest first', async () => {
    const person = await server.person(`talker-${newId()}`);
    const { get, post } = as(person.tokens.person);
    const path = `/my/projects/${person.projectId}/chat/messages`;
    for (const content of ['one', 'two', 'three'])
      await post(path, { content, session_id: person.sessionId });
    const first = await get(`${path}?limit=2`);
    const second = await get(`${path}?limit=2&cursor=${first.next_cursor}`);
    const texts = [...first.messages, ...second.messages].map(({ content }: { content: string }) => content);
    expect(texts).toEqual(['one', 'two', 'three']);
    expect(second.next_cursor).toBeNull();
    expect((await server.send('GET', `${path}?cursor=zzz`, { token: person.tokens.person })).status).toBe(
      400,
    );
  });

  it('start a session where there is none', async () => {
    const { body } = await as().post('/my/projects', { name: 'empty' });
    const path = `/my/projects/${body.project.project_id}/chat/messages`;
    expect(await as().get(path)).toEqual({ success: true, messages: [], queued: [], next_cursor: null });
    expect((await as().post(path, { content: 'hi' })).status).toBe(200);
    expect((await as().get(path)).messages).toMatchObject([{ content: 'hi', role: 'user' }]);
  });

  it('go to the session that was spoken in last, and never to an agent’s', async () => {
    const server = await TestServer.start({}, { agent: undefined }); // with its own agent
    const joe = await server.person('joe');
    const path = `/my/projects/${joe.projectId}`;
    const post = async (to: string, body: object) =>
      (await server.send('POST', path + to, { token: joe.tokens.person, body })).body;
    const say = async (body: object) => {
      const { session_id, run_id } = await post('/chat/messages', { content: 'hello', ...body });
      const run = async () =>
        (await server.send('GET', `/my/runs/${run_id}`, { token: joe.tokens.person })).body.run.status;
      await expect.poll(run).toBe('completed');
      return session_id;
    };
    const open = async (title: string) => (await post('/sessions', { title })).session.session_id;
    expect(await say({})).toBe(joe.sessionId); // the project's first session, which is still empty
    const [one, two] = [await open('one'), await open('two')];
    await say({ session_id: two });
    await say({ session_id: one });
    await server.send('POST', '/my/tools/execute', {
      token: joe.tokens.agent,
      body: { tool_name: 'nothing', tool_params: {} },
    });
    expect(await say({})).toBe(one);
    const listed = await server.send('GET', `${path}/sessions`, { token: joe.tokens.person });
    const ids = listed.body.sessions.map(({ session_id }: { session_id: string }) => session_id);
    expect(ids.slice(0, 3)).toEqual([one, two, joe.sessionId]);

    // If only an agent has used the project, the person begins a session of their own.
    const kim = await server.person('kim');
    const { body } = await server.send('POST', '/my/projects', {
      token: kim.tokens.person,
      body: { name: 'n' },
    });
    const { project_id } = body.project;
    const token = await server.send('POST', '/my/tokens', {
      token: kim.tokens.person,
      body: { name: 'Helper', scope: 'agent', project_id },
    });
    const call = await server.send('POST', '/my/tools/execute', {
      token: token.body.token,
      body: { tool_name: 'nothing', tool_params: {} },
    });
    expect(call.body.code).toBe('UNKNOWN_TOOL');
    const said = await server.send('POST', `/my/projects/${project_id}/chat/messages`, {
      token: kim.tokens.person,
      body: { content: 'hello' },
    });
    const sessions = await server.send('GET', `/my/projects/${project_id}/sessions`, {
      token: kim.tokens.person,
    });
    expect(sessions.body.sessions).toMatchObject([{ session_id: said.body.session_id }]);
    await server.close();
  });

  it('stay in their project', async () => {
    const { body } = await as().post('/my/projects', { name: 'another' });
    const path = `/my/projects/${body.project.project_id}/chat/messages`;
    expect((await as().post(path, { content: 'hi', session_id: ada.sessionId })).status).toBe(404);
  });
});

it('[OB-1] counts per tool', async () => {
  const { tools, series, bucket_seconds } = await as().get('/my/tools/metrics');
  const counted = (rows: readonly { total_calls: number }[]) =>
    rows.reduce((sum, { total_calls }) => sum + total_calls, 0);
  expect(counted(series)).toBe(counted(tools));
  expect(bucket_seconds).toBe(24 * 3600);
  const { total_calls, success_count, avg_execution_time_ms } = tools.find(
    ({ tool_name }: { tool_name: string }) => tool_name === 'read_file',
  );
  expect(total_calls).toBeGreaterThanOrEqual(success_count);
  expect(avg_execution_time_ms).toBeGreaterThan(0);
  const single = await server.person(`single-${newId()}`);
  const ofProject = `/my/tools/metrics?project_id=${single.projectId}`;
  expect((await as(single.tokens.person).get(ofProject)).tools).toEqual([]);
  expect((await server.send('GET', ofProject, { token: ada.tokens.person })).status).toBe(404);
  const since = new Date(Date.now() + 60_000).toISOString();
  expect((await as().get(`/my/tools/metrics?since=${since}`)).tools).toEqual([]);
});
