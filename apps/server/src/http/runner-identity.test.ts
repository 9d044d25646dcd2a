import { runnerKey } from '@countersign/engine';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, signToken, TestServer } from '../testing/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start({ executeWaitMs: 2_000 });
});
afterAll(() => server.close());

const execute = (person: Person, tool_name: string, tool_params: object, token = person.tokens.person) =>
  server.send('POST', '/my/tools/execute', {
    token,
    body: { tool_name, tool_params, session_id: person.sessionId },
  });
const approve = (person: Person, approvalId: string) =>
  server.send('POST', `/my/approvals/${approvalId}/confirm`, { token: person.tokens.person, body: {} });
const state = async (person: Person, toolId: string) =>
  (await server.send('GET', `/my/tools/${toolId}`, { token: person.tokens.person })).body.execution;

describe('a runner over HTTP', () => {
  it('[EX-6] is one program: a copy of it is refused, it itself may come again', async () => {
    const ada = await server.person('ada');
    const listen = async (instance: string, token?: string) =>
      server.listen(`/my/stream?runner=r&workspace=/workspace&instance=${instance}`, {
        token: token ?? ada.tokens.runner,
      });
    const first = await listen('journal');
    await first.untilListening();
    const copy = await listen('copy', await signToken('ada', 'runner'));
    expect(copy.status).toBe(409);
    const again = await listen('journal');
    expect(again.status).toBe(200);
    await again.untilListening();
    const { body } = await server.send('GET', '/my/runners', { token: ada.tokens.person });
    expect(body.runners).toMatchObject([{ runner_id: 'r', connected: true }]);
  });

  it.each([
    ['/home/eve/p', '/home/eve/p/'],
    ['/home/eve//q/.', '/home/eve/q'],
  ])('[EX-10] of %s serves the project of %s', async (ofProject, ofRunner) => {
    const eve = await server.person(`eve-${ofRunner}`);
    const { body } = await server.send('POST', '/my/projects', {
      token: eve.tokens.person,
      body: { name: 'p', workspace: ofProject },
    });
    const { project_id } = body.project;
    const session = await server.send('POST', `/my/projects/${project_id}/sessions`, {
      token: eve.tokens.person,
      body: {},
    });
    const { session_id } = session.body.session;
    const there = { ...eve, projectId: project_id, sessionId: session_id };
    const runner = await server.runner(there, { workspace: ofRunner });
    expect((await execute(there, 'read_file', { path: 'a.md' })).body.status).toBe('completed');
    runner.close();
  });

  it('[EV-3] is waited for while only a front end listens', async () => {
    const dan = await server.person('dan');
    const screen = await server.listen('/my/stream', { token: dan.tokens.front_end });
    await screen.untilListening();
    const { body } = await execute(dan, 'write_file', { path: 'a.md', content: 'x' });
    await approve(dan, body.approval_id);
    expect((await state(dan, body.tool_id)).status).toBe('approved');
    const runner = await server.runner(dan);
    await screen.until(({ event }) => event === 'tool.result');
    expect(runner.executed.map(({ tool_id }) => tool_id)).toEqual([body.tool_id]);
    expect(screen.events.map(({ event }) => event)).not.toContain('tool.execution_signal');
    runner.close();
  });
});

describe('[RN-3] an undo', () => {
  it('that was not requested is ignored, and one of a late result can be requested', async () => {
    const fay = await server.person('fay', '/fay');
    const runner = await server.runner(fay, { workspace: '/fay', execute: () => undefined });
    const { body } = await execute(fay, 'write_file', { path: 'a.md', content: 'x' });
    const shown = await runner.stream.until(({ event }) => event === 'approval.updated');
    await server.send('POST', `/my/approvals/${body.approval_id}/confirm`, {
      token: fay.tokens.person,
      body: { digest: (shown.data as { digest: string }).digest },
    });
    await expect.poll(async () => (await state(fay, body.tool_id)).status).toBe('executing');
    const gone = { id: 'runner-1', userId: 'fay', workspace: '/fay', capabilities: [] };
    await server.store.write((tx) => tx.update('runners', runnerKey('fay', gone.id), { connected: false }));
    await server.running.engine.assignments.lost(gone);
    const report = (more: object) =>
      server.send('POST', `/my/projects/${fay.projectId}/tools/${body.tool_id}/result`, {
        token: fay.tokens.runner,
        body: { status: 'completed', result: null, runner_id: 'runner-1', ...more },
      });
    const result = { success: true, changed_files: [{ path: 'a.md', operation: 'modified' }] };
    expect((await report({ result })).status).toBe(200);
    expect((await report({ undo_id: 'never-asked' })).body.code).toBe('NOT_UNDOABLE');
    expect((await state(fay, body.tool_id)).undone_at).toBeNull();
    const asked = await server.send('POST', `/my/tools/${body.tool_id}/undo`, {
      token: fay.tokens.person,
      body: {},
    });
    expect((await report({ undo_id: asked.body.undo_id })).status).toBe(200);
    expect(await state(fay, body.tool_id)).toMatchObject({ status: 'failed', undone_at: expect.any(String) });
    runner.close();
  });
});
