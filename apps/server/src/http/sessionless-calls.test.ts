import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { officialClients } from '../testing/mcp-clients.ts';
import { type Person, TestServer } from '../testing/test-server.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const polling = { timeout: 10_000, interval: 10 };

let server: TestServer;
let people = 0;
beforeAll(async () => {
  server = await TestServer.start({ mcpHoldSeconds: 1 });
});
afterAll(() => server.close());

/** A new person with one project, and a runner that executes every call. */
async function newPerson(): Promise<Person> {
  people += 1;
  const workspace = `/work-${people}`;
  const person = await server.person(`person-${people}`, workspace);
  await server.runner(person, { runnerId: `runner-${people}`, workspace });
  return person;
}

const call = (token: string, path: string, session_id?: string) =>
  server.send('POST', '/my/tools/execute', {
    token,
    body: { tool_name: 'write_file', tool_params: { path, content: 'x' }, ...(session_id && { session_id }) },
  });
/** Approves a call and grants every change under src/ in its session. */
async function grant({ tokens }: Person, approvalId: string): Promise<void> {
  const body = { scope: 'class', pattern: 'src/**' };
  const approve = () =>
    server.send('POST', `/my/approvals/${approvalId}/approve`, { token: tokens.person, body });
  await expect.poll(async () => (await approve()).body.status, polling).toBe('approved');
}
const listedSessions = async ({ projectId, tokens }: Person) => {
  const { body } = await server.send('GET', `/my/projects/${projectId}/sessions`, { token: tokens.person });
  return body.sessions.map(({ session_id }: { session_id: string }) => session_id);
};
const callsOf = async ({ tokens }: Person) =>
  (await server.send('GET', '/my/tools/history', { token: tokens.person })).body.executions;

describe('[RE-2] a call that names no session (founding documents: workflow)', () => {
  it.each(['person', 'agent'] as const)('of a %s opens a new one, with an ordinary id', async (scope) => {
    const who = await newPerson();
    const first = (await call(who.tokens[scope], 'a.md')).body;
    const second = (await call(who.tokens[scope], 'b.md')).body;
    expect([first.session_id, second.session_id]).toEqual([
      expect.stringMatching(uuid),
      expect.stringMatching(uuid),
    ]);
    expect(new Set([first.session_id, second.session_id, who.sessionId]).size).toBe(3);
  });

  it.each(['person', 'agent'] as const)('[AP-4] of a %s: a grant made there ends with it', async (scope) => {
    const who = await newPerson();
    const { approval_id, session_id } = (await call(who.tokens[scope], 'src/a.md')).body;
    await grant(who, approval_id);
    const there = (await call(who.tokens[scope], 'src/b.md', session_id)).body;
    const elsewhere = (await call(who.tokens[scope], 'src/b.md')).body;
    expect([there.approval_id, elsewhere.status]).toEqual([null, 'awaiting_approval']);
  });

  it('[PF-1] costs no commit more than any other', async () => {
    const { tokens } = await newPerson();
    const units = vi.spyOn(server.store, 'write');
    const body = { tool_name: 'read_file', tool_params: { path: 'a.md' } };
    const { status } = (await server.send('POST', '/my/tools/execute', { token: tokens.person, body })).body;
    expect([status, units.mock.calls.length]).toEqual(['completed', 2]);
    units.mockRestore();
  });

  it.each(['person', 'agent'] as const)(
    '[AG-3] of a %s: limits hold over all of its token’s',
    async (scope) => {
      const who = await newPerson();
      const token = who.tokens[scope];
      const answers = await Promise.all(Array.from({ length: 14 }, (_, i) => call(token, `${i}.md`)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(4);
      for (const { body } of answers) {
        if (!body.approval_id) continue;
        await server.send('POST', `/my/approvals/${body.approval_id}/reject`, {
          token: who.tokens.person,
          body: {},
        });
      }
      const [taken] = answers.filter(({ status }) => status === 200);
      const { tool_params } = (await callsOf(who)).find(
        ({ tool_id }: { tool_id: string }) => tool_id === taken?.body.tool_id,
      );
      const again = (await call(token, tool_params.path)).body;
      await server.send('POST', `/my/approvals/${again.approval_id}/reject`, {
        token: who.tokens.person,
        body: {},
      });
      expect((await call(token, tool_params.path)).body.code).toBe('REJECTED_BEFORE');
    },
  );

  it('stays out of the list of conversations until a person writes there', async () => {
    const who = await newPerson();
    const own = await server.send('POST', `/my/projects/${who.projectId}/sessions`, {
      token: who.tokens.agent,
      body: {},
    });
    const calls = await Promise.all(Array.from({ length: 20 }, (_, i) => call(who.tokens.agent, `${i}.md`)));
    expect(await listedSessions(who)).toEqual([who.sessionId]);
    // The agent's calls are in the history.
    expect(await callsOf(who)).toHaveLength(20);
    const [session] = calls.map(({ body }) => body.session_id);
    for (const session_id of [session, own.body.session.session_id])
      await server.store.write((tx) => tx.update('sessions', session_id, { last_message_at: 5 }));
    // Sessions in which the person has written are listed.
    expect((await listedSessions(who)).toSorted()).toEqual(
      [session, own.body.session.session_id, who.sessionId].toSorted(),
    );
  });
});

describe.each(Object.entries(officialClients))('[AP-4] the calls of %s over MCP', (_, connect) => {
  const sessionsOf = async (person: Person): Promise<string[]> =>
    (await callsOf(person)).map(({ session_id }: { session_id: string }) => session_id);

  it('are one session, also those that come at once, and what is granted there holds', async () => {
    const who = await newPerson();
    const client = await connect({ address: server.address, token: who.tokens.agent });
    await Promise.all(['a.md', 'b.md', 'c.md'].map((path) => client.call('read_file', { path })));
    void client.call('write_file', { path: 'src/a.md', content: 'x' });
    const asked = await vi.waitFor(async () => {
      const { body } = await server.send('GET', '/my/approvals', { token: who.tokens.person });
      expect(body.approvals).toHaveLength(1);
      return body.approvals[0];
    }, polling);
    await grant(who, asked.approval_id);
    expect(await client.call('write_file', { path: 'src/b.md', content: 'x' })).toMatchObject({
      structuredContent: { status: 'success' },
    });
    const sessions = await sessionsOf(who);
    expect([sessions.length, new Set(sessions).size]).toEqual([5, 1]);
    expect(await listedSessions(who)).toEqual([who.sessionId]);
    await client.close();
  });

  it('begin a new session where the person ran one of them again', async () => {
    const who = await newPerson();
    const client = await connect({ address: server.address, token: who.tokens.agent });
    await client.call('read_file', { path: 'a.md' });
    const [first] = await sessionsOf(who);
    const body = { tool_name: 'read_file', tool_params: { path: 'a.md' }, session_id: first };
    await server.send('POST', '/my/tools/execute', { token: who.tokens.person, body });
    expect(await client.call('read_file', { path: 'b.md' })).toMatchObject({
      structuredContent: { status: 'success' },
    });
    const [second] = await sessionsOf(who);
    expect(second).not.toBe(first);
    await client.close();
  });

  it('begin a new session after the idle time, and where the person has spoken', async () => {
    const who = await newPerson();
    const client = await connect({ address: server.address, token: who.tokens.agent });
    await client.call('read_file', { path: 'a.md' });
    const [first] = await sessionsOf(who);
    const longAgo = server.store.now() - 1_801_000;
    const [{ tool_id }] = await callsOf(who);
    await server.store.write((tx) => tx.update('tool_executions', tool_id, { created_at: longAgo }));
    await client.call('read_file', { path: 'a.md' });
    const [second] = await sessionsOf(who);
    await server.store.write((tx) => tx.update('sessions', String(second), { last_message_at: 5 }));
    await client.call('read_file', { path: 'a.md' });
    const [third] = await sessionsOf(who);
    expect(new Set([first, second, third]).size).toBe(3);
    await client.close();
  });
});
