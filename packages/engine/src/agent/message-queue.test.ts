import { AgentFixture, type AgentNode, codeOf, ScriptedModel, settle, toolCall } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import { changeQueuedMessage, removeQueuedMessage } from './message-queue.ts';

const test = toolCall('execute_command', { command: 'npm', args: ['test'] });
const edit = (id: string) => toolCall('edit_file', { path: 'a.md', old: 'x', new: 'y' }, id);

/** A tool or a model that waits until it is told to go on. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const openAndSettle = async () => {
    open();
    await settle();
  };
  return { opened, open: openAndSettle };
}

/** An agent whose first call, of execute_command, runs until the gate is opened. */
async function working(turns: ConstructorParameters<typeof ScriptedModel>[0]) {
  const { opened, open } = gate();
  const execute_command = async () => {
    await opened;
    return { status: 'completed' as const, result: { success: true } };
  };
  const model = new ScriptedModel(turns);
  const agent = await AgentFixture.open({ model, tools: { execute_command } });
  return { agent, model, finish: open };
}

const send = async (
  agent: AgentFixture,
  content: string,
  whenBusy: 'refuse' | 'queue' | 'send_now',
  { runs }: AgentNode = agent.node,
) => {
  const { person: caller, project, session } = agent;
  const sent = await runs.start({ caller, project, session, content, whenBusy });
  await settle();
  return sent;
};
const queueOf = async (agent: AgentFixture): Promise<string[]> =>
  (await agent.store.read((tx) => tx.queuedMessagesOf('session-1'))).map(({ content }) => content);
const toldQueues = async (agent: AgentFixture): Promise<string[][]> =>
  (await agent.events()).flatMap((event) =>
    event.event === 'queue.changed' ? [event.data.queued.map(({ content }) => content)] : [],
  );

describe('a message while the agent works', () => {
  it('[AG-5] waits for the next model step, which takes the queue in order', async () => {
    const { agent, model, finish } = await working([[test], ['Done.']]);
    const runId = await agent.say('Test it.');
    const first = await send(agent, 'Use tabs.', 'queue');
    expect(first).toMatchObject({ run_id: runId, session_id: 'session-1', queued: true });
    await send(agent, 'No semicolons.', 'queue');
    expect(await queueOf(agent)).toEqual(['Use tabs.', 'No semicolons.']);
    expect(model.requests).toHaveLength(1);
    await finish();
    expect(model.requests[1]?.request.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'user',
      'user',
    ]);
    expect(await agent.transcript()).toEqual([
      'user: Test it.',
      'assistant: ',
      'tool: success',
      'user: Use tabs.',
      'user: No semicolons.',
      'assistant: Done.',
    ]);
    const taken = (await agent.messages())[3];
    expect(taken).toMatchObject({ id: first.message_id, run_id: runId });
    expect(await toldQueues(agent)).toEqual([['Use tabs.'], ['Use tabs.', 'No semicolons.'], []]);
    expect(agent.node.errors).toEqual([]);
  });

  it('[AG-5] keeps a run going that would have ended with an answer', async () => {
    const { opened, open } = gate();
    const model = new ScriptedModel([['Hello', () => opened, '.'], ['Tabs it is.']]);
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Hello?');
    await send(agent, 'Use tabs.', 'queue');
    await open();
    expect(await agent.transcript()).toEqual([
      'user: Hello?',
      'assistant: Hello.',
      'user: Use tabs.',
      'assistant: Tabs it is.',
    ]);
    expect(await agent.run(runId)).toMatchObject({ status: 'completed', step: 2 });
    expect(await agent.states()).toEqual(['thinking', 'idle']);
  });

  it('[AG-5] is refused unless it says that it may wait', async () => {
    const { agent } = await working([[test]]);
    await agent.say('Test it.');
    expect(await codeOf(send(agent, 'Use tabs.', 'refuse'))).toBe('RUN_ACTIVE');
    expect(await queueOf(agent)).toEqual([]);
  });

  it('[AG-5] starts a run when the agent is idle', async () => {
    const agent = await AgentFixture.open({ model: new ScriptedModel([['Yes?']]) });
    expect(await send(agent, 'Hello', 'send_now')).toMatchObject({ queued: false });
    expect(await agent.transcript()).toEqual(['user: Hello', 'assistant: Yes?']);
  });

  it('[AG-5] is refused when 20 wait, and says so', async () => {
    const { agent } = await working([[test]]);
    await agent.say('Test it.');
    for (let n = 0; n < 20; n++) await send(agent, `${n}`, 'queue');
    await expect(send(agent, 'one more', 'queue')).rejects.toMatchObject({
      code: 'QUEUE_FULL',
      message:
        'There are 20 messages waiting in this conversation. Remove one, or wait until the agent takes them.',
    });
    expect(await queueOf(agent)).toHaveLength(20);
  });

  it('[EV-2] is announced without its text when the queue is too large for an event', async () => {
    const { agent } = await working([[test]]);
    await agent.say('Test it.');
    await send(agent, 'x'.repeat(70_000), 'queue');
    const told = (await agent.events()).find(({ event }) => event === 'queue.changed');
    expect(told?.data).toMatchObject({ queued: [{ content: '', omitted: ['content'] }] });
  });
});

describe('a message that waits', () => {
  it('[AG-5] can be changed and removed until the agent takes it', async () => {
    const { agent, finish } = await working([[test], ['Done.']]);
    await agent.say('Test it.');
    const { message_id: a } = await send(agent, 'Use tabs.', 'queue');
    const { message_id: b } = await send(agent, 'No semicolons.', 'queue');
    const parts = { store: agent.store };
    await changeQueuedMessage(parts, agent.person, a, 'Use spaces.');
    await removeQueuedMessage(parts, agent.person, b);
    expect(await queueOf(agent)).toEqual(['Use spaces.']);
    await finish();
    expect(await agent.transcript()).toContain('user: Use spaces.');
    expect(await codeOf(changeQueuedMessage(parts, agent.person, a, 'Use both.'))).toBe('MESSAGE_SENT');
    expect(await codeOf(removeQueuedMessage(parts, agent.person, a))).toBe('MESSAGE_SENT');
    expect(await codeOf(removeQueuedMessage(parts, agent.person, b))).toBe('NOT_FOUND');
    expect((await toldQueues(agent)).slice(2)).toEqual([
      ['Use spaces.', 'No semicolons.'],
      ['Use spaces.'],
      [],
    ]);
  });

  it('[RE-3] is not found by another person or in another project', async () => {
    const { agent } = await working([[test]]);
    await agent.say('Test it.');
    const { message_id } = await send(agent, 'Use tabs.', 'queue');
    const parts = { store: agent.store };
    for (const other of [
      { ...agent.person, userId: 'eve' },
      { ...agent.person, projectId: 'another' },
    ]) {
      expect(await codeOf(changeQueuedMessage(parts, other, message_id, 'Mine.'))).toBe('NOT_FOUND');
      expect(await codeOf(removeQueuedMessage(parts, other, message_id))).toBe('NOT_FOUND');
      expect(await codeOf(agent.node.runs.sendQueued(other, message_id))).toBe('NOT_FOUND');
    }
    expect(await queueOf(agent)).toEqual(['Use tabs.']);
  });

  it('[AG-5] stays when the run is stopped, and can then be sent by itself', async () => {
    const model = new ScriptedModel([[edit('call_0')], ['Tabs.', test], ['Spaces.']]);
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    const runId = await agent.say('Change it.');
    const { message_id: a } = await send(agent, 'Use spaces.', 'queue');
    const { message_id: b } = await send(agent, 'Use tabs.', 'queue');
    await agent.node.runs.stop(agent.person, runId);
    await settle();
    expect(await queueOf(agent)).toEqual(['Use spaces.', 'Use tabs.']);
    agent.runner.decide = () => 'approve';
    const sent = await agent.node.runs.sendQueued(agent.person, b);
    expect(sent).toMatchObject({ message_id: b, queued: false });
    expect(sent.run_id).not.toBe(runId);
    await settle();
    // The other queued message comes with the next step.
    expect((await agent.transcript()).slice(3)).toEqual([
      'user: Use tabs.',
      'assistant: Tabs.',
      'tool: success',
      'user: Use spaces.',
      'assistant: Spaces.',
    ]);
    expect((await agent.messages()).find(({ id }) => id === a)?.run_id).toBe(sent.run_id);
    // A client that lost the answer asks again and gets the same.
    expect(await agent.node.runs.sendQueued(agent.person, b)).toEqual(sent);
    expect(agent.node.errors).toEqual([]);
  });

  it('[AG-5] stays when the run is stopped, and comes before the next message', async () => {
    const model = new ScriptedModel([[edit('call_0')], ['Tabs in b.md.']]);
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    const runId = await agent.say('Change a.md.');
    await send(agent, 'Use tabs.', 'queue');
    await agent.node.runs.stop(agent.person, runId);
    await settle();
    await agent.say('Take b.md instead.');
    expect((await agent.transcript()).slice(2)).toEqual([
      'system: You stopped this run.',
      'user: Use tabs.',
      'user: Take b.md instead.',
      'assistant: Tabs in b.md.',
    ]);
    expect(await queueOf(agent)).toEqual([]);
  });
});

describe('send now', () => {
  it('[AG-5] lets the call that runs end, and starts no other of the step', async () => {
    const { agent, model, finish } = await working([[test, edit('call_1')], ['Tabs.']]);
    await agent.say('Test and change it.');
    await send(agent, 'Use tabs.', 'send_now');
    expect(model.requests).toHaveLength(1);
    await finish();
    expect(await agent.transcript()).toEqual([
      'user: Test and change it.',
      'assistant: ',
      'tool: success',
      'tool: error',
      'user: Use tabs.',
      'assistant: Tabs.',
    ]);
    expect(agent.runner.executed.map(({ tool }) => tool)).toEqual(['execute_command']);
    expect(agent.runner.cancelled).toEqual([]);
    const [, step, , notStarted] = await agent.messages();
    expect(step?.tool_calls).toMatchObject([
      { tool_call_id: 'call_0' },
      { tool_id: null, not_started: true },
    ]);
    expect(notStarted?.content).toContain('not started: a message was sent to the agent first');
    expect(agent.node.errors).toEqual([]);
  });

  it('[AG-5] withdraws what waits for a decision', async () => {
    const model = new ScriptedModel([[edit('call_0'), edit('call_1')], ['Tabs.']]);
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    const screen = await agent.listen();
    await agent.say('Change it twice.');
    const { message_id } = await send(agent, 'Use tabs.', 'queue');
    expect(model.requests).toHaveLength(1);
    expect(await agent.node.runs.sendQueued(agent.person, message_id)).toMatchObject({ queued: true });
    await settle();
    expect(await screen.last('approval.resolved')).toMatchObject({ status: 'cancelled' });
    expect(await screen.last('tool.result')).toMatchObject({ status: 'cancelled', not_started: true });
    expect((await agent.transcript()).slice(-2)).toEqual(['user: Use tabs.', 'assistant: Tabs.']);
    expect(agent.runner.executed).toEqual([]);
  });

  it('[AG-5] takes back what was approved and has not begun, for example because no runner is there', async () => {
    const model = new ScriptedModel([[edit('call_0')], ['Tabs.']]);
    const agent = await AgentFixture.open({ model });
    await agent.node.engine.modes.change(agent.person, 'session-1', { mode: 'accept_edits' });
    agent.node.die();
    await agent.startNode({ withRunner: false });
    await agent.loseRunner();
    await agent.say('Change it.');
    const [call] = await agent.store.read((tx) => tx.history('ada', { limit: 1 }));
    expect(call).toMatchObject({ status: 'approved', runner_id: null });
    await send(agent, 'Use tabs.', 'send_now');
    expect((await agent.transcript()).slice(-2)).toEqual(['user: Use tabs.', 'assistant: Tabs.']);
    expect(await agent.store.read((tx) => tx.get('tool_executions', String(call?.id)))).toMatchObject({
      status: 'cancelled',
      started_at: null,
    });
    expect(agent.node.errors).toEqual([]);
  });

  it('[AG-5] while the model thinks: none of the calls that it then makes begins', async () => {
    const { opened, open } = gate();
    const model = new ScriptedModel([['I edit.', () => opened, edit('call_0')], ['Tabs.']]);
    const agent = await AgentFixture.open({ model });
    await agent.say('Change it.');
    await send(agent, 'Wait.', 'send_now');
    await open();
    expect((await agent.transcript()).slice(1)).toEqual([
      'assistant: I edit.',
      'tool: error',
      'user: Wait.',
      'assistant: Tabs.',
    ]);
    expect(await agent.store.read((tx) => tx.history('ada', { limit: 10 }))).toEqual([]);
  });

  it('[AG-5] through another node, even if its hint is lost', async () => {
    const model = new ScriptedModel([[edit('call_0')], ['Tabs.']]);
    const agent = await AgentFixture.open({ model });
    const first = agent.node;
    agent.runner.decide = () => undefined;
    await agent.say('Change it.');
    const second = await agent.startNode({ withRunner: false });
    agent.bus.deaf = true;
    await send(agent, 'Use tabs.', 'send_now', second);
    agent.bus.deaf = false;
    expect(await queueOf(agent)).toEqual(['Use tabs.']);
    await agent.clock.advance(5_000);
    await settle();
    expect((await agent.transcript()).slice(-2)).toEqual(['user: Use tabs.', 'assistant: Tabs.']);
    expect([...first.errors, ...second.errors]).toEqual([]);
  });
});

it('[AG-5] a message in the middle of a run does not push its task out of the context', async () => {
  const results = Array.from({ length: 12 }, (_, n) =>
    toolCall('read_file', { path: `${n}.md` }, `call_${n}`),
  );
  const { opened, open } = gate();
  const model = new ScriptedModel([results, [() => opened, test], ['Done.']]);
  const read_file = async () => ({
    status: 'completed' as const,
    result: { success: true, content: 'x'.repeat(49_000) },
  });
  const agent = await AgentFixture.open({ model, tools: { read_file } });
  await agent.say('Port it to Rust.');
  await send(agent, 'Use tabs.', 'queue');
  await open();
  const asked = model.requests[2]?.request.messages ?? [];
  expect(asked.flatMap((message) => (message.role === 'user' ? [message.text] : []))).toEqual([
    'Port it to Rust.',
    'Use tabs.',
  ]);
});

describe('after kill -9 of the server', () => {
  it('[AG-5] [AG-2] the queue is there, and the next server gives it to the agent once', async () => {
    const { agent, finish } = await working([[test], ['Done.']]);
    await agent.say('Test it.');
    await send(agent, 'Use tabs.', 'queue');
    agent.node.die();
    await agent.startNode();
    expect(await queueOf(agent)).toEqual(['Use tabs.']);
    await agent.clock.advance(10_000);
    await finish();
    await agent.clock.advance(10_000);
    expect(await agent.transcript()).toEqual([
      'user: Test it.',
      'assistant: ',
      'tool: success',
      'user: Use tabs.',
      'assistant: Done.',
    ]);
  });

  it('[AG-5] [AG-2] what was taken before the model was asked is not lost and not taken twice', async () => {
    const { agent, finish } = await working([[test], ['Done.']]);
    agent.node.die();
    let count = 0;
    const dying = await agent.startNode({
      reached: (point) => {
        if (point === 'model.before' && ++count === 2) dying.die();
      },
    });
    await agent.say('Test it.');
    await send(agent, 'Use tabs.', 'queue');
    await finish();
    expect(await queueOf(agent)).toEqual([]);
    await agent.startNode();
    await agent.clock.advance(10_000);
    expect((await agent.transcript()).slice(3)).toEqual(['user: Use tabs.', 'assistant: Done.']);
  });

  it('[AG-5] a message to be sent now still withdraws what waits', async () => {
    const model = new ScriptedModel([[edit('call_0')], ['Tabs.']]);
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    await agent.say('Change it.');
    await send(agent, 'Use tabs.', 'queue');
    agent.node.die();
    const [queued] = await agent.store.read((tx) => tx.queuedMessagesOf('session-1'));
    await agent.store.write((tx) =>
      tx.update('queued_messages', String(queued?.id), { when_busy: 'send_now' }),
    );
    await agent.startNode();
    await agent.clock.advance(10_000);
    expect((await agent.transcript()).slice(-2)).toEqual(['user: Use tabs.', 'assistant: Tabs.']);
    expect(agent.runner.executed).toEqual([]);
  });
});

it('[AG-5] the manual model makes the calls of all messages that waited', async () => {
  const { manualModel } = await import('./manual-model.ts');
  const tools = [{ name: 'read_file', description: '', input_schema: {} }];
  const parts: unknown[] = [];
  for await (const part of manualModel.call({
    messages: [
      { role: 'user', text: '/read_file path=a.md' },
      { role: 'user', text: 'and then' },
      { role: 'user', text: '/read_file path=b.md' },
    ],
    tools: tools as never,
    signal: new AbortController().signal,
  }))
    parts.push(part);
  expect(parts.slice(0, 2)).toMatchObject([{ params: { path: 'a.md' } }, { params: { path: 'b.md' } }]);
});
