import { AgentFixture, type AgentNode, hangs, ScriptedModel, settle, toolCall } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import type { runPoints } from '../fault-points.ts';
import { StorageFull } from '../store.ts';
import { RunLost } from './held-run.ts';

/** Two calls in parallel, then one with an approval, then the answer: every kind of step. */
const script = () =>
  new ScriptedModel([
    [
      'I look.',
      toolCall('read_file', { path: 'a.md' }, 'call_0'),
      toolCall('read_file', { path: 'b.md' }, 'call_1'),
    ],
    [toolCall('write_file', { path: 'c.md', content: 'x' })],
    ['It is ', 'done.', { type: 'usage', inputTokens: 7, outputTokens: 2 }],
  ]);

/** Lets the lease of a dead node end, and the next one find its runs. */
async function waitForTakeover(agent: AgentFixture): Promise<void> {
  await agent.clock.advance(10_000);
  await settle();
}

async function expectWholeStory(agent: AgentFixture, runId: string, model: ScriptedModel): Promise<void> {
  expect(await agent.transcript()).toEqual([
    'user: Go.',
    'assistant: I look.',
    'tool: success',
    'tool: success',
    'assistant: ',
    'tool: success',
    'assistant: It is done.',
  ]);
  const paths = agent.runner.executed.map(({ params }) => params.path);
  expect(paths.toSorted(), 'each tool call was made once').toEqual(['a.md', 'b.md', 'c.md']);
  expect(await agent.run(runId)).toMatchObject({
    status: 'completed',
    step: 3,
    input_tokens: 7,
    output_tokens: 2,
  });
  expect(agent.node.errors).toEqual([]);
  const ids = (await agent.messages()).map(({ position }) => position);
  expect(ids).toEqual([1, 2, 3, 4, 5, 6, 7]);
  // A question may be asked again only when the process died before its answer was stored.
  expect(new Set(model.answered)).toEqual(new Set([0, 1, 2]));
}

describe('a crash at a labelled point', () => {
  const points: readonly (typeof runPoints)[number][] = [
    'run.taken',
    'model.before',
    'model.answered',
    'step.stored',
    'tool.before',
    'tool.recorded',
    'tool.answered',
    'tool.stored',
  ];
  const passes = { 'run.taken': 1, 'model.before': 3, 'model.answered': 3, 'step.stored': 3 };
  const moments = points.flatMap((point) =>
    Array.from(
      { length: passes[point as keyof typeof passes] ?? 3 },
      (_, pass) => [point, pass + 1] as const,
    ),
  );

  it.each(moments)('[AG-2] killed at %s, time %i: the run continues where it was', async (point, pass) => {
    const model = script();
    const agent = await AgentFixture.open({ model });
    agent.node.die();
    let passed = 0;
    let node: AgentNode | undefined;
    node = await agent.startNode({
      reached: (reached) => {
        if (reached !== point || ++passed !== pass) return;
        node?.die();
        return hangs();
      },
    });
    const runId = await agent.say('Go.');
    expect(node.store.isDead, 'the point was reached').toBe(true);
    expect(await agent.run(runId)).toMatchObject(
      pass === 3 && point === 'step.stored' ? { status: 'completed' } : { status: 'running' },
    );
    await agent.startNode();
    await waitForTakeover(agent);
    await expectWholeStory(agent, runId, model);
    // A model call whose answer was not stored is the only thing that happens again.
    const repeated = point === 'model.answered' ? 1 : 0;
    expect(model.answered).toHaveLength(3 + repeated);
  });
});

describe('a crash around a commit', () => {
  it('[AG-2] just before or just after any commit: nothing is lost, nothing is made twice', async () => {
    const counted = await AgentFixture.open({ model: script() });
    await counted.say('Go.');
    const { commits } = counted.node.store;
    expect(commits).toBeGreaterThan(15);

    let survived = 0;
    for (let at = 2; at <= commits; at++) {
      for (const moment of ['before', 'after'] as const) {
        const model = script();
        const agent = await AgentFixture.open({ model });
        const { node } = agent;
        node.store.onWrite = (when, commit) => {
          if (when === moment && commit === at) node.die();
        };
        const started = agent.say('Go.');
        await Promise.race([started.catch(() => {}), settle()]);
        await settle();
        const active = await agent.store.read((tx) => tx.messagesOf('session-1', { limit: 1 }));
        if (!node.store.isDead || active.length === 0) continue; // the message itself was not stored
        survived += 1;
        await agent.startNode();
        await waitForTakeover(agent);
        const runId = active[0]?.run_id as string;
        await expectWholeStory(agent, runId, model).catch((error: Error) => {
          error.message = `died ${moment} commit ${at}: ${error.message}`;
          throw error;
        });
      }
    }
    // Deaths before the message was stored do not count, and all units of one group commit at one moment.
    expect(survived).toBeGreaterThan(1.5 * commits);
  });

  it('[AG-2] in the middle of a stream: the text is written again, under the same id', async () => {
    const model = new ScriptedModel([{ attempts: [['Half an ans', hangs], ['A whole answer.']] }]);
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Go.');
    agent.node.die();
    expect((await agent.messages()).at(-1)).toMatchObject({ id: `${runId}-0`, complete: false });
    await agent.startNode();
    await waitForTakeover(agent);
    expect(await agent.transcript()).toEqual(['user: Go.', 'assistant: A whole answer.']);
  });

  it('[AP-10] while the person is asked: the request stands, and its answer is taken up', async () => {
    const model = script();
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    const runId = await agent.say('Go.');
    agent.node.die();
    await agent.startNode();
    await waitForTakeover(agent);
    expect(await agent.states()).toEqual([
      'thinking',
      'tool_execution',
      'thinking',
      'tool_execution',
      'awaiting_approval',
      'awaiting_approval', // announced again by the node that took over the run
    ]);
    const screen = await agent.listen();
    const { approval_id } = await screen.last('tool.approval_request');
    await agent.node.engine.approvals.approveTool(agent.person, approval_id, {});
    await settle();
    await expectWholeStory(agent, runId, model);
  });

  it('[AP-5] a rejection that arrived while no server was running reaches the model with its message', async () => {
    const model = new ScriptedModel([
      [toolCall('write_file', { path: 'c.md', content: 'x' })],
      ['Then not.'],
    ]);
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => ({ reject: { reason: 'No', message: 'Use docs/.' } });
    const { node } = agent;
    node.store.onWrite = (when) => {
      // Dies as soon as the decision is committed.
      if (when === 'before') return;
      void agent.store.read(function* (tx) {
        const [call] = yield* tx.history('ada', { limit: 1 });
        if (call?.status === 'rejected') node.die();
      });
    };
    await agent.say('Go.');
    await agent.startNode();
    await waitForTakeover(agent);
    const result = model.requests[1]?.request.messages.at(-1);
    expect(result?.role === 'tool' && JSON.parse(result.content.split('\n')[1] as string)).toEqual({
      status: 'rejected',
      tool_call_id: 'call_0',
      reason: 'No',
      user_message: 'Use docs/.',
    });
  });
});

describe('leases', () => {
  it('[AG-2] of two nodes that find an orphan at once, one has it', async () => {
    const model = script();
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    const runId = await agent.say('Go.');
    agent.node.die();
    const second = await agent.startNode();
    await agent.startNode();
    await waitForTakeover(agent);
    const run = await agent.run(runId);
    expect(run.epoch).toBe(2);
    expect(['node-2', 'node-3']).toContain(run.lease_owner);
    agent.runner.decide = () => 'approve';
    const screen = await agent.listen();
    const { approval_id } = await screen.last('tool.approval_request');
    await agent.node.engine.approvals.approveTool(agent.person, approval_id, {});
    await settle();
    await expectWholeStory(agent, runId, model);
    expect(second.errors).toEqual([]);
  });

  it('[AG-2] a node that was thought dead stores nothing when it wakes up', async () => {
    let wakeUp = () => {};
    const sleep = new Promise<void>((resolve) => {
      wakeUp = resolve;
    });
    const model = new ScriptedModel([
      { attempts: [[() => sleep, 'The answer of the first.'], ['The answer of the second.']] },
    ]);
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Go.');
    const first = agent.node;
    // The node is alive, but cannot renew its lease.
    const { write } = first.store;
    first.store.write = () => Promise.reject(new Error('the network is down'));
    await agent.startNode();
    await waitForTakeover(agent);
    first.store.write = write;
    wakeUp();
    await settle();
    expect(await agent.transcript()).toEqual(['user: Go.', 'assistant: The answer of the second.']);
    expect(await agent.run(runId)).toMatchObject({ status: 'completed', epoch: 2, step: 1 });
  });

  it('[AG-2] a node that was thought dead does not ask the model for what the next one has stored', async () => {
    let wakeUp = () => {};
    const sleep = new Promise<void>((resolve) => {
      wakeUp = resolve;
    });
    const model = new ScriptedModel([['Done.']]);
    const agent = await AgentFixture.open({ model });
    agent.node.die();
    // The node stalls just before it calls the model, and its lease ends.
    const first = await agent.startNode({
      reached: (point) => (point === 'model.before' ? sleep : undefined),
    });
    const runId = await agent.say('Go.');
    const { write } = first.store;
    first.store.write = () => Promise.reject(new Error('the network is down'));
    await agent.startNode();
    await waitForTakeover(agent);
    expect(await agent.run(runId)).toMatchObject({ status: 'completed', epoch: 2 });
    first.store.write = write;
    wakeUp();
    await settle();
    expect(model.requests).toHaveLength(1);
  });

  it('[AG-2] a node that was thought dead does not touch the calls that the next one waits for', async () => {
    let wakeUp = () => {};
    const sleep = new Promise<void>((resolve) => {
      wakeUp = resolve;
    });
    const model = new ScriptedModel([[toolCall('write_file', { path: 'c.md', content: 'x' })], ['Done.']]);
    const agent = await AgentFixture.open({ model });
    agent.node.die();
    // The node stalls just before it records the call, and its lease ends.
    const first = await agent.startNode({
      reached: (point) => (point === 'tool.before' ? sleep : undefined),
    });
    agent.runner.decide = () => undefined;
    const runId = await agent.say('Go.');
    const { write } = first.store;
    first.store.write = () => Promise.reject(new Error('the network is down'));
    await agent.startNode({ withRunner: false });
    await waitForTakeover(agent);
    const call = () => agent.store.read((tx) => tx.executionOfCall(runId, 0, 0));
    expect(await call()).toMatchObject({ status: 'awaiting_approval' });
    first.store.write = write;
    wakeUp();
    await settle();
    expect(await call()).toMatchObject({ status: 'awaiting_approval', cancel_requested: false });
    expect(await agent.run(runId)).toMatchObject({ status: 'running', epoch: 2 });
  });

  it.each([
    ['at once', false],
    ['within two seconds when the hint is lost', true],
  ])('[AG-3] a run that is stopped on another node is let go of %s', async (_when, deaf) => {
    const model = new ScriptedModel([['Half an ans', hangs]]);
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Go.');
    const first = agent.node;
    const second = await agent.startNode({ withRunner: false });
    agent.bus.deaf = deaf;
    await second.runs.stop(agent.person, runId);
    await agent.clock.advance(deaf ? 2_000 : 0);
    await first.runs.whenIdle(); // would wait for ever
    expect(await agent.run(runId)).toMatchObject({ status: 'stopped', epoch: 1 });
    expect([...first.errors, ...second.errors]).toEqual([]);
  });

  it('[AG-2] a run that a node lets go of is taken up by another at once', async () => {
    const model = script();
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    const runId = await agent.say('Go.');
    const first = agent.node;
    await agent.startNode({ withRunner: false });
    await first.runs.close();
    await settle();
    expect(await agent.run(runId)).toMatchObject({ epoch: 2, lease_owner: 'node-2' });
  });

  it('[AG-2] a stale epoch stores nothing, also while the run is still going on elsewhere', async () => {
    let wakeUp = () => {};
    const sleep = new Promise<void>((resolve) => {
      wakeUp = resolve;
    });
    const model = new ScriptedModel([
      {
        attempts: [
          [() => sleep, 'Of the first.'],
          ['Of the', hangs],
        ],
      },
    ]);
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Go.');
    const { store } = agent.node;
    const { write } = store;
    store.write = () => Promise.reject(new Error('the network is down'));
    await agent.startNode();
    await waitForTakeover(agent);
    store.write = write;
    wakeUp();
    await settle();
    expect(await agent.run(runId)).toMatchObject({
      status: 'running',
      epoch: 2,
      step: 0,
      lease_owner: 'node-2',
    });
    expect((await agent.messages()).map(({ content, complete }) => [content, complete])).toEqual([
      ['Go.', true],
      ['Of the', false], // by the second node, not by the first
    ]);
  });

  it('[AG-2] a call is recorded by the node that holds the run, once', async () => {
    const agent = await AgentFixture.open({ model: new ScriptedModel([['Half an ans', hangs]]) });
    const runId = await agent.say('Go.');
    const record = (epoch: number) => agent.node.engine.executor.submit(agent.callOf(runId, epoch));
    const [first, second] = await Promise.all([record(1), record(1)]);
    expect(second.execution.id).toBe(first.execution.id);
    await expect(record(2)).rejects.toBeInstanceOf(RunLost);
    expect(await agent.store.read((tx) => tx.history('ada', { limit: 10 }))).toHaveLength(1);
  });

  it('[AG-2] a run is renewed while it lasts, however long the person thinks', async () => {
    const model = script();
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    const runId = await agent.say('Go.');
    await agent.startNode({ withRunner: false });
    await agent.clock.advance(120_000);
    expect(await agent.run(runId)).toMatchObject({ epoch: 1, lease_owner: 'node-1', status: 'running' });
  });

  it('[DA-2] where one server has the database, its runs go on at once after a restart', async () => {
    const model = script();
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    const runId = await agent.say('Go.');
    agent.node.die();
    agent.runner.decide = () => 'approve';
    await agent.startNode({ isOnlyNode: true });
    await settle();
    await expectWholeStory(agent, runId, model);
  });

  it('[AG-2] a server that is shut down gives its runs back and ends none', async () => {
    const model = script();
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    const runId = await agent.say('Go.');
    const first = agent.node;
    await first.runs.close();
    await first.runs.close();
    first.die();
    expect(await agent.run(runId)).toMatchObject({ status: 'running', lease_owner: null, lease_until: null });
    await expect(
      first.runs.start({
        caller: agent.person,
        project: agent.project,
        session: agent.session,
        content: 'x',
      }),
    ).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    agent.runner.decide = () => 'approve';
    await agent.startNode();
    await settle();
    await expectWholeStory(agent, runId, model);
  });

  it('[AG-2] a failed background task is reported, and the run goes on when its lease has ended', async () => {
    const model = script();
    const agent = await AgentFixture.open({ model });
    const { node } = agent;
    let failures = 1;
    node.store.onWrite = (when, commit) => {
      if (when === 'before' && commit > 5 && failures-- > 0) throw new Error('the disk failed');
    };
    const runId = await agent.say('Go.');
    expect(node.errors).toMatchObject([{ message: 'the disk failed' }]);
    node.errors.length = 0;
    await agent.clock.advance(40_000);
    await expectWholeStory(agent, runId, model);
  });
});

it('[AG-2] a disk that is full ends no run, however long: it goes on when there is room', async () => {
  const model = new ScriptedModel([['An answer.']]);
  const agent = await AgentFixture.open({ model });
  agent.node.die();
  let refused = 0;
  // The disk has no room for the large answer, but still for the small writes in between.
  await agent.startNode({
    reached: (point) => {
      if (point !== 'model.answered' || refused === 10) return;
      refused += 1;
      throw new StorageFull({ problem: 'disk full', remedy: 'Free space' }, { cause: undefined });
    },
  });
  const runId = await agent.say('Go.');
  await agent.clock.advance(10 * 60_000);
  expect([refused, (await agent.run(runId)).status]).toEqual([10, 'completed']);
});

it('[AG-3] what fails every time ends the run: its model is not asked until the time is over', async () => {
  const model = new ScriptedModel([['An answer that cannot be stored.']]);
  const agent = await AgentFixture.open({ model });
  agent.node.die();
  const node = await agent.startNode({
    reached: (point) => {
      if (point === 'model.answered') throw new Error('it cannot be stored');
    },
  });
  const runId = await agent.say('Go.');
  await agent.clock.advance(10 * 60_000);
  expect(await agent.run(runId)).toMatchObject({
    status: 'failed',
    error: `Something failed on our side. It is in the log under request id ${runId}.`,
  });
  expect(model.requests).toHaveLength(5);
  expect((await agent.states()).at(-1)).toBe('idle');
  expect(String(node.errors.at(-1))).toContain(`The run ${runId} has ended: it failed 5 times.`);
});

it('[AG-3] between the end of a stopped run and that of its calls: the next start cancels them', async () => {
  const model = new ScriptedModel([[toolCall('write_file', { path: 'c.md', content: 'x' })]]);
  const agent = await AgentFixture.open({ model });
  agent.node.die();
  const node = await agent.startNode({
    reached: (point) => {
      if (point === 'stop.committed') node.die();
    },
  });
  agent.runner.decide = () => undefined;
  const runId = await agent.say('Go.');
  void node.runs.stop(agent.person, runId);
  await settle();
  expect(await agent.run(runId)).toMatchObject({ status: 'stopped' });
  const call = () => agent.store.read((tx) => tx.executionOfCall(runId, 0, 0));
  expect(await call()).toMatchObject({ status: 'awaiting_approval' });
  await agent.startNode();
  expect(await call()).toMatchObject({ status: 'cancelled', error: 'You stopped this run.' });
  expect(await agent.store.read((tx) => tx.pendingApprovals('ada'))).toEqual([]);
});
