import { newId } from '@countersign/engine';
import { errorBodySchema, type Route, type RouteName, routes, type TokenScope } from '@countersign/protocol';
import * as rows from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptedRunner } from '../testing/scripted-runner.ts';
import { type Answered, type Person, someDigest, somePreview, TestServer } from '../testing/test-server.ts';

let server: TestServer;
let ada: Person;
let bob: Person;
let runner: ScriptedRunner;
/** A runner that never continues: its calls stay in their state. */
let idleRunner: ScriptedRunner;

beforeAll(async () => {
  server = await TestServer.start({ executeWaitMs: 30_000 });
  ada = await server.person('ada');
  bob = await server.person('bob', '/bobs');
  runner = await server.runner(ada, {
    capabilities: ['trials'],
    execute: ({ tool_name }) => ({
      status: 'completed',
      result: {
        success: true,
        ...(tool_name === 'write_file' && { changed_files: [{ path: 'a.md', operation: 'modified' }] }),
      },
      execution_time_ms: 3,
    }),
    undo: () => ({ status: 'completed', result: { success: true } }),
  });
  idleRunner = await server.runner(bob, {
    runnerId: 'runner-2',
    workspace: '/bobs',
    execute: () => undefined,
    preview: () => undefined,
  });
});
afterAll(() => server.close());

const call = (person: Person, tool_name: string, tool_params: object) =>
  server.send('POST', '/my/tools/execute', {
    token: person.tokens.person,
    body: { tool_name, tool_params, session_id: person.sessionId },
  });

/** A call that waits for approval. */
async function pending(person: Person): Promise<{ toolId: string; approvalId: string }> {
  const { body } = await call(person, 'write_file', { path: `${newId()}.md`, content: 'x' });
  return { toolId: body.tool_id, approvalId: body.approval_id };
}

async function cancelAll(person: Person): Promise<void> {
  const { body } = await server.send('GET', '/my/approvals', { token: person.tokens.person });
  for (const { tool_id } of body.approvals) {
    await server.send('POST', `/my/tools/${tool_id}/cancel`, { token: person.tokens.person, body: {} });
  }
}

interface Example {
  readonly params?: Record<string, string>;
  readonly query?: string;
  readonly body?: unknown;
}

/** The runner of each person. */
const runnerOf = (who: Person): string => (who === ada ? 'runner-1' : 'runner-2');

/** A valid call of each route, by a person who owns everything that it names. A missing route does not compile. */
const examples: { readonly [Name in RouteName]: (who: Person) => Example | Promise<Example> } = {
  sendMessage: ({ projectId }) => ({ params: { project_id: projectId }, body: { content: 'hello' } }),
  listMessages: ({ projectId }) => ({ params: { project_id: projectId }, query: '?limit=1' }),
  changeQueuedMessage: async (who) => ({
    params: { project_id: who.projectId, message_id: await queued(who) },
    body: { content: 'in other words' },
  }),
  removeQueuedMessage: async (who) => ({
    params: { project_id: who.projectId, message_id: await queued(who) },
  }),
  sendQueuedMessage: async (who) => ({
    params: { project_id: who.projectId, message_id: await queued(who) },
  }),
  projectStream: ({ projectId }) => ({ params: { project_id: projectId } }),
  personStream: () => ({}),
  availableTools: ({ projectId }) => ({ params: { project_id: projectId } }),
  submitResult: async (who) => ({
    params: { project_id: who.projectId, tool_id: await executing(who) },
    body: { status: 'completed', result: { success: true }, runner_id: runnerOf(who) },
  }),
  submitProgress: async (who) => ({
    params: { project_id: who.projectId, tool_id: await executing(who) },
    body: { progress: 40, message: 'half way', runner_id: runnerOf(who) },
  }),
  askForHost: async (who) => ({
    params: { project_id: who.projectId, tool_id: await executing(who) },
    body: { host: 'api.example.org', runner_id: runnerOf(who) },
  }),
  startExecution: async (who) => ({
    params: { project_id: who.projectId, tool_id: await signalled(who) },
    body: { digest: null, runner_id: runnerOf(who) },
  }),
  approve: async (who) => ({
    params: { project_id: who.projectId, approval_id: (await pending(who)).approvalId },
    body: { decision: 'approved', device: 'phone' },
  }),
  reject: async (who) => ({
    params: { project_id: who.projectId, approval_id: (await pending(who)).approvalId },
    body: { reason: 'no', message: 'try another way' },
  }),
  tryCall: async (who) => ({
    params: { project_id: who.projectId, approval_id: await triable(who) },
    body: { device: 'phone' },
  }),
  submitPreview: async (who) => ({
    params: { project_id: who.projectId, approval_id: (await pending(who)).approvalId },
    body: {
      runner_id: runnerOf(who),
      revision: 1,
      reasons: [],
      preview: somePreview('write_file'),
      digest_base: someDigest,
      risk_level: 'MEDIUM',
      network: false,
    },
  }),
  heartbeat: (who) => ({
    params: { project_id: who.projectId, runner_id: runnerOf(who) },
    body: { queued: [], executing: ['unknown'], unacknowledged: [] },
  }),
  executeTool: ({ sessionId }) => ({
    body: { tool_name: 'read_file', tool_params: { path: 'a.md' }, session_id: sessionId },
  }),
  getExecution: async (who) => ({ params: { tool_id: (await pending(who)).toolId } }),
  cancelExecution: async (who) => ({ params: { tool_id: (await pending(who)).toolId }, body: {} }),
  undoExecution: async (who) => ({ params: { tool_id: await undoable(who) }, body: {} }),
  history: () => ({ query: '?limit=2&status=completed' }),
  metrics: () => ({}),
  listApprovals: () => ({}),
  getApproval: async (who) => ({ params: { approval_id: (await pending(who)).approvalId } }),
  approveById: async (who) => ({
    params: { approval_id: (await pending(who)).approvalId },
    body: { decision: 'approved' },
  }),
  confirm: async (who) => ({ params: { approval_id: (await pending(who)).approvalId }, body: {} }),
  rejectById: async (who) => ({
    params: { approval_id: (await pending(who)).approvalId },
    body: { reason: 'no', message: 'try another way' },
  }),
  listGrants: () => ({}),
  revokeGrant: async (who) => ({ params: { grant_id: await grant(who) } }),
  getPolicy: () => ({}),
  putPolicy: () => ({ body: { version: 1, rules: [] } }),
  backtestPolicy: () => ({ body: { rule: { id: 'no-writing', effect: 'deny', tool: 'write_file' } } }),
  listTokens: () => ({}),
  createToken: () => ({ body: { name: 'laptop', scope: 'runner', expires_in_seconds: 3600 } }),
  revokeToken: async ({ tokens }) => ({
    params: {
      token_id: (
        await server.send('POST', '/my/tokens', {
          token: tokens.person,
          body: { name: 'gone soon', scope: 'agent' },
        })
      ).body.details.token_id,
    },
  }),
  signIn: () => ({
    body: { code: new URL(server.running.signInLink() as string).hash.slice('#sign-in='.length) },
  }),
  listRunners: () => ({}),
  listProjects: () => ({}),
  createProject: () => ({ body: { name: 'another' } }),
  listSessions: ({ projectId }) => ({ params: { project_id: projectId } }),
  createSession: ({ projectId }) => ({ params: { project_id: projectId }, body: { title: 'new' } }),
  changeSession: ({ sessionId }) => ({ params: { session_id: sessionId }, body: { title: 'renamed' } }),
  getModel: () => ({}),
  getRun: async (who) => ({ params: { run_id: await run(who) } }),
  stopRun: async (who) => ({ params: { run_id: await run(who) } }),
  deleteSession: async (who) => ({ params: { session_id: (await conversation(who)).sessionId } }),
  previewRewind: async (who) => {
    const { sessionId, messageId } = await conversation(who);
    return { params: { session_id: sessionId }, query: `?message_id=${messageId}` };
  },
  rewindSession: async (who) => {
    const { sessionId, messageId } = await conversation(who);
    return { params: { session_id: sessionId }, body: { message_id: messageId, files: true } };
  },
  branchSession: async (who) => {
    const { sessionId, messageId } = await conversation(who);
    return { params: { session_id: sessionId }, body: { message_id: messageId } };
  },
  runChanges: async (who) => ({ params: { run_id: (await conversation(who)).runId } }),
  undoRun: async (who) => ({ params: { run_id: (await conversation(who)).runId }, body: {} }),
};

/** A conversation with one message and a run that changed a file. */
async function conversation(who: Person): Promise<{ sessionId: string; messageId: string; runId: string }> {
  const [sessionId, messageId, runId, toolId] = [newId(), newId(), newId(), newId()];
  const place = { user_id: who.userId, project_id: who.projectId, session_id: sessionId };
  const now = server.store.now();
  const { sessionRow, messageRow, runRow, executionRow, fileChangeRow } = rows;
  await server.store.write(function* (tx) {
    yield* tx.insert('sessions', sessionRow({ ...place, id: sessionId, last_message_at: now }));
    yield* tx.insert('runs', runRow({ ...place, id: runId, status: 'completed', ended_at: now }));
    const said = { user_id: who.userId, session_id: sessionId, run_id: runId, created_at: now };
    yield* tx.insert('messages', messageRow({ ...said, id: messageId, role: 'user', tool_calls: null }));
    yield* tx.insert('messages', messageRow({ ...said, id: `${runId}-0`, position: 2 }));
    const call = executionRow({
      ...place,
      id: toolId,
      run_id: runId,
      step: 0,
      call_index: 0,
      created_at: now,
    });
    yield* tx.insert('tool_executions', {
      ...call,
      status: 'completed',
      undoable: true,
      undone_at: null,
      undo_id: null,
      runner_id: runnerOf(who),
    });
    const change = { user_id: who.userId, session_id: sessionId, run_id: runId, tool_id: toolId };
    yield* tx.insert('file_changes', fileChangeRow({ ...change, id: `${toolId}-0` }));
  });
  return { sessionId, messageId, runId };
}

/** A harmless call that was signalled to its runner and has no result yet. Bob's runner is the idle one. */
async function signalled(who: Person): Promise<string> {
  const toolId = newId();
  const now = server.store.now();
  await server.store.write(function* (tx) {
    const { executionRow, payloadRow } = rows;
    yield* tx.insert('tool_executions', {
      ...executionRow({
        id: toolId,
        user_id: who.userId,
        project_id: who.projectId,
        session_id: who.sessionId,
      }),
      status: 'approved',
      risk_level: 'LOW',
      runner_id: runnerOf(who),
      attempt: 1,
      approved_by: 'auto',
      approved_at: now,
      digest: null,
      grant_id: null,
      approval_id: null,
      result_digest: null,
      due_at: null,
      cancel_requested: false,
      completed_at: null,
    });
    yield* tx.insert('payloads', payloadRow({ id: toolId, user_id: who.userId }));
  });
  return toolId;
}
const executing = signalled;

async function undoable(who: Person): Promise<string> {
  const { toolId, approvalId } = await pending(who);
  if (who !== ada) return toolId;
  await server.send('POST', `/my/approvals/${approvalId}/confirm`, { token: who.tokens.person, body: {} });
  await runner.stream.until(
    ({ event, data }) => event === 'tool.result' && (data as { tool_id: string }).tool_id === toolId,
  );
  return toolId;
}

async function grant(who: Person): Promise<string> {
  const id = newId();
  await server.store.write(function* (tx) {
    yield* tx.insert('grants', rows.grantRow({ id, user_id: who.userId, project_id: who.projectId }));
  });
  return id;
}

/** A command that waits for approval and can be tried. */
async function triable(who: Person): Promise<string> {
  const { body } = await call(who, 'execute_command', { command: 'node', args: [`${newId()}.js`] });
  return body.approval_id;
}

let queuedMessages = 0;
async function queued(who: Person): Promise<string> {
  const id = newId();
  queuedMessages += 1;
  const place = { user_id: who.userId, project_id: who.projectId, session_id: who.sessionId };
  const row = rows.queuedMessageRow({ id, ...place, position: queuedMessages });
  await server.store.write((tx) => tx.insert('queued_messages', row));
  return id;
}

async function run(who: Person): Promise<string> {
  const id = newId();
  await server.store.write(function* (tx) {
    const place = { user_id: who.userId, project_id: who.projectId, session_id: who.sessionId };
    yield* tx.insert('runs', rows.runRow({ id, ...place }));
  });
  return id;
}

async function ask(
  name: RouteName,
  { params = {}, query = '', body }: Example,
  token: string | undefined,
): Promise<Answered> {
  const route: Route = routes[name];
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_all, param: string) => params[param] ?? 'missing');
  if (route.response !== 'stream') {
    return server.send(route.method, path + query, { token, ...(route.body && { body }) });
  }
  const stream = await server.listen(path + query, token === undefined ? {} : { token });
  if (stream.status === 200) stream.close();
  return { status: stream.status, body: undefined, text: '', headers: new Headers() };
}

const names = Object.keys(routes) as RouteName[];

describe.each(names)('%s', (name) => {
  const route: Route = routes[name];

  it('answers as its schema says', async () => {
    const answered = await ask(name, await examples[name](ada), ada.tokens.person);
    expect(answered.status, answered.text).toBe(route.status ?? 200);
    if (route.response !== 'stream') {
      const parsed = route.response.safeParse(answered.body);
      expect(parsed.error?.issues ?? []).toEqual([]);
      expect(parsed.data).toEqual(answered.body); // no fields beyond the schema
    }
    await cancelAll(ada);
  });

  it('[RE-3] answers another person as if there were nothing', async () => {
    const example = await examples[name](ada);
    if (!example.params) return; // the path names nothing
    const answered = await ask(name, example, bob.tokens.person);
    expect(answered.status).toBe(404);
    if (route.response !== 'stream') expect(errorBodySchema.parse(answered.body).code).toBe('NOT_FOUND');
    await cancelAll(ada);
  });

  it('[RE-5] needs a token', async () => {
    if (route.scopes === 'public') return;
    const answered = await ask(name, { params: everyParam, body: {} }, undefined);
    expect(answered.status).toBe(401);
  });
});

const everyParam = Object.fromEntries(
  [
    'project_id',
    'tool_id',
    'approval_id',
    'runner_id',
    'grant_id',
    'token_id',
    'run_id',
    'message_id',
    'session_id',
  ].map((name) => [name, 'x']),
);

/** Written out, because who may do what is a promise (AP-9): p person, f front end, r runner, a agent. */
const mayCall: Readonly<Record<RouteName, string>> = {
  sendMessage: 'pf--',
  listMessages: 'pf--',
  changeQueuedMessage: 'pf--',
  removeQueuedMessage: 'pf--',
  sendQueuedMessage: 'pf--',
  projectStream: 'pfr-',
  personStream: 'pfr-',
  availableTools: 'pf-a',
  submitResult: 'p-r-',
  submitProgress: 'p-r-',
  askForHost: 'p-r-',
  startExecution: 'p-r-',
  approve: 'pf--',
  reject: 'pf--',
  tryCall: 'pf--',
  submitPreview: 'p-r-',
  heartbeat: 'p-r-',
  executeTool: 'p--a',
  getExecution: 'pfra',
  cancelExecution: 'pf-a',
  undoExecution: 'pf--',
  history: 'pf--',
  metrics: 'pf--',
  listApprovals: 'pf--',
  getApproval: 'pfr-',
  approveById: 'pf--',
  confirm: 'pf--',
  rejectById: 'pf--',
  listGrants: 'pf--',
  revokeGrant: 'pf--',
  getPolicy: 'pf--',
  putPolicy: 'p---',
  backtestPolicy: 'pf--',
  listTokens: 'p---',
  createToken: 'p---',
  revokeToken: 'p---',
  signIn: 'pfra',
  listRunners: 'pf--',
  listProjects: 'pf-a',
  createProject: 'p---',
  listSessions: 'pf--',
  createSession: 'pf-a',
  changeSession: 'pf--',
  getModel: 'pf--',
  getRun: 'pf--',
  stopRun: 'pf--',
  deleteSession: 'pf--',
  previewRewind: 'pf--',
  rewindSession: 'pf--',
  branchSession: 'pf--',
  runChanges: 'pf--',
  undoRun: 'pf--',
};

describe('[AP-9] who may call what', () => {
  const scopes: readonly TokenScope[] = ['person', 'front_end', 'runner', 'agent'];
  it.each(names)('%s', async (name) => {
    const letters: string[] = [];
    for (const scope of scopes) {
      // The ids name nothing: a caller with the right scope gets 404 or 400, any other gets 403.
      const { status } = await ask(name, { params: everyParam, body: {} }, ada.tokens[scope]);
      letters.push(status === 403 ? '-' : (scope[0] as string));
    }
    expect(letters.join('')).toBe(mayCall[name]);
  });
});

describe('methods and addresses', () => {
  it.each(names)('[RE-3] %s takes its own method only', async (name) => {
    const { method, path }: Route = routes[name];
    const taken = names
      .filter((other) => routes[other].path === path)
      .map((other) => routes[other].method as string);
    for (const other of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].filter(
      (m) => !taken.includes(m),
    )) {
      const answered = await server.send(other, path.replaceAll(/\{\w+\}/g, 'x'), {
        token: ada.tokens.person,
      });
      expect([other, answered.status, answered.body.code, answered.headers.get('allow')]).toEqual([
        other,
        405,
        'METHOD_NOT_ALLOWED',
        taken.join(', '),
      ]);
    }
    expect(taken).toContain(method);
  });

  it('[RE-3] an unknown address is not found', async () => {
    const answered = await server.send('GET', '/my/secrets', { token: ada.tokens.person });
    expect([answered.status, errorBodySchema.parse(answered.body).code]).toEqual([404, 'NOT_FOUND']);
  });

  it('an address that cannot be decoded is not found', async () => {
    const answered = await server.send('GET', '/my/tools/%E0%A4%A', { token: ada.tokens.person });
    expect([answered.status, errorBodySchema.parse(answered.body).code]).toEqual([404, 'NOT_FOUND']);
  });
});

describe('[AP-9] an agent', () => {
  it('reads and cancels its own calls only', async () => {
    const { agent } = ada.tokens;
    const sessions = `/my/projects/${ada.projectId}/sessions`;
    const { session_id } = (await server.send('POST', sessions, { token: agent, body: {} })).body.session;
    const asked = await server.send('POST', '/my/tools/execute', {
      token: agent,
      body: { tool_name: 'write_file', tool_params: { path: 'agents.md', content: 'x' }, session_id },
    });
    const own = asked.body.tool_id;
    const persons = (await call(ada, 'write_file', { path: 'persons.md', content: 'x' })).body.tool_id;
    const read = async (id: string) => (await server.send('GET', `/my/tools/${id}`, { token: agent })).status;
    const cancel = async (id: string) =>
      (await server.send('POST', `/my/tools/${id}/cancel`, { token: agent, body: {} })).status;
    expect([await read(own), await read(persons)]).toEqual([200, 404]);
    expect([await cancel(own), await cancel(persons)]).toEqual([200, 404]);
    await cancelAll(ada);
  });
});

it('gives no call to the idle runner', () => {
  expect(idleRunner.executed).toEqual([]);
});
