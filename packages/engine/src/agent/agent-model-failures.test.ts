import { AgentFixture, hangs, ScriptedModel, settle, toolCall } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../rows.ts';
import { type Model, ModelError } from './model.ts';

const overloaded = () => new ModelError('the provider is overloaded', { retryable: true });
const usage = { type: 'usage', inputTokens: 10, outputTokens: 1 } as const;

describe('a model that fails', () => {
  it('[AG-1] for a moment is asked again after 0.5, 1 and 2 s', async () => {
    const model = new ScriptedModel([
      { attempts: [[overloaded()], [overloaded()], [overloaded()], ['Here I am.']] },
    ]);
    const agent = await AgentFixture.open({ model });
    await agent.say('Hello?');
    const asked = () => model.requests.length;
    expect(asked()).toBe(1);
    for (const [ms, count] of [
      [499, 1],
      [1, 2],
      [999, 2],
      [1, 3],
      [1999, 3],
      [1, 4],
    ] as const) {
      await agent.clock.advance(ms);
      expect(asked()).toBe(count);
    }
    expect(await agent.transcript()).toEqual(['user: Hello?', 'assistant: Here I am.']);
  });

  it('[AG-1] four times ends the run, and the person is told what happened', async () => {
    const model = new ScriptedModel([
      { attempts: Array.from({ length: 4 }, () => [overloaded()]) },
      ['Hello.'],
    ]);
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Hello?');
    await agent.clock.advance(10_000);
    const message = 'The model did not answer: the provider is overloaded. Try again.';
    expect(await agent.run(runId)).toMatchObject({ status: 'failed', error: message, step: 0 });
    expect(await agent.transcript()).toEqual(['user: Hello?', `system: ${message}`]);
    expect((await agent.states()).at(-1)).toBe('idle');
    expect(model.requests).toHaveLength(4);
  });

  it('[AG-1] permanently is not called again', async () => {
    const wrongKey = new ModelError('the key is not valid', { retryable: false });
    const model = new ScriptedModel([[wrongKey]]);
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Hello?');
    expect(await agent.run(runId)).toMatchObject({
      status: 'failed',
      error: 'The model did not answer: the key is not valid. Try again.',
    });
    expect(model.requests).toHaveLength(1);
  });

  it('[AG-1] waits as long as the provider asks for, within reason', async () => {
    const busy = (ms: number) => new ModelError('too many requests', { retryable: true, retryAfterMs: ms });
    const model = new ScriptedModel([{ attempts: [[busy(7_000)], [busy(86_400_000)], ['Now.']] }]);
    const agent = await AgentFixture.open({ model });
    await agent.say('Hello?');
    await agent.clock.advance(6_999);
    expect(model.requests).toHaveLength(1);
    await agent.clock.advance(1);
    expect(model.requests).toHaveLength(2);
    await agent.clock.advance(60_000);
    expect((await agent.transcript()).at(-1)).toBe('assistant: Now.');
  });

  it('[AG-1] in mid-stream: the half answer stays until the whole one replaces it', async () => {
    const cut = new TypeError('terminated');
    const model = new ScriptedModel([
      {
        attempts: [
          ['The capital of', ' Fran', usage, cut],
          ['Paris', ' it is.', usage],
        ],
      },
    ]);
    const agent = await AgentFixture.open({ model });
    const screen = await agent.listen();
    const runId = await agent.say('Capital of France?');
    expect((await agent.messages()).at(-1)).toMatchObject({ id: `${runId}-0`, complete: false });
    await agent.clock.advance(500);
    expect(await agent.transcript()).toEqual(['user: Capital of France?', 'assistant: Paris it is.']);
    expect(
      screen.all('message.delta').map(({ message_id, offset, text }) => [message_id, offset, text]),
    ).toEqual([
      [`${runId}-0`, 0, 'The capital of'],
      [`${runId}-0`, 14, ' Fran'],
      [`${runId}-0`, 0, 'Paris'],
      [`${runId}-0`, 5, ' it is.'],
    ]);
    // The tokens of the interrupted response count as well.
    expect(await agent.run(runId)).toMatchObject({ status: 'completed', input_tokens: 20, output_tokens: 2 });
  });

  it('[AG-1] by saying nothing at all, or an empty answer', async () => {
    const model = new ScriptedModel([{ attempts: [[hangs], [usage], ['Awake.']] }]);
    const agent = await AgentFixture.open({ model, stallMs: 60_000 });
    await agent.say('Hello?');
    await agent.clock.advance(60_000);
    await agent.clock.advance(500);
    expect(model.requests).toHaveLength(2);
    expect(model.requests[0]?.request.signal.aborted).toBe(true);
    await agent.clock.advance(1_000);
    expect((await agent.transcript()).at(-1)).toBe('assistant: Awake.');
  });

  it('[AG-1] but shows that it is thinking, is waited for', async () => {
    const think = () => new Promise<void>((resolve) => agent.clock.after(50_000, resolve));
    const alive = { type: 'alive' } as const;
    const model = new ScriptedModel([
      [think, alive, think, alive, think, 'Forty-two.', { type: 'finish', reason: 'stop' }],
    ]);
    const agent: AgentFixture = await AgentFixture.open({ model, stallMs: 60_000 });
    await agent.say('Think.');
    await agent.clock.advance(150_000);
    expect(await agent.transcript()).toEqual(['user: Think.', 'assistant: Forty-two.']);
    expect(model.requests).toHaveLength(1);
  });

  it('[AG-1] and is cut off: the answer says so, and an incomplete call is not made', async () => {
    const length = { type: 'finish', reason: 'length' } as const;
    const model = new ScriptedModel([
      ['Half an ans', length],
      [{ type: 'tool_call', id: 'c', name: 'read_file', params: { path: 'a' } }, length],
    ]);
    const agent = await AgentFixture.open({ model });
    await agent.say('Hello?');
    expect((await agent.transcript()).at(-1)).toMatch(/^assistant: Half an ans\n\n\[The model reached/);
    const runId = await agent.say('Read it.');
    expect(await agent.run(runId)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('cut off'),
    });
  });

  it('[AG-1] by never ending: its answer is cut off, with a note', async () => {
    let left = false;
    const model: Model = {
      name: 'endless',
      async *call() {
        try {
          for (;;) yield { type: 'text', text: 'and '.repeat(100_000) };
        } finally {
          left = true;
        }
      },
    };
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Tell me all.');
    await agent.node.runs.whenIdle();
    expect(await agent.run(runId)).toMatchObject({ status: 'completed' });
    const last = (await agent.transcript()).at(-1) as string;
    expect(last.length).toBeLessThan(2_001_000);
    expect(last).toMatch(/and \n\n\[The model reached the longest answer/);
    expect(left).toBe(true);
  });

  it('[AG-1] by its provider’s filter: the answer says so', async () => {
    const model = new ScriptedModel([['I th', { type: 'finish', reason: 'content-filter' }]]);
    const agent = await AgentFixture.open({ model });
    await agent.say('Hello?');
    expect((await agent.transcript()).at(-1)).toMatch(/^assistant: I th\n\n\[The provider’s content filter/);
  });

  it.each([
    ['a fraction', 1.5, 2],
    ['less than nothing', -100, 0],
    ['no number', Number.NaN, 0],
    ['more than there are', 1e300, 1e9],
    ['infinitely many', Number.POSITIVE_INFINITY, 1e9],
  ])(
    '[AG-2] [AG-3] by counting %s of tokens: its answer is stored, and it is not asked again',
    async (_what, said, counted) => {
      const model = new ScriptedModel([['Fine.', { type: 'usage', inputTokens: said, outputTokens: said }]]);
      const agent = await AgentFixture.open({ model });
      const runId = await agent.say('Hello?');
      await agent.clock.advance(120_000);
      expect(await agent.run(runId)).toMatchObject({
        status: 'completed',
        input_tokens: counted,
        output_tokens: counted,
      });
      expect(model.requests).toHaveLength(1);
      expect(agent.node.errors).toEqual([]);
    },
  );

  let deep: JsonObject = {};
  for (let depth = 0; depth < 300; depth += 1) deep = { a: deep };
  it.each([
    ['nested deeper than anybody reads', toolCall('read_file', { path: deep })],
    [
      'of more values than anybody has',
      toolCall('git_commit', { message: 'all', files: Array.from({ length: 400_000 }, (_, i) => `${i}`) }),
    ],
  ])('[EX-5] by parameters %s: the call is refused, the conversation goes on', async (_what, call) => {
    const model = new ScriptedModel([[call], ['I see.']]);
    const agent = await AgentFixture.open({ model });
    await agent.say('Do it.');
    expect(await agent.transcript()).toEqual([
      'user: Do it.',
      'assistant: ',
      'tool: error',
      'assistant: I see.',
    ]);
    expect(JSON.stringify(model.requests[1]?.request.messages).length).toBeLessThan(5_000);
    expect(agent.runner.executed).toEqual([]);
    expect(agent.node.errors).toEqual([]);
  });

  it('[AG-3] can be stopped between two tries', async () => {
    const model = new ScriptedModel([{ attempts: [[overloaded()]] }]);
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Hello?');
    await agent.node.runs.stop(agent.person, runId);
    await agent.clock.advance(5_000);
    expect(await agent.run(runId)).toMatchObject({ status: 'stopped' });
    expect(model.requests).toHaveLength(1);
    expect(agent.node.errors).toEqual([]);
  });

  it('[AG-1] whose key was taken away while the server was down: the run says so', async () => {
    const model = new ScriptedModel([[hangs]]);
    const agent = await AgentFixture.open({ model });
    const runId = await agent.say('Hello?');
    agent.node.die();
    const { Refusal } = await import('../refusal.ts');
    await agent.startNode({
      isOnlyNode: true,
      models: {
        defaultName: 'manual',
        find: (name) => {
          throw new Refusal('MODEL_NOT_CONFIGURED', { model: name, setting: 'a key' });
        },
      },
    });
    await settle();
    expect(await agent.run(runId)).toMatchObject({
      status: 'failed',
      error: 'The model scripted needs a key. Set it, or use the built-in manual model.',
    });
  });
});
