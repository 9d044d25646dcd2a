import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, type ErrorCode, type JsonValue, parseEvent, routes } from '@countersign/protocol';
import { EngineFixture, testProject } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RunnerFixture, recorded, runnerFixture } from './handler-fixture.test-data.ts';
import { cannotIsolate } from './isolation/isolation-fixture.test-data.ts';
import type { RunnerApi } from './runner-api.ts';
import { WorkspaceRunner } from './workspace-runner.ts';

type Engine = EngineFixture['engine'];
type JsonObject = Record<string, JsonValue>;

/** The real runner and the real engine, with nothing between them but function calls and the reading of events. */

let fixture: RunnerFixture;
let server: EngineFixture;
let runner: WorkspaceRunner;
let disconnect = () => {};
const runner_id = 'runner-1';

beforeEach(async () => {
  fixture = runnerFixture();
  server = await EngineFixture.open();
  const workspace = fixture.workspace.root;
  await server.store.write(function* (tx) {
    yield* tx.update('projects', testProject.id, { workspace });
  });
  await connect();
});
afterEach(async () => {
  disconnect();
  await runner.dispose();
  server.engine.close();
  fixture.remove();
});

async function connect(): Promise<void> {
  const { logger, workspace, configFolder, dialogs } = fixture;
  const api = apiOf(() => server.engine);
  const options = { runnerId: runner_id, workspace, configFolder, api, logger, clock: server.clock };
  runner = new WorkspaceRunner({ ...options, dialogProvider: dialogs, isIsolated: true });
  disconnect = await server.engine.openStream(
    {
      userId: 'ada',
      projectId: testProject.id,
      runnerId: runner_id,
      lastEventId: undefined,
      mayExecute: true,
      runner: { id: runner_id, userId: 'ada', workspace: workspace.root, capabilities: [] },
    },
    {
      send: ({ event, data }) => {
        const read = parseEvent(event, data); // as a client reads it off the wire
        if (!read.ok) throw new Error(read.problem);
        runner.receive(read.event);
        return true;
      },
      end: () => {},
    },
  );
  runner.connected();
}

/** What an app does over HTTP. */
function apiOf(engine: () => Engine): RunnerApi {
  const { person, runnerCaller } = server;
  return {
    approveToolExecution: async (approvalId, { digest, scope, pattern, tool_params }) => {
      const decision = { digest, scope, pattern, tool_params: tool_params as JsonObject };
      await told(engine().approvals.approveTool(person, approvalId, decision));
      return recorded;
    },
    rejectToolExecution: async (approvalId, { reason, message }) => {
      await told(engine().approvals.rejectTool(person, approvalId, { reason, message }));
      return recorded;
    },
    startToolExecution: async (toolId, claim) => {
      await told(engine().dispatcher.claim(runnerCaller, toolId, { ...claim, runner_id }));
    },
    sendToolResult: async (toolId, body) => {
      const report = routes.submitResult.body.parse({ ...body, runner_id });
      await told(engine().dispatcher.submitResult(runnerCaller, toolId, report));
      return {};
    },
    sendToolPreview: async (approvalId, report) => {
      await told(engine().approvals.submitPreview(runnerCaller, approvalId, { ...report, runner_id }));
    },
    askForHost: async (toolId, { host }) => {
      const { id, status } = await told(engine().hostRequests.ask(runnerCaller, toolId, { host, runner_id }));
      return { tool_id: id, status };
    },
    sendHeartbeat: async ({ queued, executing, unacknowledged }) => ({
      calls: await engine().dispatcher.heartbeat(runnerCaller, runner_id, [
        ...queued,
        ...executing,
        ...unacknowledged,
      ]),
    }),
  };
}

/** A client turns the server's refusals into errors with their codes. */
async function told<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    const known = new CountersignError(error.code as ErrorCode);
    known.message = error.message;
    throw known;
  }
}

const at = (path: string) => join(fixture.files.root, path);
const contentOf = (path: string) => readFileSync(at(path), 'utf8');
const project = () => ({ ...testProject, workspace: fixture.workspace.root });
const execute = (tool: string, params: JsonObject) => server.execute(tool, params, { project: project() });
/** Approves the card that shows the preview. */
async function approveWhenPreviewed(cards = 1): Promise<void> {
  const shown = () => fixture.dialogs.shown.filter(({ request }) => request.digest !== null);
  await expect.poll(() => new Set(shown().map(({ request }) => request.digest)).size).toBe(cards);
  // A decision that arrives before the preview reaches the server is asked again.
  await expect
    .poll(() => {
      fixture.dialogs.answer(true);
      return fixture.dialogs.shown.at(-1)?.signal.aborted;
    })
    .toBe(true);
}

it('[EX-1] reads at once, and writes when the person has approved what was shown', async () => {
  const read = await execute('read_file', { path: 'README.md' });
  expect([read.status, fixture.dialogs.shown.length]).toEqual(['completed', 0]);
  const outcome = execute('write_file', { path: 'notes.md', content: 'hello\n' });
  await approveWhenPreviewed();
  expect(await outcome).toMatchObject({ status: 'completed', result: { path: 'notes.md', size: 6 } });
  expect(contentOf('notes.md')).toBe('hello\n');
  // The acknowledgement follows the result on the stream.
  await expect
    .poll(() => runner.handler.heartbeat())
    .toEqual({ queued: [], executing: [], unacknowledged: [] });
});

it('[AP-5] goes on without a tool that the person rejects', async () => {
  const outcome = execute('write_file', { path: 'notes.md', content: 'hello\n' });
  await expect.poll(() => fixture.dialogs.shown.length).toBeGreaterThan(0);
  fixture.dialogs.answer({ decision: 'rejected', reason: 'not there' });
  expect(await outcome).toMatchObject({ status: 'rejected' });
  expect(existsSync(at('notes.md'))).toBe(false);
});

it('[AP-8] a file that changes between approval and execution makes the server ask again, with a new preview', async () => {
  writeFileSync(at('notes.md'), 'one\n');
  const { preview } = runner.handler.previews;
  let calls = 0;
  // The second preview is made just before the execution.
  runner.handler.previews.preview = async (...args) => {
    calls += 1;
    if (calls === 2) writeFileSync(at('notes.md'), 'mine\n');
    return preview(...args);
  };
  const outcome = execute('write_file', { path: 'notes.md', content: 'theirs\n' });
  await approveWhenPreviewed(1);
  await approveWhenPreviewed(2);
  expect((await outcome).status).toBe('completed');
  expect(contentOf('notes.md')).toBe('theirs\n');
});

it('[VA-8] what the server thinks is harmless and this machine does not is asked about', async () => {
  writeFileSync(
    join(fixture.configFolder, 'policy.json'),
    JSON.stringify({ version: 1, rules: [{ id: 'ask', effect: 'ask', tool: 'read_file', path: 'docs/**' }] }),
    { mode: 0o600 },
  );
  const outcome = execute('read_file', { path: 'docs/guide.md' });
  await approveWhenPreviewed();
  expect((await outcome).status).toBe('completed');
});

it('[VA-8] what this machine refuses fails before anybody is asked for long', async () => {
  const outcome = await execute('edit_file', { path: 'README.md', old: 'no such text', new: 'x' });
  expect(outcome).toMatchObject({ status: 'failed', error: { code: 'EDIT_NO_MATCH' } });
});

it('[AP-4] a grant covers the next call, checked on both sides', async () => {
  const first = execute('write_file', { path: 'src/a.ts', content: 'a' });
  await expect.poll(() => fixture.dialogs.shown.some(({ request }) => request.digest !== null)).toBe(true);
  fixture.dialogs.answer({ decision: 'approved', scope: 'class', pattern: 'src/**' });
  expect((await first).status).toBe('completed');
  const cards = fixture.dialogs.shown.length;
  expect((await execute('write_file', { path: 'src/b.ts', content: 'b' })).status).toBe('completed');
  expect([contentOf('src/b.ts'), fixture.dialogs.shown.length]).toEqual(['b', cards]);
});

it('[AP-4] "always" covers the next call, in another session too, checked on both sides', async () => {
  const first = execute('write_file', { path: 'docs/a.md', content: 'a' });
  await expect.poll(() => fixture.dialogs.shown.some(({ request }) => request.digest !== null)).toBe(true);
  fixture.dialogs.answer({ decision: 'approved', scope: 'always', pattern: 'docs/**' });
  expect((await first).status).toBe('completed');
  const cards = fixture.dialogs.shown.length;
  expect((await execute('write_file', { path: 'docs/b.md', content: 'b' })).status).toBe('completed');
  expect([contentOf('docs/b.md'), fixture.dialogs.shown.length]).toEqual(['b', cards]);
});

it('[EX-7] a runner that comes back gets its calls from the state, and does none of them twice', async () => {
  disconnect();
  await runner.dispose();
  const outcome = execute('read_file', { path: 'README.md' });
  await connect();
  expect((await outcome).status).toBe('completed');
});

describe.skipIf(cannotIsolate)(
  '[RN-5] a command that wants to reach a host that its card did not name',
  () => {
    /** No name here exists: a host that may be reached is looked up, and not found. */
    const notFound = (host: string) =>
      new RegExp(`getaddrinfo \\w+ ${host}\n.*getaddrinfo \\w+ ${host}`, 's');
    const start = (host: string, timeout = 30) => {
      writeFileSync(at('get.sh'), `curl -sS http://${host}/; curl -sS http://${host}/\n`);
      return execute('shell_exec', { command: 'bash get.sh', network: ['named.invalid'], timeout });
    };
    const cards = (tool: string) => fixture.dialogs.shown.filter(({ request }) => request.tool_name === tool);
    const shownCard = async (tool: string, count = 1) => {
      const drawn = () => cards(tool).filter(({ request }) => request.digest !== null);
      await expect.poll(() => new Set(drawn().map(({ request }) => request.approval_id)).size).toBe(count);
      return drawn().at(-1)?.request;
    };
    const decide = async (tool: string, answer: Parameters<typeof fixture.dialogs.answer>[0], count = 1) => {
      const card = await shownCard(tool, count);
      await expect
        .poll(() => {
          fixture.dialogs.answer(answer);
          return cards(tool).at(-1)?.signal.aborted;
        })
        .toBe(true);
      return card;
    };

    it('is held, and goes on when the person allows it; waiting does not use up its time', async () => {
      const outcome = start('other.invalid', 2);
      await decide('shell_exec', true);
      const card = await shownCard('reach_host');
      expect(card).toMatchObject({
        description: 'bash get.sh wants to reach other.invalid',
        risk_level: 'MEDIUM',
        preview: { kind: 'summary' },
      });
      await new Promise((resolve) => setTimeout(resolve, 2_500)); // longer than its timeout
      await decide('reach_host', true);
      const { status, result } = await outcome;
      expect(status).toBe('completed');
      expect(result).toMatchObject({ stdout: expect.stringMatching(notFound('other.invalid')) });
      expect(new Set(cards('reach_host').map(({ request }) => request.approval_id)).size).toBe(1);
    });

    it('is refused if the person rejects it, and the result names it', async () => {
      const outcome = start('other.invalid');
      await decide('shell_exec', true);
      await decide('reach_host', { decision: 'rejected' });
      const { result } = await outcome;
      expect(result).toMatchObject({
        stdout: expect.stringContaining('the person did not allow this command to reach other.invalid'),
        stderr: expect.stringContaining(
          'it wanted to reach other.invalid; the person was asked and did not allow it',
        ),
      });
    });

    it('[AP-4] is remembered for the conversation, that host alone', async () => {
      const first = start('other.invalid');
      await decide('shell_exec', true);
      const card = await decide('reach_host', {
        decision: 'approved',
        scope: 'class',
        pattern: 'reach other.invalid',
      });
      expect(card?.offered_scopes?.map(({ scope, label }) => [scope, label])).toEqual([
        ['class', 'Network access to other.invalid in this session'],
        ['always', 'Always: network access to other.invalid'],
      ]);
      await first;
      const again = start('other.invalid');
      await decide('shell_exec', true, 2);
      expect((await again).result).toMatchObject({
        stdout: expect.stringMatching(notFound('other.invalid')),
      });
      expect(new Set(cards('reach_host').map(({ request }) => request.approval_id)).size).toBe(1);
      const third = start('third.invalid');
      await decide('shell_exec', true, 3);
      await decide('reach_host', { decision: 'rejected' }, 2);
      await third;
    });

    it('is no longer asked about when the command has ended, and asking needs a command that waits', async () => {
      const outcome = start('other.invalid', 30);
      await decide('shell_exec', true);
      const card = await shownCard('reach_host');
      const toolId = String(card?.tool_params.tool_id);
      await server.engine.dispatcher.cancel(server.person, toolId, 'stop');
      expect((await outcome).status).toBe('cancelled');
      await expect.poll(() => cards('reach_host').at(-1)?.signal.aborted).toBe(true);
      expect(await execute('reach_host', { host: 'other.invalid', tool_id: toolId })).toMatchObject({
        status: 'failed',
        error: { code: 'PREVIEW_FAILED' },
      });
    });
  },
);
