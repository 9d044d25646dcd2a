import { readFileSync } from 'node:fs';
import { makeVisible } from '@countersign/protocol';
import { securityFolder } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScriptedRunner } from '../testing/scripted-runner.ts';
import { type Answered, type Person, TestServer } from '../testing/test-server.ts';
import type { TestStream } from '../testing/test-stream.ts';

/**
 * The server's part of each case: its events, its cards, and that it keeps running. Tests of the runner repeat the
 * cases with diffs, searches and commands, and tests of the front ends check what a person sees.
 */
interface EventCase {
  readonly id: string;
  readonly class: string;
  readonly why: string;
  readonly input: {
    readonly channel: string;
    readonly payload: unknown;
    readonly assert: Record<string, unknown>;
  };
}
interface NeutralCall {
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
}

const cases = readFileSync(new URL('events.jsonl', securityFolder), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as EventCase);
const through = (...channels: string[]) => cases.filter(({ input }) => channels.includes(input.channel));

let server: TestServer;
let ada: Person;
let runner: ScriptedRunner;
let stream: TestStream;
let report: (tool: string) => object | undefined;

beforeAll(async () => {
  server = await TestServer.start({ executeWaitMs: 30_000 });
  ada = await server.person('ada');
  runner = await server.runner(ada, {
    execute: ({ tool_name }) => report(tool_name),
    preview: () => undefined,
  });
  stream = await server.listen('/my/stream', { token: ada.tokens.front_end });
  await stream.untilListening();
});
afterAll(() => server.close());

it('knows every channel of the cases', () => {
  expect([...new Set(cases.map(({ input }) => input.channel))].sort()).toEqual([
    'approval_preview',
    'file_name_to_stream',
    'model_text_to_stream',
    'search_files',
    'tool_output_to_stream',
    'tool_run_after_approval',
  ]);
});

const execute = (tool_name: string, tool_params: object): Promise<Answered> =>
  server.send('POST', '/my/tools/execute', {
    token: ada.tokens.person,
    body: { tool_name, tool_params, session_id: ada.sessionId },
  });

describe.each(through('tool_output_to_stream', 'file_name_to_stream', 'model_text_to_stream'))(
  '[EV-4] $id $class: $why',
  ({ input }) => {
    const payload = input.payload as string;

    it('is one event, whole again at the other end', async () => {
      const known = stream.events.length;
      const received = await sendThrough(input.channel, payload, known);
      // No part of the payload became an event.
      const names = stream.events.slice(known).map(({ event }) => event);
      expect(names.filter((name) => ['done', 'x', 'approval', 'message'].includes(name))).toEqual([]);
      expect(stream.retry).toBe('1000');
      expect(received).toBe(payload);
    });
  },
);

/** What the client received of a payload that came in through this channel. */
async function sendThrough(channel: string, payload: string, known: number): Promise<string> {
  const event = (name: string) =>
    stream.until((one) => one.event === name && stream.events.indexOf(one) >= known);
  switch (channel) {
    case 'tool_output_to_stream': {
      report = () => ({ status: 'completed', result: { success: true, stdout: payload } });
      await execute('execute_command', { command: 'pwd', args: [] });
      return ((await event('tool.result')).data as { result: { stdout: string } }).result.stdout;
    }
    case 'file_name_to_stream': {
      report = () => ({
        status: 'completed',
        result: { success: true, changed_files: [{ path: payload, operation: 'modified' }] },
      });
      await execute('read_file', { path: 'a.md' });
      return ((await event('file.changed')).data as { path: string }).path;
    }
    default: {
      const data = {
        project_id: ada.projectId,
        session_id: ada.sessionId,
        message_id: 'm',
        offset: 0,
        text: payload,
      };
      const passing = { event: 'message.delta' as const, data };
      server.running.bus.publish({
        kind: 'transient',
        userId: 'ada',
        projectId: ada.projectId,
        event: passing,
      });
      return ((await event('message.delta')).data as { text: string }).text;
    }
  }
}

describe.each(through('approval_preview'))('[AP-7] $id $class: $why', ({ input }) => {
  const { tool, arguments: args } = input.payload as NeutralCall;

  it('waits for the person, with a card that hides nothing', async () => {
    const { body, headers } = await execute(tool, args);
    expect(body).toMatchObject({ success: true, status: 'awaiting_approval' });
    const found = await server.send('GET', `/my/approvals/${body.approval_id}`, { token: ada.tokens.person });
    const { approval } = found.body;

    // The parameters arrive in full. In the sentence, hidden characters are made visible, and a cut is marked.
    expect(approval.tool_params).toMatchObject(args);
    expect(approval.description).toBe(makeVisible(approval.description));
    for (const name of (input.assert.code_points as string[] | undefined) ?? []) {
      const character = String.fromCodePoint(Number.parseInt(name.slice(2), 16));
      expect(approval.description).not.toContain(character);
      expect(approval.description.toUpperCase()).toContain(name.slice(2));
    }
    if (input.assert.truncation_is_marked) {
      const shown = JSON.stringify(approval.tool_params);
      expect(shown).toContain('; node x.js');
      expect(approval.description.endsWith('…') || approval.description.includes('; node x.js')).toBe(true);
    }
    // The server sets the level, whatever the text claims, and a browser gets the text as plain text.
    expect(['MEDIUM', 'HIGH']).toContain(approval.risk_level);
    expect(approval.status).toBe('pending');
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(runner.executed.some(({ tool_id }) => tool_id === body.tool_id)).toBe(false);
    await server.send('POST', `/my/tools/${body.tool_id}/cancel`, { token: ada.tokens.person, body: {} });
  });
});

describe.each(through('tool_run_after_approval'))('[TL-3] $id $class: $why', ({ id, input }) => {
  const { tool, arguments: args } = input.payload as NeutralCall;

  it('asks first, and the server survives any report of the runner', async () => {
    const { body } = await execute(tool, args);
    expect(body.status).toBe('awaiting_approval');
    const path = `/my/projects/${ada.projectId}/tools/${body.tool_id}/result`;
    const flood = { status: 'completed', result: { success: true, stdout: 'z'.repeat(20_000_000) } };
    if (id === 'ev-011') {
      const before = process.memoryUsage().rss;
      expect((await server.send('POST', path, { token: ada.tokens.runner, body: flood })).status).toBe(413);
      expect(process.memoryUsage().rss - before).toBeLessThan(500_000_000);
    }
    expect((await server.send('GET', '/healthz')).status).toBe(200);
    await server.send('POST', `/my/tools/${body.tool_id}/cancel`, { token: ada.tokens.person, body: {} });
  });
});

describe.each(through('search_files'))('[VA-9] $id $class: $why', ({ input }) => {
  it('is decided at once, without trying the pattern', async () => {
    const { path, regex, query, glob } = input.payload as Record<string, string>;
    report = () => ({
      status: 'completed',
      result: { success: true, files: [], total_count: 0, truncated: false },
    });
    const began = process.cpuUsage();
    const content = regex ?? query;
    const answered = await execute('search_files', {
      path,
      ...(content !== undefined && { content }),
      ...(glob !== undefined && { pattern: glob }),
    });
    expect([200, 400]).toContain(answered.status); // a result, or a clean error
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(20_000);
  });
});
