import { newId } from '@countersign/engine';
import * as rows from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptedRunner } from '../testing/scripted-runner.ts';
import { type Person, TestServer } from '../testing/test-server.ts';

let server: TestServer;
let ada: Person;
let bob: Person;
let runner: ScriptedRunner;

beforeAll(async () => {
  server = await TestServer.start({ executeWaitMs: 30_000 });
  ada = await server.person('ada');
  bob = await server.person('bob', '/bobs');
  runner = await server.runner(ada, {
    execute: () => ({ status: 'completed', result: { success: true }, execution_time_ms: 3 }),
  });
});
afterAll(() => server.close());

const send = (method: string, path: string, body?: unknown, who = ada) =>
  server.send(method, path, { token: who.tokens.person, ...(body !== undefined && { body }) });

async function conversation(title: string, ...texts: string[]) {
  const sessionId = newId();
  const place = { user_id: ada.userId, session_id: sessionId };
  await server.store.write(function* (tx) {
    const at = server.store.now();
    const row = rows.sessionRow({ id: sessionId, user_id: ada.userId, project_id: ada.projectId, title });
    yield* tx.insert('sessions', { ...row, last_message_at: at });
    for (const [index, content] of texts.entries()) {
      const said = { role: 'user', tool_calls: null, position: index + 1, content } as const;
      yield* tx.insert('messages', rows.messageRow({ ...place, ...said, id: `${sessionId}-${index}` }));
    }
  });
  return { sessionId, messageId: (index: number) => `${sessionId}-${index}` };
}

describe('the transcript after a reload', () => {
  /** A call that waits for its person. */
  const pending = async (path: string) =>
    (
      await send('POST', '/my/tools/execute', {
        tool_name: 'write_file',
        tool_params: { path, content: 'x' },
        session_id: ada.sessionId,
      })
    ).body;
  const decisionOf = async (tool_id: string) => {
    const { body } = await send('GET', `/my/tools/history?session_id=${ada.sessionId}`);
    const listed = body.executions.find((call: { tool_id: string }) => call.tool_id === tool_id);
    const detail = (await send('GET', `/my/tools/${tool_id}`)).body.execution;
    expect(detail.decision).toEqual(listed.decision);
    return listed.decision;
  };

  it('[AP-5] has the decision of each call, with device, scope and what was told to the agent', async () => {
    const approved = await pending('a.md');
    expect(await decisionOf(approved.tool_id)).toBeNull();
    const yes = { device: 'phone', scope: 'session' };
    expect((await send('POST', `/my/approvals/${approved.approval_id}/approve`, yes)).status).toBe(200);
    expect(await decisionOf(approved.tool_id)).toEqual({
      status: 'approved',
      scope: 'session',
      device: 'phone',
      reason: null,
      message: null,
      decided_at: expect.stringMatching(/^20/),
    });
    const resolved = await runner.stream.until(({ event }) => event === 'approval.resolved');
    expect(resolved.data).toMatchObject({ scope: 'session', device: 'phone', status: 'approved' });
  });

  it('[AP-4] names the scope of the grant that allowed the call', async () => {
    const granted = await pending('b.md');
    expect(granted.approval_id).toBeNull();
    expect(await decisionOf(granted.tool_id)).toMatchObject({
      status: 'approved',
      scope: 'session',
      device: null,
    });
  });

  it('[AP-5] has the message of a rejection, and nothing for a harmless call', async () => {
    await server.store.write(function* (tx) {
      for (const { id } of yield* tx.grantsOf(ada.userId)) yield* tx.update('grants', id, { revoked_at: 1 });
    });
    const rejected = await pending('c.md');
    const no = { reason: 'no', message: 'use d.md', device: 'laptop' };
    await send('POST', `/my/approvals/${rejected.approval_id}/reject`, no);
    expect(await decisionOf(rejected.tool_id)).toMatchObject({ ...no, status: 'rejected', scope: null });
    const { body } = await send('POST', '/my/tools/execute', {
      tool_name: 'read_file',
      tool_params: { path: 'a.md' },
      session_id: ada.sessionId,
    });
    expect(await decisionOf(body.tool_id)).toBeNull();
  });

  it('[RE-2] history is searched by words', async () => {
    const found = async (q: string) => {
      const { body } = await send('GET', `/my/tools/history?q=${encodeURIComponent(q)}`);
      return body.executions.map(({ tool_params }: { tool_params: { path: string } }) => tool_params.path);
    };
    expect(await found('C.MD write')).toEqual(['c.md']);
    expect(await found('nowhere')).toEqual([]);
    expect((await send('GET', '/my/tools/history?q=%20')).body.code).toBe('INVALID_QUERY');
  });
});

describe('conversations', () => {
  it('are searched by title and messages', async () => {
    const { sessionId } = await conversation('Отчёт', 'Look at the Parser.');
    const found = async (q: string) => {
      const path = `/my/projects/${ada.projectId}/sessions?q=${encodeURIComponent(q)}`;
      return (await send('GET', path)).body.sessions.map((one: { session_id: string }) => one.session_id);
    };
    expect([await found('отчёт'), await found('parser look'), await found('%')]).toEqual([
      [sessionId],
      [sessionId],
      [],
    ]);
    expect((await send('GET', `/my/projects/${ada.projectId}/sessions?q=x`, undefined, bob)).status).toBe(
      404,
    );
  });

  it('are deleted: no route finds them any more, and their calls stay', async () => {
    const { sessionId, messageId } = await conversation('Gone', 'Hello.');
    expect((await send('DELETE', `/my/sessions/${sessionId}`, undefined, bob)).status).toBe(404);
    expect((await send('DELETE', `/my/sessions/${sessionId}`)).body).toEqual({ success: true });
    const asked = [
      await send('DELETE', `/my/sessions/${sessionId}`),
      await send('PATCH', `/my/sessions/${sessionId}`, { title: 'Back' }),
      await send('GET', `/my/sessions/${sessionId}/rewind?message_id=${messageId(0)}`),
      await send('POST', `/my/sessions/${sessionId}/branch`, { message_id: messageId(0) }),
      await send('POST', `/my/projects/${ada.projectId}/chat/messages`, {
        content: 'x',
        session_id: sessionId,
      }),
      await send('GET', `/my/projects/${ada.projectId}/chat/messages?session_id=${sessionId}`),
      await send('POST', '/my/tools/execute', {
        tool_name: 'read_file',
        tool_params: { path: 'a.md' },
        session_id: sessionId,
      }),
    ];
    expect(asked.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404, 404]);
    const { body } = await send('GET', `/my/projects/${ada.projectId}/sessions`);
    expect(body.sessions.map((one: { title: string }) => one.title)).not.toContain('Gone');
  });

  it('are rewound: the messages are marked, and a branch continues from an earlier one', async () => {
    const { sessionId, messageId } = await conversation('Plan', 'One.', 'Two.', 'Three.');
    const rewind = { message_id: messageId(1), files: true };
    const answered = await send('POST', `/my/sessions/${sessionId}/rewind`, rewind);
    expect(answered.body).toMatchObject({ messages: 2, files: [] });
    const listed = async (id: string) =>
      (await send('GET', `/my/projects/${ada.projectId}/chat/messages?session_id=${id}`)).body.messages.map(
        (one: { content: string; rewound?: boolean }) => [one.content, one.rewound],
      );
    expect(await listed(sessionId)).toEqual([
      ['One.', undefined],
      ['Two.', true],
      ['Three.', true],
    ]);
    const branch = await send('POST', `/my/sessions/${sessionId}/branch`, { message_id: messageId(0) });
    expect(branch.body.session).toMatchObject({ title: 'Plan (2)', project_id: ada.projectId });
    expect(await listed(branch.body.session.session_id)).toEqual([['One.', undefined]]);
    expect((await send('POST', `/my/sessions/${sessionId}/rewind`, rewind, bob)).status).toBe(404);
    expect((await send('POST', `/my/sessions/${sessionId}/rewind`, { files: 1 })).body.code).toBe(
      'INVALID_BODY',
    );
    expect((await send('POST', `/my/sessions/${sessionId}/rewind`, { files: 1 }, bob)).status).toBe(404);
  });
});
