import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startAgent } from '../agent/start-agent.ts';
import { type Person, TestServer } from '../testing/test-server.ts';
import type { TestStream } from '../testing/test-stream.ts';

let server: TestServer;
let ada: Person;
let stream: TestStream;
beforeEach(async () => {
  server = await TestServer.start({}, { agent: startAgent });
  ada = await server.person('ada');
  stream = await server.listen('/my/stream', { token: ada.tokens.front_end });
  await stream.untilListening();
});
afterEach(() => server.close());

const send = (method: string, path: string, body?: unknown) =>
  server.send(method, path, { token: ada.tokens.front_end, body });
const messagesPath = () => `/my/projects/${ada.projectId}/chat/messages`;
const queuePath = (id: string) => `/my/projects/${ada.projectId}/chat/queue/${id}`;
const say = async (content: string, when_busy?: string) =>
  (
    await send('POST', messagesPath(), {
      content,
      session_id: ada.sessionId,
      ...(when_busy && { when_busy }),
    })
  ).body;
const conversation = async () => (await send('GET', `${messagesPath()}?session_id=${ada.sessionId}`)).body;
const spoken = async (): Promise<string[]> =>
  (await conversation()).messages
    .filter(({ role }: { role: string }) => role === 'user' || role === 'system')
    .map(({ role, content }: { role: string; content: string }) => `${role}: ${content}`);
const untilState = (state: string) =>
  stream.until(({ event, data }) => event === 'agent.state' && (data as { state: string }).state === state);
const switchTo = (mode: string) => send('PATCH', `/my/sessions/${ada.sessionId}`, { mode });

/** A runner whose `execute_command` waits until it is told to end. */
async function slowRunner() {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const runner = await server.runner(ada, {
    execute: async ({ tool_name }) => {
      if (tool_name === 'execute_command') await ended;
      return { status: 'completed', result: { success: true }, execution_time_ms: 1 };
    },
  });
  return { runner, end };
}

describe('[AG-5] the queue over HTTP', () => {
  it('is filled, changed, emptied, listed and taken by the agent', async () => {
    const { end } = await slowRunner();
    const started = await say('/run ls');
    expect(started).toMatchObject({ success: true, queued: false });
    await untilState('tool_execution');
    expect(await say('/run pwd')).toMatchObject({ success: false, code: 'RUN_ACTIVE' });
    const first = await say('/read_file path=a.md', 'queue');
    expect(first).toMatchObject({ queued: true, run_id: started.run_id });
    const second = await say('/read_file path=b.md', 'queue');
    const changed = await send('PUT', queuePath(first.message_id), { content: '/read_file path=c.md' });
    expect(changed.body.message).toMatchObject({ message_id: first.message_id, when_busy: 'queue' });
    expect((await send('DELETE', queuePath(second.message_id))).body).toEqual({ success: true });
    expect((await conversation()).queued).toMatchObject([{ content: '/read_file path=c.md' }]);
    end();
    await untilState('idle');
    expect(await spoken()).toEqual(['user: /run ls', 'user: /read_file path=c.md']);
    expect((await conversation()).queued).toEqual([]);
    expect((await send('PUT', queuePath(first.message_id), { content: 'x' })).body).toMatchObject({
      code: 'MESSAGE_SENT',
    });
  });

  it('is kept by Stop, which the transcript shows with the calls that never began', async () => {
    await server.runner(ada);
    const { run_id } = await say('/write_file path=a.md content=x\n/run npm test');
    await stream.until(({ event }) => event === 'tool.approval_request');
    const { message_id } = await say('/read_file path=b.md', 'queue');
    await send('POST', `/my/runs/${run_id}/stop`);
    await untilState('idle');
    const { messages, queued } = await conversation();
    expect(messages.at(-1)).toMatchObject({ role: 'system', content: 'You stopped this run.', run_id });
    const { tool_calls } = messages.at(-2);
    expect(tool_calls).toMatchObject([{ tool_name: 'write_file' }, { not_started: true, tool_id: null }]);
    const { execution } = (await send('GET', `/my/tools/${tool_calls[0].tool_id}`)).body;
    expect(execution).toMatchObject({ status: 'cancelled', not_started: true });
    expect(queued).toMatchObject([{ message_id }]);
    const sent = (await send('POST', `${queuePath(message_id)}/send`)).body;
    expect(sent).toMatchObject({ message_id, queued: false });
    await expect
      .poll(async () => (await send('GET', `/my/runs/${sent.run_id}`)).body.run.status)
      .toBe('completed');
    expect((await conversation()).queued).toEqual([]);
  });

  it.each([
    ['no text', { content: '' }],
    ['too much text', { content: 'x'.repeat(200_001) }],
    ['another field', { content: 'x', when_busy: 'later' }],
    ['nothing', {}],
  ])('[RE-4] refuses %s', async (_, body) => {
    expect((await send('PUT', queuePath('nothing'), body)).body.code).toBe('INVALID_BODY');
  });
});

describe('[AP-11] the mode over HTTP', () => {
  it('is part of the session, and told to every front end', async () => {
    expect((await switchTo('read_only')).body.session).toMatchObject({ mode: 'read_only', title: '' });
    await stream.until(({ event }) => event === 'session.changed');
    const { sessions } = (await send('GET', `/my/projects/${ada.projectId}/sessions`)).body;
    expect(sessions).toMatchObject([{ session_id: ada.sessionId, mode: 'read_only' }]);
    const { session } = (await send('POST', `/my/projects/${ada.projectId}/sessions`, {})).body;
    expect(session.mode).toBe('ask');
  });

  it('releases a waiting edit, which then runs without a decision', async () => {
    const runner = await server.runner(ada);
    await say('/write_file path=a.md content=x');
    await stream.until(({ event }) => event === 'tool.approval_request');
    expect(runner.executed).toEqual([]);
    await switchTo('accept_edits');
    await untilState('idle');
    expect(runner.executed).toMatchObject([{ tool_name: 'write_file', grant: { scope: 'mode' } }]);
    const { grants } = (await send('GET', '/my/grants')).body;
    expect(grants).toMatchObject([{ scope: 'mode', session_id: ada.sessionId, revoked_at: null, uses: 1 }]);
    await send('DELETE', `/my/grants/${grants[0].grant_id}`);
    const { sessions } = (await send('GET', `/my/projects/${ada.projectId}/sessions`)).body;
    expect(sessions[0].mode).toBe('ask');
  });

  it('[AP-9] an agent cannot switch it', async () => {
    const path = `/my/sessions/${ada.sessionId}`;
    for (const scope of ['agent', 'runner'] as const) {
      const answer = await server.send('PATCH', path, {
        token: ada.tokens[scope],
        body: { mode: 'accept_edits' },
      });
      expect(answer.status).toBe(403);
    }
    expect((await send('GET', '/my/grants')).body.grants).toEqual([]);
  });

  it('[AP-9] an agent gets nothing from the mode of a conversation that it did not open', async () => {
    await switchTo('accept_edits');
    const body = { tool_name: 'write_file', tool_params: { path: 'a.md', content: 'x' } };
    const named = { ...body, session_id: ada.sessionId };
    const answer = await server.send('POST', '/my/tools/execute', { token: ada.tokens.agent, body: named });
    expect(answer.body).toMatchObject({ code: 'NOT_FOUND' });
    // A person may switch the session of an agent, which then uses it.
    const { session_id } = (await server.send('POST', '/my/tools/execute', { token: ada.tokens.agent, body }))
      .body;
    await send('PATCH', `/my/sessions/${session_id}`, { mode: 'accept_edits' });
    const own = { ...body, session_id };
    const taken = await server.send('POST', '/my/tools/execute', { token: ada.tokens.agent, body: own });
    expect(taken.body).toMatchObject({ success: true, approval_id: null });
  });

  it.each([
    ['an unknown mode', { mode: 'yolo' }],
    ['nothing', {}],
    ['another field', { mode: 'ask', owner: 'eve' }],
    ['a long title', { title: 'x'.repeat(201) }],
  ])('[RE-4] refuses %s', async (_, body) => {
    const { body: answer } = await send('PATCH', `/my/sessions/${ada.sessionId}`, body);
    expect(answer.code).toBe('INVALID_BODY');
  });
});
