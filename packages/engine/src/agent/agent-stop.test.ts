import { AgentFixture, type AgentNode, hangs, ScriptedModel, settle, toolCall } from '@countersign/testing';
import { describe, expect, it } from 'vitest';

const edit = toolCall('edit_file', { path: 'a.md', old: 'x', new: 'y' });
const test = toolCall('execute_command', { command: 'npm', args: ['test'] });

describe('stopping a run', () => {
  it('[AG-3] while the model is writing: what it wrote stays, and the agent is idle', async () => {
    const model = new ScriptedModel([['Once upon a time', hangs], ['The end.']]);
    const agent = await AgentFixture.open({ model });
    const screen = await agent.listen();
    const runId = await agent.say('Tell a story.');
    const stopped = await agent.node.runs.stop(agent.person, runId);
    expect(stopped).toMatchObject({ status: 'stopped', error: null, ended_at: agent.clock.now() });
    await settle();
    expect(model.requests[0]?.request.signal.aborted).toBe(true);
    expect(await agent.transcript()).toEqual([
      'user: Tell a story.',
      'assistant: Once upon a time',
      'system: You stopped this run.',
    ]);
    expect(screen.all('message.created').slice(-2)).toMatchObject([
      { content: 'Once upon a time', complete: true },
      { role: 'system', content: 'You stopped this run.', run_id: runId },
    ]);
    expect((await agent.states()).at(-1)).toBe('idle');
    await agent.say('Go on.');
    expect(model.requests[1]?.request.messages).toEqual([
      { role: 'user', text: 'Tell a story.' },
      { role: 'assistant', text: 'Once upon a time', toolCalls: [] },
      { role: 'user', text: 'Go on.' },
    ]);
    expect(agent.node.errors).toEqual([]);
  });

  it('[AG-3] before the first word: there is nothing to keep', async () => {
    const model = new ScriptedModel([{ attempts: [[hangs], ['Yes?']] }]);
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Hello?');
    await agent.node.runs.stop(agent.person, runId);
    await settle();
    expect(await agent.transcript()).toEqual(['user: Hello?', 'system: You stopped this run.']);
    await agent.say('Hello!');
    expect((await agent.transcript()).at(-1)).toBe('assistant: Yes?');
  });

  it('[AG-3] while the person is asked: the request is withdrawn', async () => {
    const model = new ScriptedModel([[edit], ['I know.']]);
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    const screen = await agent.listen();
    const runId = await agent.say('Change it.');
    await agent.node.runs.stop(agent.person, runId);
    await settle();
    expect(await screen.last('approval.resolved')).toMatchObject({ status: 'cancelled' });
    expect(await screen.last('tool.result')).toMatchObject({
      status: 'cancelled',
      error: { code: 'EXECUTION_CANCELLED', message: 'You stopped this run.' },
      not_started: true,
    });
    expect(await agent.run(runId)).toMatchObject({ status: 'stopped', step: 1 });
    expect((await agent.states()).at(-1)).toBe('idle');
    // The model gets a result for the stopped call from the call's record, because models refuse a call without a
    // result.
    await agent.say('What now?');
    const messages = model.requests[1]?.request.messages ?? [];
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(messages[2]).toMatchObject({
      toolCallId: 'call_0',
      content: expect.stringContaining('The person stopped the run before this call began.'),
    });
  });

  it('[AG-3] while a tool runs: it is cancelled, and what it still reports is kept', async () => {
    let finish = () => {};
    const running = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const tools = {
      execute_command: async () => {
        await running;
        return { status: 'cancelled' as const, result: { stdout: 'half', stderr: '', exit_code: null } };
      },
    };
    const model = new ScriptedModel([[test], ['I see.']]);
    const agent = await AgentFixture.open({ model, tools });
    const runId = await agent.say('Test it.');
    expect((await agent.states()).at(-1)).toBe('tool_execution');
    await agent.node.runs.stop(agent.person, runId);
    await settle();
    expect(agent.runner.cancelled).toEqual(agent.runner.executed.map(({ toolId }) => toolId));
    finish();
    await settle();
    await agent.say('And?');
    expect(model.requests[1]?.request.messages[2]).toMatchObject({
      content: expect.stringContaining('"stdout":"half"'),
    });
    expect(agent.node.errors).toEqual([]);
  });

  it('[AG-3] between two calls of a step: the second is never made', async () => {
    const model = new ScriptedModel([
      [edit, toolCall('edit_file', { path: 'a.md', old: 'y', new: 'z' }, 'call_1')],
    ]);
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    const runId = await agent.say('Twice.');
    await agent.node.runs.stop(agent.person, runId);
    await settle();
    const calls = await agent.store.read((tx) => tx.history('ada', { limit: 10 }));
    expect(calls.map(({ tool_call_id, status }) => [tool_call_id, status])).toEqual([
      ['call_0', 'cancelled'],
    ]);
    // After a reload the transcript still says which call waited and which was never made.
    const [, step, note] = await agent.messages();
    expect(step?.tool_calls).toMatchObject([{ tool_id: calls[0]?.id }, { tool_id: null, not_started: true }]);
    expect(note).toMatchObject({ role: 'system', content: 'You stopped this run.' });
    const told = (await agent.events()).filter(({ event }) => event === 'message.created').at(-2);
    expect(told?.data).toMatchObject({ tool_calls: [{ tool_call_id: 'call_0' }, { not_started: true }] });
  });

  it.each([
    ['tool.before', []],
    ['tool.recorded', ['cancelled']],
  ] as const)('[AG-3] by another node at %s: no call is left behind', async (moment, statuses) => {
    const model = new ScriptedModel([[edit]]);
    const agent = await AgentFixture.open({ model });
    agent.node.die();
    let runId = '';
    let other: AgentNode | undefined;
    const first = await agent.startNode({
      reached: async (point) => {
        if (point === moment) await other?.runs.stop(agent.person, runId);
      },
    });
    other = await agent.startNode({ withRunner: false });
    agent.runner.decide = () => undefined;
    const { person: caller, project, session } = agent;
    ({ run_id: runId } = await first.runs.start({ caller, project, session, content: 'Change it.' }));
    await settle();
    const calls = await agent.store.read((tx) => tx.history('ada', { limit: 10 }));
    expect(calls.map(({ status }) => status)).toEqual(statuses);
    expect(await agent.run(runId)).toMatchObject({ status: 'stopped' });
    expect([...first.errors, ...other.errors]).toEqual([]);
  });

  it('[AG-3] on another node than the one that has it', async () => {
    const model = new ScriptedModel([['Once', hangs]]);
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Tell a story.');
    const second = await agent.startNode({ withRunner: false });
    await second.runs.stop(agent.person, runId);
    await agent.clock.advance(5_000);
    expect(model.requests[0]?.request.signal.aborted).toBe(true);
    expect(await agent.run(runId)).toMatchObject({ status: 'stopped' });
  });

  it('[AG-3] twice, or after its end, changes nothing', async () => {
    const model = new ScriptedModel([['Hello.']]);
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Hello');
    const before = await agent.events();
    expect(await agent.node.runs.stop(agent.person, runId)).toMatchObject({ status: 'completed' });
    expect(await agent.events()).toEqual(before);
    await expect(agent.node.runs.stop(agent.person, 'nothing')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('budgets', () => {
  const defaultGetRetries = (turn: number) => [
    toolCall('read_file', { path: `${turn}.md` }),
    { type: 'usage', inputTokens: 40, outputTokens: 10 } as const,
  ];
  const endless = () => new ScriptedModel(Array.from({ length: 60 }, (_, turn) => defaultGetRetries(turn)));

  it.each([
    [{ steps: 3 }, 3, 'This run has used its budget of 3 steps. Send another message to go on.'],
    [{ tokens: 100 }, 2, 'This run has used its budget of 100 tokens. Send another message to go on.'],
    [{}, 50, 'This run has used its budget of 50 steps. Send another message to go on.'],
  ])('[AG-3] %j ends a run after %i steps, and says so', async (budget, steps, message) => {
    const agent = await AgentFixture.open({ model: endless(), budget });
    const runId = await agent.say('Read everything.');
    for (let i = 0; i < 20; i++) await settle();
    expect(await agent.run(runId)).toMatchObject({ status: 'failed', step: steps, error: message });
    expect((await agent.transcript()).at(-1)).toBe(`system: ${message}`);
    expect((await agent.states()).at(-1)).toBe('idle');
    expect(agent.node.errors).toEqual([]);
  });

  it('[AG-3] time ends a run also while the person is asked', async () => {
    const agent = await AgentFixture.open({
      model: new ScriptedModel([[edit]]),
      budget: { milliseconds: 90_000 },
    });
    agent.runner.decide = () => undefined;
    const screen = await agent.listen();
    const runId = await agent.say('Change it.');
    await agent.clock.advance(90_000);
    const message = 'This run has used its budget of 2 minutes. Send another message to go on.';
    expect(await agent.run(runId)).toMatchObject({ status: 'failed', error: message });
    expect(await screen.last('approval.resolved')).toMatchObject({ status: 'cancelled' });
    expect((await agent.transcript()).at(-1)).toBe(`system: ${message}`);
  });

  it('[AG-3] what the system told the person is not told to the model', async () => {
    const model = endless();
    const agent = await AgentFixture.open({ model, budget: { steps: 1 } });
    await agent.say('Read.');
    await agent.say('Go on.');
    expect(model.requests.at(-1)?.request.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'user',
    ]);
  });
});
