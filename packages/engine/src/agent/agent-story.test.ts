import { AgentFixture, hangs, type Listener, ScriptedModel, settle, toolCall } from '@countersign/testing';
import { describe, expect, it } from 'vitest';

const usage = { type: 'usage', inputTokens: 100, outputTokens: 10 } as const;
const readReadme = toolCall('read_file', { path: 'README.md' });
const edit = toolCall('edit_file', { path: 'README.md', old: 'Helo', new: 'Hello' });
const tools = {
  read_file: () => ({
    status: 'completed' as const,
    result: { success: true, content: 'Helo', encoding: 'utf-8', size: 4, truncated: false },
    execution_time_ms: 3,
  }),
  edit_file: () => ({
    status: 'completed' as const,
    result: {
      success: true,
      path: 'README.md',
      size: 5,
      changed_files: [{ path: 'README.md', operation: 'modified' }],
    },
    execution_time_ms: 5,
  }),
};

/** The JSON that the model was given as the result of a call. */
const resultsIn = (request: ScriptedModel['requests'][number] | undefined): unknown[] =>
  (request?.request.messages ?? []).flatMap((message) =>
    message.role === 'tool' ? [JSON.parse(message.content.split('\n')[1] as string)] : [],
  );

describe('the story of a run', () => {
  it('[AG-1] reads, edits after an approval, and answers', async () => {
    const model = new ScriptedModel([
      ['I look ', 'first.', readReadme, usage],
      [edit, usage],
      ['Done: ', 'it says Hello now.', usage],
    ]);
    const agent = await AgentFixture.open({ model, tools });
    agent.runner.decide = () => undefined;
    const screen = await agent.listen();
    const runId = await agent.say('Please correct the greeting.');

    expect(await agent.states()).toEqual([
      'thinking',
      'tool_execution',
      'thinking',
      'tool_execution',
      'awaiting_approval',
    ]);
    const request = await screen.last('tool.approval_request');
    expect(request.context).toEqual({
      message_id: `${runId}-1`,
      run_id: runId,
      step: 1,
      excerpt: 'Please correct the greeting.',
    });
    await agent.node.engine.approvals.approveTool(agent.person, request.approval_id, {});
    await settle();

    expect(await agent.transcript()).toEqual([
      'user: Please correct the greeting.',
      'assistant: I look first.',
      'tool: success',
      'assistant: ',
      'tool: success',
      'assistant: Done: it says Hello now.',
    ]);
    expect(agent.runner.executed.map(({ tool }) => tool)).toEqual(['read_file', 'edit_file']);
    expect(await agent.run(runId)).toMatchObject({
      status: 'completed',
      step: 3,
      input_tokens: 300,
      output_tokens: 30,
      error: null,
      lease_owner: null,
    });
    expect((await agent.states()).slice(4)).toEqual([
      'awaiting_approval',
      'tool_execution',
      'thinking',
      'idle',
    ]);
    expect(resultsIn(model.requests[2])).toEqual([
      {
        status: 'success',
        tool_call_id: 'call_0',
        execution_time_ms: 3,
        result: { success: true, content: 'Helo', encoding: 'utf-8', size: 4, truncated: false },
      },
      {
        status: 'success',
        // The provider gives every call the id call_0, so the conversation makes the id unique.
        tool_call_id: 'call_0_2',
        execution_time_ms: 5,
        result: {
          success: true,
          path: 'README.md',
          size: 5,
          changed_files: [{ path: 'README.md', operation: 'modified' }],
        },
      },
    ]);
    expect(agent.node.errors).toEqual([]);
  });

  it('[EV-1] announces each message: the question, answers with their calls, results', async () => {
    const model = new ScriptedModel([[readReadme], ['Fine.']]);
    const agent = await AgentFixture.open({ model, tools });
    const screen = await agent.listen();
    const runId = await agent.say('Look.');
    const created = screen.all('message.created');
    expect(created.map(({ role, content, complete }) => [role, content.slice(0, 20), complete])).toEqual([
      ['user', 'Look.', true],
      ['assistant', '', true],
      ['tool', '{"status":"success",', true],
      ['assistant', '', false],
      ['assistant', 'Fine.', true],
    ]);
    expect(new Set(created.map((message) => message.model))).toEqual(new Set([model.name]));
    expect(created[1]?.tool_calls).toEqual([
      { tool_call_id: 'call_0', tool_id: null, tool_name: 'read_file', tool_params: { path: 'README.md' } },
    ]);
    const toolId = agent.runner.executed[0]?.toolId;
    expect(created[2]?.tool_id).toBe(toolId);
    // Later the stored message names the execution too.
    const stored = (await agent.messages()).find(({ id }) => id === `${runId}-0`);
    expect(stored?.tool_calls).toMatchObject([{ tool_id: toolId }]);
  });

  it('[EV-4] a client that joins while the model pauses gets the text so far', async () => {
    const agent = await AgentFixture.open({ model: new ScriptedModel([['I write the file.', hangs]]) });
    await agent.say('Write.');
    await agent.clock.advance(500);
    expect((await agent.messages()).at(-1)).toMatchObject({ content: 'I write the file.', complete: false });
  });

  it('[EV-4] streams text with the right offsets, and stores it at most twice a second', async () => {
    const pause = (ms: number) => () => new Promise<void>((resolve) => agent.clock.after(ms, resolve));
    const model = new ScriptedModel([
      ['One 🧪', pause(100), ' two', pause(450), ' three', pause(100), ' four', pause(100), ' five'],
    ]);
    const agent: AgentFixture = await AgentFixture.open({ model });
    const screen = await agent.listen();
    const runId = await agent.say('Count.');
    const deltas = () => screen.all('message.delta').map(({ offset, text }) => [offset, text]);

    expect(deltas()).toEqual([[0, 'One 🧪']]);
    await agent.clock.advance(100);
    expect((await agent.messages()).at(-1)).toMatchObject({ content: '', complete: false });
    await agent.clock.advance(450);
    expect((await agent.messages()).at(-1)).toMatchObject({ content: 'One 🧪 two three', complete: false });
    await agent.clock.advance(100);
    expect((await agent.messages()).at(-1)).toMatchObject({ content: 'One 🧪 two three' });
    await agent.clock.advance(100);
    expect(deltas()).toEqual([
      [0, 'One 🧪'],
      [6, ' two'],
      [10, ' three'],
      [16, ' four'],
      [21, ' five'],
    ]);
    expect((await agent.messages()).at(-1)).toMatchObject({
      id: `${runId}-0`,
      content: 'One 🧪 two three four five',
      complete: true,
    });
    // Deltas have no id of their own; everything else has.
    expect(screen.received.filter(({ id }) => id === undefined).map(({ event }) => event.event)).toEqual(
      Array.from({ length: 5 }, () => 'message.delta'),
    );
    expectCreatedBeforeDeltas(screen);
  });

  it('[EX-4] makes independent calls in parallel, and those on one path in order', async () => {
    const model = new ScriptedModel([
      [
        toolCall('read_file', { path: 'a.md' }, 'a'),
        toolCall('write_file', { path: 'b.md', content: '1' }, 'b'),
        toolCall('write_file', { path: 'b.md', content: '2' }, 'c'),
        toolCall('read_file', { path: 'd.md' }, 'f'),
        toolCall('execute_command', { command: 'npm', args: ['test'] }, 'd'),
        toolCall('read_file', { path: 'c.md' }, 'e'),
      ],
      ['All done.'],
    ]);
    const agent = await AgentFixture.open({ model, tools });
    agent.runner.decide = () => undefined;
    const screen = await agent.listen();
    await agent.say('Do all of it.');
    const asked = () => screen.all('tool.approval_request').map((request) => request.tool_call_id);

    // The last call reads a file that the command may write.
    expect(agent.runner.executed.map(({ params }) => params.path)).toEqual(['a.md', 'd.md']);
    expect(asked()).toEqual(['b']);
    for (const expected of [
      ['b', 'c'],
      ['b', 'c', 'd'],
      ['b', 'c', 'd'],
    ]) {
      const { approval_id } = await screen.last('tool.approval_request');
      await agent.node.engine.approvals.approveTool(agent.person, approval_id, {});
      await settle();
      expect(asked()).toEqual(expected);
    }
    expect((await agent.transcript()).at(-1)).toBe('assistant: All done.');
    // Whatever came first, the model gets the results in the order of its calls.
    const results = resultsIn(model.requests[1]).map(
      (result) => (result as { tool_call_id: string }).tool_call_id,
    );
    expect(results).toEqual(['a', 'b', 'c', 'f', 'd', 'e']);
  });

  it('[AG-3] asks about at most ten calls of a step at once; the others wait for their turn', async () => {
    const calls = Array.from({ length: 12 }, (_, i) =>
      toolCall('write_file', { path: `${i}.md`, content: 'x' }, `c${i}`),
    );
    const model = new ScriptedModel([calls, ['Twelve files.']]);
    const agent = await AgentFixture.open({ model });
    agent.runner.decide = () => undefined;
    const screen = await agent.listen();
    await agent.say('Write.');
    const requests = screen.all('tool.approval_request');
    expect(requests).toHaveLength(10);
    agent.runner.decide = () => 'approve';
    for (const { approval_id } of requests) {
      await agent.node.engine.approvals.approveTool(agent.person, approval_id, {});
      await settle();
    }
    expect((await agent.transcript()).at(-1)).toBe('assistant: Twelve files.');
    expect(agent.runner.executed).toHaveLength(12);
  });

  it('[AP-5] gives the model the words of a rejection, and goes on', async () => {
    const model = new ScriptedModel([[edit], ['Then not.']]);
    const agent = await AgentFixture.open({ model, tools });
    agent.runner.decide = () => ({ reject: { reason: 'Not this file', message: 'Change docs/ only.' } });
    const runId = await agent.say('Correct it.');
    expect(resultsIn(model.requests[1])).toEqual([
      {
        status: 'rejected',
        tool_call_id: 'call_0',
        reason: 'Not this file',
        user_message: 'Change docs/ only.',
      },
    ]);
    expect(await agent.run(runId)).toMatchObject({ status: 'completed' });
    expect(agent.runner.executed).toEqual([]);
  });

  it('[AP-3] tells the model of an approval that nobody answered', async () => {
    const model = new ScriptedModel([[edit], ['Nobody is there.']]);
    const agent = await AgentFixture.open({ model, tools });
    agent.runner.decide = () => undefined;
    await agent.say('Correct it.');
    await agent.clock.advance(300_000);
    expect(resultsIn(model.requests[1])).toMatchObject([
      { status: 'error', error: { code: 'APPROVAL_TIMEOUT', message: 'Approval timeout' } },
    ]);
    expect((await agent.transcript()).at(-1)).toBe('assistant: Nobody is there.');
  });

  it('[EX-8] tells the model of a call that was cancelled', async () => {
    const model = new ScriptedModel([[edit], ['Cancelled, I see.']]);
    const agent = await AgentFixture.open({ model, tools });
    agent.runner.decide = () => undefined;
    const screen = await agent.listen();
    await agent.say('Correct it.');
    const { tool_id } = await screen.last('tool.approval_request');
    await agent.node.engine.dispatcher.cancel(agent.person, tool_id, 'Not now.');
    await settle();
    expect(resultsIn(model.requests[1])).toMatchObject([
      { status: 'error', error: { code: 'EXECUTION_CANCELLED', message: 'Not now.' } },
    ]);
    expect((await agent.transcript()).at(-1)).toBe('assistant: Cancelled, I see.');
  });

  it('[EX-1] records and refuses what is no call: unknown tools, parameters that are no JSON', async () => {
    const { UnparsableParams } = await import('./model.ts');
    const model = new ScriptedModel([
      [
        toolCall('launch_rocket', {}, 'x'),
        { type: 'tool_call', id: 'y', name: 'git_status', params: new UnparsableParams('{"path": ') },
        { type: 'tool_call', id: '', name: 'mine__tool', params: new UnparsableParams('nonsense') },
      ],
      ['Sorry.'],
    ]);
    const agent = await AgentFixture.open({ model });
    await agent.say('Launch.');
    expect(resultsIn(model.requests[1])).toMatchObject([
      { tool_call_id: 'x', status: 'error', error: { code: 'UNKNOWN_TOOL' } },
      { tool_call_id: 'y', status: 'error', error: { code: 'INVALID_PARAMS' } },
      { tool_call_id: 'call_0_2', status: 'error', error: { code: 'INVALID_PARAMS' } },
    ]);
    expect(agent.runner.executed).toEqual([]);
  });
});

describe('one conversation', () => {
  it('[AG-3] has one active run: another message waits for it or stops it', async () => {
    const model = new ScriptedModel([[edit], ['Done.'], ['Again.']]);
    const agent = await AgentFixture.open({ model, tools });
    agent.runner.decide = () => undefined;
    const runId = await agent.say('Correct it.');
    await expect(agent.say('Hurry!')).rejects.toMatchObject({ code: 'RUN_ACTIVE' });
    await agent.node.runs.stop(agent.person, runId);
    await settle();
    // The stopped run used one turn of the script, and its call has no result.
    await agent.say('Go on.');
    expect((await agent.transcript()).at(-1)).toBe('assistant: Done.');
  });

  it('gets a title from its first message, and a model that is there', async () => {
    const agent = await AgentFixture.open({ model: new ScriptedModel([['Hello.'], ['Hello again.']]) });
    await agent.say('Say hello\nplease');
    await agent.say('And again');
    const session = await agent.store.read((tx) => tx.get('sessions', 'session-1'));
    expect(session).toMatchObject({ title: 'Say hello', last_message_at: agent.clock.now() });
    const start = { caller: agent.person, project: agent.project, session: agent.session, content: 'x' };
    await expect(agent.node.runs.start({ ...start, model: 'openai:gpt' })).rejects.toMatchObject({
      code: 'MODEL_NOT_CONFIGURED',
    });
  });

  it('[RE-3] is nobody else’s: another person’s session and run are not found', async () => {
    const agent = await AgentFixture.open({ model: new ScriptedModel([['Hello.']]) });
    const runId = await agent.say('Hello');
    const eve = { userId: 'eve', tokenId: 't', scope: 'person' } as const;
    const { project, session } = agent;
    const { runs } = agent.node;
    await expect(runs.start({ caller: eve, project, session, content: 'x' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    await expect(runs.get(eve, runId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(runs.stop(eve, runId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await runs.get(agent.person, runId)).toMatchObject({ status: 'completed', model: 'scripted' });
  });
});

function expectCreatedBeforeDeltas(screen: Listener): void {
  const types = screen.types();
  const created = screen.received.findIndex(
    ({ event }) => event.event === 'message.created' && event.data.role === 'assistant',
  );
  expect(created).toBeLessThan(types.indexOf('message.delta'));
}
