import { type ApiError, decide } from '@countersign/client';
import type { EventPayload } from '@countersign/protocol';
import type { WireTurn } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completed } from '../../lab/src/remote-runner.ts';
import { signToken } from '../../lab/src/tokens.ts';
import { until } from '../../lab/src/waiting.ts';
import { clientWith, newSession, ServerStory, type StoryPerson } from './server-story.ts';

let story: ServerStory;
let ada: StoryPerson;
beforeAll(async () => {
  story = await ServerStory.start();
  ada = await story.person('ada', ({ tool_name, tool_params }) => {
    if (tool_name !== 'execute_command') return undefined;
    const stdout = `${tool_params.command} ${(tool_params.args as string[]).join(' ')}: done`;
    const result = { success: true, stdout, stderr: '', exit_code: 0, execution_time: 0.1 };
    return { status: 'completed', result, execution_time_ms: 100 };
  });
});
afterAll(() => story?.close());

const calls = (name: string, args: object, id = 'call_0'): WireTurn => [{ call: { name, args, id } }];
const answers = (text: string): WireTurn => [{ text }];

/** The card of a call, once its preview has arrived. */
async function card(path: string): Promise<EventPayload<'approval.updated'>> {
  const request = await ada.person.next('tool.approval_request', ({ tool_params }) =>
    mentions(tool_params, path),
  );
  return ada.person.next(
    'approval.updated',
    ({ approval_id, digest }) => approval_id === request.approval_id && digest !== null,
  );
}
const mentions = (params: object, word: string) => JSON.stringify(params).includes(word);
const place = ({ approval_id, project_id }: { approval_id: string; project_id: string }) => ({
  approval_id,
  project_id,
});
const approve = (about: EventPayload<'approval.updated'>, more: object = {}) =>
  ada.client.approve({ params: place(about), body: { digest: String(about.digest), ...more } });
const untilRun = async (run_id: string) => {
  await ada.person.next('agent.state', (state) => state.run_id === run_id && state.state === 'idle');
  return (await ada.client.getRun({ params: { run_id } })).run;
};
const endOf = (toolId: string) =>
  ada.person.next('tool.result', ({ tool_id, late }) => tool_id === toolId && !late);
const call = async (tool_name: string, tool_params: object, session_id = ada.sessionId) =>
  ada.client.executeTool({ body: { tool_name, tool_params: tool_params as never, session_id } });
const write = (path: string, session_id?: string) => call('write_file', { path, content: 'new' }, session_id);
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: ApiError) => `${error.status} ${error.code}`,
  );
const statusOf = async (tool_id: string) =>
  (await ada.client.getExecution({ params: { tool_id } })).execution.status;

describe('the four scenarios of the plan', () => {
  it('1. reads a file without approval', async () => {
    ada.disk.set('src/main.py', 'print("hello")');
    const said = 'Read src/main.py';
    const run = await untilRun(
      await story.say(ada, said, [calls('read_file', { path: 'src/main.py' }), answers('It prints hello.')]),
    );
    expect(run).toMatchObject({ status: 'completed', steps: 2, input_tokens: 200, output_tokens: 40 });
    expect(story.toolResults(said)).toMatchObject([{ status: 'success' }]);
    expect(JSON.stringify(story.toolResults(said))).toContain('hello');
    expect(ada.person.all('tool.approval_request')).toEqual([]);
  });

  it('2. changes a JSON file once the person has approved it', async () => {
    ada.disk.set('config.json', '{"api_url": "http://old"}');
    const said = 'Set api_url to http://new.api.com in config.json';
    const content = '{"api_url": "http://new.api.com"}';
    const runId = await story.say(ada, said, [
      calls('write_file', { path: 'config.json', content, mode: 'write' }),
      answers('Done.'),
    ]);
    const asked = await card('config.json');
    expect(asked).toMatchObject({
      description: 'Agent wants to change config.json',
      risk_level: 'MEDIUM',
      timeout_seconds: 300,
    });
    expect(ada.disk.get('config.json')).toContain('old');
    await approve(asked);
    expect(await untilRun(runId)).toMatchObject({ status: 'completed' });
    expect(ada.disk.get('config.json')).toBe(content);
    expect(await ada.person.next('file.changed', ({ path }) => path === 'config.json')).toMatchObject({
      operation: 'modified',
    });
  });

  it('3. runs npm install once the person has approved it, and the agent gets its output', async () => {
    const said = 'Install the dependencies';
    const runId = await story.say(ada, said, [
      calls('execute_command', { command: 'npm', args: ['install'], timeout: 300 }),
      answers('Installed.'),
    ]);
    const asked = await card('install');
    expect(asked).toMatchObject({ risk_level: 'MEDIUM', network: true });
    await approve(asked);
    await untilRun(runId);
    expect(story.toolResults(said)).toMatchObject([{ status: 'success' }]);
    expect(JSON.stringify(story.toolResults(said))).toContain('npm install: done');
  });

  it('4. refuses rm -rf without asking: nothing runs, the agent is told', async () => {
    const before = ada.person.all('tool.approval_request').length;
    const said = 'Remove everything';
    const runId = await story.say(ada, said, [
      calls('execute_command', { command: 'rm', args: ['-rf', '/'] }),
      answers('I may not.'),
    ]);
    await untilRun(runId);
    expect(story.toolResults(said)).toMatchObject([{ status: 'error' }]);
    expect(JSON.stringify(story.toolResults(said))).toContain('Command not allowed: rm');
    expect(ada.person.all('tool.approval_request')).toHaveLength(before);
    const result = await ada.person.next('tool.result', ({ error }) => error?.code === 'COMMAND_NOT_ALLOWED');
    expect(ada.runner.executionsOf(result.tool_id)).toBe(0);
  });
});

describe('the person rejects', () => {
  it.each([
    ['without a message', {}, { reason: 'User rejected the operation', user_message: null }],
    [
      'with a reason and a message',
      { reason: 'wrong file', message: 'Use settings.json instead.' },
      { reason: 'wrong file', user_message: 'Use settings.json instead.' },
    ],
  ])('[AP-5] %s: the agent gets it and goes on', async (what, body, told) => {
    const path = `no-${what.length}.json`;
    const said = `Change ${path}`;
    const runId = await story.say(ada, said, [
      calls('write_file', { path, content: 'x' }),
      answers('As you wish.'),
    ]);
    const asked = await card(path);
    await ada.client.reject({ params: place(asked), body });
    expect(await untilRun(runId)).toMatchObject({ status: 'completed', steps: 2 });
    expect(story.toolResults(said)).toMatchObject([{ status: 'rejected', ...told }]);
    expect(ada.disk.has(path)).toBe(false);
  });
});

describe('deadlines', () => {
  it('[AP-3] expires a request that nobody decides, and tells the agent', async () => {
    const said = 'Change late.md';
    const runId = await story.say(ada, said, [
      calls('write_file', { path: 'late.md', content: 'x' }),
      answers('Later.'),
    ]);
    const asked = await card('late.md');
    // Almost expired when the server comes back. If that takes longer, there are 30 s of grace, and it still expires.
    await story.crash(() =>
      story.database.query(
        'update approvals set deadline_at = $1 where id = $2 returning id',
        Date.now() + 3_000,
        asked.approval_id,
      ),
    );
    const resolved = await ada.person.next(
      'approval.resolved',
      ({ approval_id }) => approval_id === asked.approval_id,
    );
    expect(resolved).toMatchObject({ status: 'timeout', device: null });
    await untilRun(runId);
    expect(story.toolResults(said)).toMatchObject([{ status: 'error' }]);
    expect(JSON.stringify(story.toolResults(said))).toContain('Approval timeout');
    expect(await codeOf(approve(asked))).toBe('409 ALREADY_DECIDED');
  });

  it('[AP-3] [AP-10] a request that expired while the server was down is shown again, with 30 s of grace', async () => {
    const { tool_id, approval_id } = await write('grace.md');
    await card('grace.md');
    await story.crash(() =>
      story.database.query(
        'update approvals set deadline_at = $1 where id = $2 returning id',
        Date.now() - 60_000,
        String(approval_id),
      ),
    );
    const { approvals } = await ada.client.listApprovals();
    const shown = approvals.find((one) => one.approval_id === approval_id);
    expect(shown?.remaining_ms).toBeGreaterThan(0);
    expect(shown?.remaining_ms).toBeLessThanOrEqual(30_000);
    await approve(await card('grace.md'));
    expect(await endOf(tool_id)).toMatchObject({ status: 'completed' });
  });
});

describe('edits and scopes', () => {
  it('[AP-6] the person edits before approving: the edited call runs, and the agent is told', async () => {
    const said = 'Write greeting.md';
    const runId = await story.say(ada, said, [
      calls('write_file', { path: 'greeting.md', content: 'hi' }),
      answers('Good.'),
    ]);
    const asked = await card('greeting.md');
    await approve(asked, { tool_params: { path: 'greeting.md', content: 'Dear all' } });
    await untilRun(runId);
    expect(ada.disk.get('greeting.md')).toBe('Dear all');
    expect(JSON.stringify(story.toolResults(said))).toContain('Dear all');
    const result = await ada.person.next('tool.result', ({ tool_id }) => tool_id === asked.tool_id);
    const detail = await ada.client.getExecution({ params: { tool_id: result.tool_id } });
    expect([detail.requested_params?.content, detail.execution.tool_params.content]).toEqual([
      'hi',
      'Dear all',
    ]);
  });

  it('[AP-4] a class in this session: asked once, then counted, then revoked', async () => {
    const session = await newSession(ada.client, ada.projectId);
    const git = (args: string[]) => call('execute_command', { command: 'git', args }, session);
    const first = await git(['add', 'first.md']);
    const asked = await card('first.md');
    const offered = asked.offered_scopes.find(({ pattern }) => pattern === 'git *');
    expect(offered).toMatchObject({
      scope: 'class',
      label: 'Harmless git commands, commits and new branches in this session',
    });
    const { grant_id } = await approve(asked, { scope: 'class', pattern: 'git *' });
    await endOf(first.tool_id);
    const second = await git(['add', 'second.md']);
    expect(second.approval_id).toBeNull();
    expect(await endOf(second.tool_id)).toMatchObject({ status: 'completed' });
    const used = async () =>
      (await ada.client.listGrants()).grants.find((grant) => grant.grant_id === grant_id)?.uses;
    expect(await used()).toBe(1);
    const { execution } = await ada.client.getExecution({ params: { tool_id: second.tool_id } });
    expect(execution).toMatchObject({ approved_by: 'config', grant_id });
    await ada.client.revokeGrant({ params: { grant_id: String(grant_id) } });
    const third = await git(['add', 'third.md']);
    expect(third.status).toBe('awaiting_approval');
    await ada.client.cancelExecution({ params: { tool_id: third.tool_id }, body: {} });
  });

  it('[AP-4] everything in this session: not above MEDIUM, and in no other session', async () => {
    const session = await newSession(ada.client, ada.projectId);
    const first = await write('whole-1.md', session);
    await approve(await card('whole-1.md'), { scope: 'session' });
    await endOf(first.tool_id);
    const second = await write('whole-2.md', session);
    expect(await endOf(second.tool_id)).toMatchObject({ status: 'completed' });
    const high = await write('whole-3.sh', session);
    const elsewhere = await write('whole-4.md');
    expect([high.status, elsewhere.status]).toEqual(['awaiting_approval', 'awaiting_approval']);
    for (const { tool_id } of [high, elsewhere])
      await ada.client.cancelExecution({ params: { tool_id }, body: {} });
  });
});

it('[EX-4] calls of one step run in parallel, and those that change the same path run in order', async () => {
  for (const name of ['p1.md', 'p2.md', 'p3.md']) ada.disk.set(name, name);
  const said = 'Do a lot at once';
  const step: WireTurn = [
    ...['p1.md', 'p2.md', 'p3.md'].map((path, i) => ({
      call: { name: 'read_file', args: { path }, id: `r${i}` },
    })),
    { call: { name: 'write_file', args: { path: 'same.md', content: 'one' }, id: 'w1' } },
    { call: { name: 'write_file', args: { path: 'same.md', content: 'two' }, id: 'w2' } },
  ];
  const runId = await story.say(ada, said, [step, answers('All done.')]);
  const first = await card('"one"');
  expect(
    ada.person.all('tool.approval_request').filter(({ tool_params }) => mentions(tool_params, '"two"')),
  ).toEqual([]);
  await approve(first);
  await approve(await card('"two"'));
  await untilRun(runId);
  expect(ada.disk.get('same.md')).toBe('two');
  expect(story.toolResults(said)).toHaveLength(5);
});

describe('[EX-8] cancelling', () => {
  const cancel = (tool_id: string) => ada.client.cancelExecution({ params: { tool_id }, body: {} });

  it('while it waits for approval: the card is withdrawn', async () => {
    const { tool_id, approval_id } = await write('cancel-1.md');
    expect(await cancel(tool_id)).toMatchObject({ status: 'cancelled' });
    expect(
      await ada.person.next('approval.resolved', (resolved) => resolved.approval_id === approval_id),
    ).toMatchObject({ status: 'cancelled' });
    expect(ada.runner.executionsOf(tool_id)).toBe(0);
  });

  it('after approval and before the start: nothing runs', async () => {
    ada.runner.disconnect();
    const { tool_id, approval_id } = await write('cancel-2.md');
    await ada.client.confirm({ params: { approval_id: String(approval_id) }, body: {} });
    expect(await statusOf(tool_id)).toBe('approved');
    expect(await cancel(tool_id)).toMatchObject({ status: 'cancelled' });
    await ada.runner.connect();
    const { tool_id: next } = await call('execute_command', { command: 'ls', args: [] });
    await endOf(next);
    expect(ada.runner.executionsOf(tool_id)).toBe(0);
  });

  it("while it executes: it is a request, and the runner's report decides", async () => {
    const { tool_id } = await write('slow-cancel.md');
    await approve(await card('slow-cancel.md'));
    await until(async () => (await statusOf(tool_id)) === 'executing', {
      otherwise: () => 'it does not begin',
    });
    expect(await cancel(tool_id)).toMatchObject({ status: 'executing' });
    expect(await endOf(tool_id)).toMatchObject({
      status: 'cancelled',
      error: { code: 'EXECUTION_CANCELLED' },
    });
  });

  it.each(['completed', 'rejected', 'cancelled', 'failed'])('in a final state, %s: 409', async (end) => {
    const path = end === 'failed' ? 'not-there.md' : `final-${end}.md`;
    const { tool_id } = end === 'failed' ? await call('read_file', { path }) : await write(path);
    if (end === 'completed') await approve(await card(path));
    if (end === 'rejected') await ada.client.reject({ params: place(await card(path)), body: {} });
    if (end === 'cancelled') await cancel(tool_id);
    expect(await endOf(tool_id)).toMatchObject({ status: end });
    expect(await codeOf(cancel(tool_id))).toBe('409 ALREADY_FINAL');
  });
});

describe('races over HTTP', () => {
  it('[AP-2] 20 devices approve one request at once: one decision, one execution', async () => {
    const { tool_id } = await write('twenty.md');
    const asked = await card('twenty.md');
    const answered = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const device = clientWith(story, signToken('ada', i % 2 ? 'person' : 'front_end'));
        return decide(device, {
          decision: 'approved',
          params: place(asked),
          body: { device: `device ${i}` },
        });
      }),
    );
    expect(answered.filter(({ outcome }) => outcome === 'recorded')).toHaveLength(1);
    expect(answered.filter(({ outcome }) => outcome === 'already')).toHaveLength(19);
    expect(await endOf(tool_id)).toMatchObject({ status: 'completed' });
    expect(ada.runner.executionsOf(tool_id)).toBe(1);
    const resolved = ada.person
      .all('approval.resolved')
      .filter(({ approval_id }) => approval_id === asked.approval_id);
    expect(resolved).toHaveLength(1);
  });

  it('[AP-2] [EX-8] approve against reject and against cancel: the first decision stands everywhere', async () => {
    for (let turn = 0; turn < 20; turn++) {
      const path = `http-race-${turn}.md`;
      const { tool_id } = await write(path);
      const asked = await card(path);
      const other = () =>
        turn % 2
          ? ada.client.reject({ params: place(asked), body: {} })
          : ada.client.cancelExecution({ params: { tool_id }, body: {} });
      const [approved, opposed] = await Promise.all([codeOf(approve(asked)), codeOf(other())]);
      const { status } = await endOf(tool_id);
      if (turn % 2) {
        expect([approved, opposed, status]).toSatisfy((seen: string[]) =>
          [
            ['ok', '409 ALREADY_DECIDED', 'completed'],
            ['409 ALREADY_DECIDED', 'ok', 'rejected'],
          ].some((one) => one.join() === seen.join()),
        );
      } else {
        // A cancel may come before the decision, before the start, during execution, or after the end.
        expect(['completed', 'cancelled']).toContain(status);
        if (status === 'cancelled') expect(opposed).toBe('ok');
        if (approved !== 'ok') expect(ada.runner.executionsOf(tool_id)).toBe(0);
      }
    }
  });
});

describe('two people', () => {
  it('neither can see or decide anything of the other', async () => {
    const bob = await story.person('bob');
    const asked = async (who: StoryPerson, path: string) => {
      const tool_params = { path, content: who.userId };
      const { client, sessionId: session_id } = who;
      return client.executeTool({ body: { tool_name: 'write_file', tool_params, session_id } });
    };
    const [adas, bobs] = await Promise.all([asked(ada, 'both.md'), asked(bob, 'both.md')]);
    const adasCard = await card('both.md');
    const params = place(adasCard);
    const { client } = bob;
    const toolId = { tool_id: adas.tool_id };
    const attempts: Record<string, () => Promise<unknown>> = {
      approve: () => client.approve({ params, body: {} }),
      'approve in my project': () =>
        client.approve({ params: { ...params, project_id: bob.projectId }, body: {} }),
      confirm: () => client.confirm({ params: { approval_id: params.approval_id }, body: {} }),
      'approve by id': () => client.approveById({ params: { approval_id: params.approval_id }, body: {} }),
      reject: () => client.reject({ params, body: {} }),
      'reject by id': () => client.rejectById({ params: { approval_id: params.approval_id }, body: {} }),
      look: () => client.getExecution({ params: toolId }),
      'look at the card': () => client.getApproval({ params: { approval_id: params.approval_id } }),
      cancel: () => client.cancelExecution({ params: toolId, body: {} }),
      'use their session': () =>
        client.executeTool({
          body: { tool_name: 'read_file', tool_params: { path: 'a' }, session_id: ada.sessionId },
        }),
      'write in their project': () =>
        client.sendMessage({
          params: { project_id: ada.projectId },
          body: { content: 'hi' },
        }),
    };
    const bobsRunner = clientWith(story, signToken('bob', 'runner'));
    const taken = { project_id: ada.projectId, tool_id: adas.tool_id };
    attempts.claim = () => bobsRunner.startExecution({ params: taken, body: { digest: null } });
    attempts.report = () => bobsRunner.submitResult({ params: taken, body: completed });
    attempts.preview = () =>
      bobsRunner.submitPreview({
        params,
        body: {
          runner_id: 'runner-of-bob',
          revision: 1,
          reasons: [],
          refused: { code: 'READ_FAILED', message: 'x' },
        },
      });
    for (const [what, attempt] of Object.entries(attempts)) {
      expect([what, await codeOf(attempt())]).toEqual([what, '404 NOT_FOUND']);
    }
    expect((await client.listApprovals()).approvals.map(({ tool_id }) => tool_id)).toEqual([bobs.tool_id]);
    const history = (await client.history()).executions.map(({ tool_id }) => tool_id);
    expect(history).toEqual([bobs.tool_id]);

    await Promise.all([
      approve(adasCard),
      client.confirm({ params: { approval_id: String(bobs.approval_id) }, body: {} }),
    ]);
    await Promise.all([endOf(adas.tool_id), bob.person.next('tool.result')]);
    expect([ada.disk.get('both.md'), bob.disk.get('both.md')]).toEqual(['ada', 'bob']);
    expect(bob.runner.effects.map(({ toolId }) => toolId)).toEqual([bobs.tool_id]);
    const seen = JSON.stringify(bob.person.received);
    // Not 'ada': that is hexadecimal, and may be part of any id.
    for (const word of ['"ada"', ada.projectId, ada.sessionId, adas.tool_id])
      expect(seen).not.toContain(word);
  });
});

it('leave one decision per request, no double execution, no event gap and an unbroken audit chain', async () => {
  expect(await story.problems()).toEqual([]);
});
