import {
  AgentFixture,
  type OpenAiCompatibleServer,
  openAiCompatibleServer,
  type WireTurn,
} from '@countersign/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { createModels } from './model-registry.ts';

const servers: OpenAiCompatibleServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function open(turns: readonly WireTurn[]) {
  const server = await openAiCompatibleServer(turns);
  servers.push(server);
  const name = 'openai-compatible:test';
  const model = createModels({ model: name, modelUrl: server.url }).find(name);
  const agent = await AgentFixture.open({
    model,
    tools: {
      read_file: ({ path }) => ({
        status: 'completed',
        result: { success: true, content: `content of ${path}` },
      }),
    },
  });
  return { agent, server };
}

describe('the agent with a real HTTP model', () => {
  it('[AG-1] reads two files at once, writes after an approval, and answers', async () => {
    // Like some real servers, this one gives the first call of every response the id `call_0`.
    const { agent, server } = await open([
      [
        { text: 'I look.' },
        { call: { name: 'read_file', args: { path: 'a.md' } } },
        { call: { name: 'read_file', args: { path: 'b.md' } } },
      ],
      [{ call: { name: 'write_file', args: { path: 'c.md', content: 'both' } } }],
      [{ text: 'I wrote ' }, { wait: 5 }, { text: 'c.md.' }],
    ]);
    const runId = await agent.say('Join them.');
    await agent.node.runs.whenIdle();
    expect(await agent.transcript()).toEqual([
      'user: Join them.',
      'assistant: I look.',
      'tool: success',
      'tool: success',
      'assistant: ',
      'tool: success',
      'assistant: I wrote c.md.',
    ]);
    expect(await agent.run(runId)).toMatchObject({
      status: 'completed',
      step: 3,
      input_tokens: 300,
      output_tokens: 60,
    });
    const last = server.requests[2]?.body.messages ?? [];
    expect(last.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id))).toEqual([
      'call_0',
      'call_1',
      'call_0_2',
    ]);
    expect(last.flatMap(({ tool_call_id }) => tool_call_id ?? [])).toEqual(['call_0', 'call_1', 'call_0_2']);
    expect(agent.node.errors).toEqual([]);
  });

  it('[AG-1] survives 429, 500 and a connection cut in mid-stream', async () => {
    const { agent, server } = await open([
      { status: 429, message: 'slow down' },
      { status: 500, message: 'oops' },
      [{ text: 'Half an ans' }, { cut: true }],
      [{ text: 'A whole answer.' }],
    ]);
    const runId = await agent.say('Hello?');
    for (const [count, ms] of [
      [1, 500],
      [2, 1000],
      [3, 2000],
    ] as const) {
      await expect.poll(() => server.requests.length).toBe(count);
      // The answer comes over a real socket: advance the clock for the retry only after the request has failed.
      await expect
        .poll(async () => {
          await agent.clock.advance(ms);
          return server.requests.length;
        })
        .toBe(count + 1);
    }
    await agent.node.runs.whenIdle();
    expect(await agent.transcript()).toEqual(['user: Hello?', 'assistant: A whole answer.']);
    expect(await agent.run(runId)).toMatchObject({ status: 'completed' });
  });

  it('[AG-3] stops in mid-stream: the connection is closed, what was written stays', async () => {
    const { agent, server } = await open([[{ text: 'Once upon' }, { wait: 60_000 }]]);
    const screen = await agent.listen();
    const runId = await agent.say('Tell a story.');
    await expect.poll(() => screen.all('message.delta').length).toBe(1);
    await agent.node.runs.stop(agent.person, runId);
    await agent.node.runs.whenIdle();
    expect(await agent.transcript()).toEqual([
      'user: Tell a story.',
      'assistant: Once upon',
      'system: You stopped this run.',
    ]);
    await expect.poll(() => server.requests[0]?.aborted).toBe(true);
  });
});
