import { fileURLToPath } from 'node:url';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, describe, expect, expectTypeOf, it, vi } from 'vitest';
import { z } from 'zod';
import { callResult, defineTool } from './define-tool.ts';
import { createToolServer } from './tool-server.ts';

const sample = fileURLToPath(new URL('./sample-server.test-data.ts', import.meta.url));

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

async function connect(mode: 'auto' | 'legacy'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  clients.push(client);
  const args = ['--disable-warning=ExperimentalWarning', sample];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }));
  return client;
}

describe.each(['auto', 'legacy'] as const)('[RN-8] a server of our own, with a %s client', (mode) => {
  it('lists its tools with schema, hints and what they declare, and calls them (founding documents: tool-system)', async () => {
    const client = await connect(mode);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([
      {
        name: 'deploy',
        description: 'Deploys.',
        annotations: { destructiveHint: true },
        _meta: { 'countersign/category': 'deployment', 'countersign/requires_approval': true },
        inputSchema: {
          properties: { environment: { enum: ['staging', 'production'] }, skip_tests: { default: false } },
          required: ['environment'],
        },
      },
      { name: 'sum', annotations: { readOnlyHint: true }, inputSchema: { properties: { numbers: {} } } },
      { name: 'fail' },
    ]);
    const call = (name: string, args: object) => client.callTool({ name, arguments: { ...args } });
    expect(await call('deploy', { environment: 'staging' })).toMatchObject({
      content: [{ type: 'text', text: 'deployed to staging, tests run' }],
    });
    expect(await call('sum', { numbers: [1, 2] })).toMatchObject({
      content: [{ type: 'text', text: '{\n  "sum": 3\n}' }],
      structuredContent: { sum: 3 },
    });
    expect(await call('fail', {})).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: expect.stringContaining('it cannot be done') }],
    });
    const refused = await call('deploy', { environment: 'moon' }).catch((error: Error) => error);
    expect(JSON.stringify(refused instanceof Error ? refused.message : refused)).toMatch(
      /environment|Invalid/i,
    );
  });

  it('tells its progress', async () => {
    const client = await connect(mode);
    const told: unknown[] = [];
    const params = { name: 'deploy', arguments: { environment: 'staging' } };
    await client.callTool(params, { onprogress: (progress) => told.push(progress) });
    expect(told).toMatchObject([{ progress: 50, total: 100, message: 'half' }]);
  });
});

describe('defineTool', () => {
  it('types the handler by the schema', () => {
    defineTool({
      name: 'a',
      description: '',
      parameters: z.object({ n: z.number(), name: z.string().optional() }),
      handler(parameters) {
        expectTypeOf(parameters).toEqualTypeOf<{ n: number; name?: string | undefined }>();
      },
    });
    defineTool({
      name: 'b',
      description: '',
      parameters: { type: 'object' },
      handler(parameters) {
        expectTypeOf(parameters).toEqualTypeOf<Record<string, unknown>>();
      },
    });
  });

  it('makes an answer of whatever a handler returns', () => {
    expect(callResult('text')).toEqual({ content: [{ type: 'text', text: 'text' }] });
    expect(callResult(undefined)).toEqual({ content: [] });
    expect(callResult(3)).toEqual({ content: [{ type: 'text', text: '3' }] });
    expect(callResult([1])).toEqual({ content: [{ type: 'text', text: '[\n  1\n]' }] });
    const picture = { content: [{ type: 'image' as const, data: 'aGk=', mimeType: 'image/png' }] };
    expect(callResult(picture)).toBe(picture);
  });

  it('serves over any pair of pipes, and tells a handler that its call was cancelled', async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    let isCancelled = false;
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      readOnly: true,
      parameters: z.object({ how: z.enum(['long', 'short']) }),
      async handler({ how }, { signal, progress }) {
        progress(10); // the client did not ask for progress
        if (how === 'short') return { waited: true };
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        isCancelled = true;
        return '';
      },
    });
    const any = defineTool({
      name: 'any',
      description: 'Takes anything.',
      parameters: { type: 'object', properties: { n: { type: 'number' } } },
      handler: ({ n }) => Number(n) + 1,
    });
    createToolServer({ name: 'here', version: '2.0.0' })
      .registerTool(wait)
      .registerTool(any)
      .start({ transport: theirs });
    const client = new Client({ name: 'test', version: '1' });
    clients.push(client);
    await client.connect(ours);
    expect(client.getServerVersion()).toMatchObject({ name: 'here', version: '2.0.0' });
    expect(await client.callTool({ name: 'any', arguments: { n: 1 } })).toMatchObject({
      content: [{ text: '2' }],
    });
    expect(await client.callTool({ name: 'wait', arguments: { how: 'short' } })).toMatchObject({
      structuredContent: { waited: true },
    });
    const cancel = new AbortController();
    const called = client.callTool(
      { name: 'wait', arguments: { how: 'long' } },
      { signal: cancel.signal, onprogress() {} },
    );
    called.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 50));
    cancel.abort();
    await expect(called).rejects.toThrow();
    await vi.waitFor(() => expect(isCancelled).toBe(true));
  });

  it('has each name once', () => {
    const tool = defineTool({
      name: 'a',
      description: '',
      parameters: { type: 'object' },
      handler: () => '',
    });
    const server = createToolServer({ name: 's' }).registerTool(tool);
    expect(() => server.registerTool(tool)).toThrow('There is a tool "a" already.');
  });
});
