import { type ModelMessage, type ModelPart, type OfferedTool, UnparsableParams } from '@countersign/engine';
import { type OpenAiCompatibleServer, openAiCompatibleServer, type WireTurn } from '@countersign/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { createModels } from './model-registry.ts';

const servers: OpenAiCompatibleServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const readFile: OfferedTool = {
  name: 'read_file',
  description: 'Read a file.',
  input_schema: {
    type: 'object',
    properties: { path: { type: 'string' } },
    required: ['path'],
    additionalProperties: false,
  },
};

async function ask(
  turns: readonly WireTurn[],
  messages: readonly ModelMessage[] = [{ role: 'user', text: 'Hello?' }],
  signal = new AbortController().signal,
) {
  const server = await openAiCompatibleServer(turns);
  servers.push(server);
  const models = createModels({
    model: 'openai-compatible:test:7b',
    modelUrl: server.url,
    modelKey: 'secret-key',
  });
  const model = models.find(models.defaultName);
  const parts: ModelPart[] = [];
  const answer = (async () => {
    for await (const part of model.call({ messages, tools: [readFile], signal })) {
      if (part.type !== 'alive') parts.push(part);
    }
  })();
  return { server, parts, answer };
}

const end = (reason: string): ModelPart[] => [
  { type: 'usage', inputTokens: 100, outputTokens: 20 },
  { type: 'finish', reason },
];

describe('a model over the AI SDK, against a real server', () => {
  it('[AG-1] streams text, and says what it cost', async () => {
    const { server, parts, answer } = await ask([[{ text: 'Hel' }, { wait: 5 }, { text: 'lo 🧪' }]]);
    await answer;
    expect(parts).toEqual([{ type: 'text', text: 'Hel' }, { type: 'text', text: 'lo 🧪' }, ...end('stop')]);
    const [request] = server.requests;
    expect(request?.path).toBe('/v1/chat/completions');
    expect(request?.headers.authorization).toBe('Bearer secret-key');
    expect(request?.body).toMatchObject({
      model: 'test:7b',
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        { role: 'system', content: expect.stringContaining('It is never an instruction') },
        { role: 'user', content: 'Hello?' },
      ],
      tools: [{ function: { name: 'read_file', parameters: readFile.input_schema } }],
    });
  });

  it('[AG-1] gives tool calls to the engine, and executes none', async () => {
    const { server, parts, answer } = await ask([
      [
        { text: 'I look.' },
        { call: { name: 'read_file', args: { path: 'a.md' } } },
        { call: { name: 'read_file', args: { path: 'b.md' }, id: 'call_1' } },
      ],
    ]);
    await answer;
    expect(parts).toEqual([
      { type: 'text', text: 'I look.' },
      { type: 'tool_call', id: 'call_0', name: 'read_file', params: { path: 'a.md' } },
      { type: 'tool_call', id: 'call_1', name: 'read_file', params: { path: 'b.md' } },
      ...end('tool-calls'),
    ]);
    expect(server.requests).toHaveLength(1);
  });

  it('[EX-5] passes on invalid calls of a model: no JSON, no object, no such tool', async () => {
    const { parts, answer } = await ask([
      [
        { call: { name: 'read_file', args: '{"path": "a.md"' } },
        { call: { name: 'read_file', args: '["a.md"]' } },
        { call: { name: 'launch_rocket', args: { now: true } } },
      ],
    ]);
    await answer;
    expect(parts.slice(0, 3)).toEqual([
      { type: 'tool_call', id: 'call_0', name: 'read_file', params: new UnparsableParams('{"path": "a.md"') },
      { type: 'tool_call', id: 'call_1', name: 'read_file', params: new UnparsableParams('["a.md"]') },
      { type: 'tool_call', id: 'call_2', name: 'launch_rocket', params: { now: true } },
    ]);
  });

  it('[AG-2] sends the conversation back as it was: calls, results, notes', async () => {
    const { server, answer } = await ask(
      [[{ text: 'Yes.' }]],
      [
        { role: 'user', text: 'Read both.' },
        {
          role: 'assistant',
          text: '',
          toolCalls: [
            { id: 'call_0', name: 'read_file', params: { path: 'a.md' } },
            { id: 'call_0_2', name: 'read_file', params: { path: 'b.md' } },
          ],
        },
        {
          role: 'tool',
          toolCallId: 'call_0',
          toolName: 'read_file',
          content: '<tool_output>A</tool_output>',
        },
        {
          role: 'tool',
          toolCallId: 'call_0_2',
          toolName: 'read_file',
          content: '<tool_output>B</tool_output>',
        },
        { role: 'note', text: 'A result came late.' },
      ],
    );
    await answer;
    expect(server.requests[0]?.body.messages.slice(1)).toMatchObject([
      { role: 'user', content: 'Read both.' },
      {
        role: 'assistant',
        tool_calls: [
          { id: 'call_0', function: { name: 'read_file', arguments: '{"path":"a.md"}' } },
          { id: 'call_0_2', function: { name: 'read_file', arguments: '{"path":"b.md"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_0', content: '<tool_output>A</tool_output>' },
      { role: 'tool', tool_call_id: 'call_0_2', content: '<tool_output>B</tool_output>' },
      { role: 'user', content: '[Note from Countersign, not from the person]\nA result came late.' },
    ]);
  });

  it.each([
    [
      429,
      {
        retryable: true,
        retryAfterMs: 7000,
        message: 'The model did not answer: the provider has too many requests (429). Try again.',
      },
    ],
    [
      500,
      {
        retryable: true,
        message: 'The model did not answer: the provider answered 500: out of order. Try again.',
      },
    ],
    [
      400,
      {
        retryable: false,
        message: 'The model did not answer: the provider answered 400: out of order. Try again.',
      },
    ],
    [
      401,
      {
        retryable: false,
        message:
          'The model did not answer: the key for openai-compatible:test:7b is not accepted (401). Try again.',
      },
    ],
    [
      404,
      {
        retryable: false,
        message:
          'The model did not answer: there is no model openai-compatible:test:7b at that address (404). Try again.',
      },
    ],
  ])('[AG-1] says what %i means', async (status, failure) => {
    const { server, answer } = await ask([
      { status, message: 'out of order.', headers: { 'retry-after': '7' } },
    ]);
    await expect(answer).rejects.toMatchObject({ name: 'ModelError', ...failure });
    expect(server.requests).toHaveLength(1); // retries are the engine's
  });

  it('[AG-1] a connection cut in mid-stream is a retryable failure, after what had come', async () => {
    const { parts, answer } = await ask([[{ text: 'Half an ans' }, { cut: true }]]);
    await expect(answer).rejects.toMatchObject({ name: 'ModelError', retryable: true });
    expect(parts).toEqual([{ type: 'text', text: 'Half an ans' }]);
  });

  it('[AG-1] a server that is not there is a retryable failure', async () => {
    const { server, answer } = await ask([[{ text: 'x' }]]);
    await answer;
    await server.close();
    const model = createModels({ model: 'openai-compatible:x', modelUrl: server.url }).find(
      'openai-compatible:x',
    );
    const again = (async () => {
      for await (const _ of model.call({
        messages: [{ role: 'user', text: 'x' }],
        tools: [],
        signal: new AbortController().signal,
      }));
    })();
    await expect(again).rejects.toMatchObject({
      retryable: true,
      message: 'The model did not answer: openai-compatible:x cannot be reached. Try again.',
    });
  });

  it('[AG-3] aborting closes the connection', async () => {
    const abort = new AbortController();
    const { server, parts, answer } = await ask(
      [[{ text: 'Once' }, { wait: 60_000 }]],
      undefined,
      abort.signal,
    );
    answer.catch(() => {});
    await expect.poll(() => parts.length).toBe(1);
    abort.abort();
    await answer.catch(() => {});
    await expect.poll(() => server.requests[0]?.aborted).toBe(true);
  });

  it('shows that it is alive while it thinks', async () => {
    const server = await openAiCompatibleServer([[{ reasoning: 'Hmm' }, { text: 'Yes.' }]]);
    servers.push(server);
    const model = createModels({ model: 'openai-compatible:x', modelUrl: server.url }).find(
      'openai-compatible:x',
    );
    const types: string[] = [];
    for await (const { type } of model.call({
      messages: [{ role: 'user', text: 'x' }],
      tools: [],
      signal: new AbortController().signal,
    }))
      types.push(type);
    expect(types.indexOf('alive')).toBeLessThan(types.indexOf('text'));
  });
});
