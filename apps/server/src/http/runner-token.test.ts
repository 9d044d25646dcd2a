import { checkShown } from '@countersign/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptedRunner } from '../testing/scripted-runner.ts';
import { type Person, signToken, someDigest, TestServer } from '../testing/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start({ executeWaitMs: 1 });
});
afterAll(() => server.close());

const command = (...words: string[]) => ({
  kind: 'command',
  commands: [words],
  cwd: '.',
  network: false,
  reversible: false,
  scripts: [],
});

/** A person with a runner at work, and a second token of scope runner that somebody else has. */
async function twoRunners(name: string) {
  const person = await server.person(name, `/${name}`);
  const runner = await server.runner(person, {
    workspace: `/${name}`,
    preview: () => ({ preview: command('npm', 'test'), digest_base: someDigest }),
    execute: () => undefined,
  });
  return { person, runner, other: await signToken(name, 'runner') };
}

async function asked(person: Person, runner: ScriptedRunner) {
  const { body } = await server.send('POST', '/my/tools/execute', {
    token: person.tokens.person,
    body: {
      tool_name: 'execute_command',
      tool_params: { command: 'npm', args: ['test'] },
      session_id: person.sessionId,
    },
  });
  await runner.stream.until(
    ({ event, data }) =>
      event === 'approval.updated' && (data as { approval_id: string }).approval_id === body.approval_id,
  );
  return body as { tool_id: string; approval_id: string };
}

const cardOf = async (person: Person, id: string) =>
  (await server.send('GET', `/my/approvals/${id}`, { token: person.tokens.person })).body.approval;
const confirm = (person: Person, id: string, digest: string) =>
  server.send('POST', `/my/approvals/${id}/confirm`, { token: person.tokens.person, body: { digest } });
const report = (person: Person, token: string, path: string, body: object) =>
  server.send('POST', `/my/projects/${person.projectId}${path}`, { token, body });
const listenAs = (token: string, runner: string, workspace: string, instance?: string) =>
  server.listen(
    `/my/stream?${new URLSearchParams({ runner, workspace, ...(instance !== undefined && { instance }) })}`,
    { token },
  );

/** Every report that a runner can send about a call, in the name of `runner_id`. */
const everything = (call: { tool_id: string; approval_id: string }, runner_id: string) => ({
  preview: [
    `/approvals/${call.approval_id}/preview`,
    {
      runner_id,
      revision: 1,
      reasons: [],
      risk_level: 'MEDIUM',
      network: false,
      preview: command('rm', '-rf', 'src'),
      digest_base: someDigest,
    },
  ],
  start: [`/tools/${call.tool_id}/start`, { digest: someDigest, runner_id }],
  progress: [`/tools/${call.tool_id}/progress`, { progress: 50, runner_id }],
  result: [`/tools/${call.tool_id}/result`, { status: 'failed', error: 'no', runner_id }],
  undo: [`/tools/${call.tool_id}/result`, { status: 'completed', result: null, undo_id: 'u', runner_id }],
  heartbeat: [
    `/runners/${runner_id}/heartbeat`,
    { queued: [], executing: [], unacknowledged: [], custom_tools: [] },
  ],
});

/** Runner-1 of a person, which served their workspace and is away. */
const goneRunner = (user_id: string) => ({
  id: `runner-1@${user_id}`,
  runner_id: 'runner-1',
  user_id,
  workspace: `/${user_id}`,
  capabilities: [],
  connected: false,
  last_seen_at: 0,
  instance: 'journal',
  node: null,
  stream: null,
  custom_tools: [],
  limits: {},
  policy: {},
});

describe('[AP-9] a token of scope runner', () => {
  it.each(['bound', 'unbound'] as const)(
    'that is %s says nothing in the name of a runner that is connected with another',
    async (kind) => {
      const name = `ada-${kind}`;
      const { person, runner, other } = await twoRunners(name);
      if (kind === 'bound') expect((await listenAs(other, 'runner-2', `/${name}`)).status).toBe(200);
      const call = await asked(person, runner);
      const before = await cardOf(person, call.approval_id);
      for (const [path, body] of Object.values(everything(call, 'runner-1')) as [string, object][]) {
        const answer = await report(person, other, path, body);
        expect([path, answer.status, answer.body.code]).toEqual([path, 403, 'RUNNER_TOKEN_BOUND']);
      }
      expect((await listenAs(other, 'runner-1', `/${name}`)).status).toBe(kind === 'bound' ? 403 : 409);
      const after = await cardOf(person, call.approval_id);
      expect({ ...after, remaining_ms: 0 }).toEqual({ ...before, remaining_ms: 0 });
      expect(after.preview).toEqual(command('npm', 'test'));
    },
  );

  it('belongs to the program that used it first: another one with the id of its runner needs a new token', async () => {
    const person = await server.person('bea', '/bea');
    const first = await listenAs(person.tokens.runner, 'r', '/bea', 'journal');
    expect(first.status).toBe(200);
    first.close();
    expect((await listenAs(person.tokens.runner, 'r', '/bea', 'copy')).status).toBe(403);
    expect((await listenAs(person.tokens.runner, 'r', '/bea', 'journal')).status).toBe(200);
    const beat = { queued: [], executing: [], unacknowledged: [] };
    const sent = (instance: string) =>
      report(person, person.tokens.runner, '/runners/r/heartbeat', { ...beat, instance });
    expect([(await sent('journal')).status, (await sent('copy')).status]).toEqual([200, 403]);
  });

  it('without an id is the same token for every spelling of its signature', async () => {
    const token = await signToken('cem', 'runner', { claims: { jti: undefined } });
    await server.person('cem', '/cem');
    expect((await listenAs(token, 'r', '/cem')).status).toBe(200);
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = letters.indexOf(token.at(-1) as string);
    const spellings = [0, 1, 2, 3].map((low) => token.slice(0, -1) + letters[(last & ~3) | low]);
    for (const spelling of spellings)
      expect([401, 403]).toContain((await listenAs(spelling, 'another', '/cem')).status);
  });

  it('[EX-6] takes no call of another runner by its own name either', async () => {
    const { person, runner, other } = await twoRunners('dov');
    expect((await listenAs(other, 'runner-2', '/dov')).status).toBe(200);
    const call = await asked(person, runner);
    const { digest } = await cardOf(person, call.approval_id);
    const said = everything(call, 'runner-2');
    const send = async ([path, body]: readonly unknown[]) =>
      (await report(person, other, path as string, body as object)).body.code;
    expect(await send(said.preview)).toBe('CLAIM_REFUSED');
    const signal = await runner.nextSignal(() => confirm(person, call.approval_id, digest));
    expect(signal.digest).toBe(digest);
    expect(await send([said.start[0], { digest, runner_id: 'runner-2' }])).toBe('CLAIM_REFUSED');
    expect(await send(said.progress)).toBe('CLAIM_REFUSED');
    expect(await send(said.result)).toBe('CLAIM_REFUSED');
    expect(await send([said.result[0], { status: 'failed', error: 'no' }])).toBe('CLAIM_REFUSED');
    const { body } = await server.send('GET', `/my/tools/${call.tool_id}`, { token: person.tokens.person });
    expect(body.execution).toMatchObject({ status: 'executing', runner_id: 'runner-1', digest });
  });

  it('[EX-6] another runner of the workspace previews a call once the first is gone', async () => {
    const { person, runner, other } = await twoRunners('eli');
    expect((await listenAs(other, 'runner-2', '/eli')).status).toBe(200);
    const call = await asked(person, runner);
    const [path, body] = everything(call, 'runner-2').preview as [string, object];
    expect((await report(person, other, path, body)).status).toBe(409);
    await server.store.write((tx) => tx.update('runners', 'runner-1@eli', { connected: false }));
    expect((await report(person, other, path, body)).status).toBe(200);
    expect(await cardOf(person, call.approval_id)).toMatchObject({ runner_id: 'runner-2', revision: 2 });
  });

  it("[EV-3] a person's client that names no runner reports no call that a runner has", async () => {
    const { person, runner } = await twoRunners('flo');
    const { body } = await server.send('POST', '/my/tools/execute', {
      token: person.tokens.person,
      body: { tool_name: 'read_file', tool_params: { path: 'a.md' }, session_id: person.sessionId },
    });
    await runner.stream.until(({ event }) => event === 'tool.execution_signal');
    const done = { status: 'completed', result: { success: true } };
    const path = `/tools/${body.tool_id}/result`;
    expect((await report(person, person.tokens.person, path, done)).body.code).toBe('CLAIM_REFUSED');
    const named = { ...done, runner_id: 'runner-1' };
    expect((await report(person, person.tokens.person, path, named)).status).toBe(200);
  });

  it('[EV-3] that names no runner gets no call that waits for a runner', async () => {
    const person = await server.person('ida', '/ida');
    await server.store.write((tx) => tx.insert('runners', goneRunner('ida')));
    const other = await signToken('ida', 'runner');
    const call = async (tool_name: string, tool_params: object) =>
      (
        await server.send('POST', '/my/tools/execute', {
          token: person.tokens.person,
          body: { tool_name, tool_params, session_id: person.sessionId },
        })
      ).body as { tool_id: string; approval_id: string };
    const read = await call('read_file', { path: 'a.md' });
    const write = await call('write_file', { path: 'a.md', content: 'b' });
    const approved = await server.send('POST', `/my/approvals/${write.approval_id}/confirm`, {
      token: person.tokens.person,
      body: {},
    });
    expect(approved.status).toBe(200);
    for (const [path, body] of [
      [`/tools/${read.tool_id}/result`, { status: 'completed', result: { success: true, content: 'lies' } }],
      [`/tools/${read.tool_id}/progress`, { progress: 50 }],
      [`/tools/${write.tool_id}/start`, { digest: null }],
      [`/tools/${write.tool_id}/result`, { status: 'failed', error: 'no' }],
    ] as [string, object][]) {
      const answer = await report(person, other, path, body);
      expect([path, answer.status, answer.body.code]).toEqual([path, 409, 'CLAIM_REFUSED']);
    }
    for (const { tool_id } of [read, write])
      expect(await server.store.read((tx) => tx.get('tool_executions', tool_id))).toMatchObject({
        status: 'approved',
        runner_id: null,
        claimed_by: null,
      });
  });

  it('[RE-4] that is refused leaves a new project without a workspace', async () => {
    const person = await server.person('kim', '/kim');
    const { body } = await server.send('POST', '/my/projects', {
      token: person.tokens.person,
      body: { name: 'new' },
    });
    const id = body.project.project_id as string;
    const workspaceOf = async () => (await server.store.read((tx) => tx.get('projects', id)))?.workspace;
    const other = await signToken('kim', 'runner');
    expect((await listenAs(other, 'runner-2', '/elsewhere')).status).toBe(200);
    const listen = (runner: string, workspace: string) =>
      server.listen(`/my/projects/${id}/chat/stream?${new URLSearchParams({ runner, workspace })}`, {
        token: other,
      });
    expect((await listen('runner-3', '/planted')).status).toBe(403);
    expect(await workspaceOf()).toBeNull();
    expect((await listen('runner-2', '/kim')).status).toBe(200);
    expect(await workspaceOf()).toBe('/kim');
  });
});

describe('[AP-8] the digest', () => {
  it('covers the preview as shown: another preview has another digest', async () => {
    const { person, runner } = await twoRunners('gus');
    const call = await asked(person, runner);
    const shown = await cardOf(person, call.approval_id);
    expect(checkShown(shown)).toBe('fits');
    const [path, body] = everything(call, 'runner-1').preview as [string, object];
    const send = (more: object) => report(person, person.tokens.runner, path, { ...body, ...more });

    const forged = await send({ digest: shown.digest });
    expect([forged.status, forged.body.code]).toEqual([400, 'PREVIEW_MISMATCH']);
    expect(await cardOf(person, call.approval_id)).toMatchObject({
      digest: shown.digest,
      preview: command('npm', 'test'),
    });

    expect((await send({})).status).toBe(200);
    const changed = await cardOf(person, call.approval_id);
    expect(changed).toMatchObject({ revision: 2, preview: command('rm', '-rf', 'src') });
    const refused = await confirm(person, call.approval_id, shown.digest);
    expect([refused.status, refused.body.code]).toEqual([409, 'PREVIEW_CHANGED']);
    expect((await confirm(person, call.approval_id, changed.digest)).status).toBe(200);
  });

  it('names the risk: a card that became HIGH is not approved as it was before', async () => {
    const { person, runner } = await twoRunners('hal');
    const call = await asked(person, runner);
    const shown = await cardOf(person, call.approval_id);
    const [path, body] = everything(call, 'runner-1').preview as [string, object];
    const same = { ...body, preview: shown.preview, risk_level: 'HIGH' };
    expect((await report(person, person.tokens.runner, path, same)).status).toBe(200);
    expect((await confirm(person, call.approval_id, shown.digest)).body.code).toBe('PREVIEW_CHANGED');
  });
});
