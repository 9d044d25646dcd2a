import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, TestServer } from '../testing/test-server.ts';
import type { TestStream } from '../testing/test-stream.ts';

/** The client of the first documents, to the letter: it listens, asks, executes and reports, and knows nothing else. */

let server: TestServer;
let ada: Person;
let stream: TestStream;

/** `fetch` as the sample calls it. Its page was signed in; here the bearer token stands for that. */
const post = (path: string, init: { body: string; headers?: Record<string, string> }) =>
  fetch(`${server.address}/my/projects/${ada.projectId}${path}`, {
    method: 'POST',
    ...init,
    headers: { ...init.headers, authorization: `Bearer ${ada.tokens.person}` },
  });

beforeAll(async () => {
  server = await TestServer.start({ executeWaitMs: 30_000 });
  ada = await server.person('ada');
  stream = await server.listen(`/my/projects/${ada.projectId}/chat/stream`, { token: ada.tokens.person });
  await stream.untilListening();
  stream.onEvent(({ event, data }) => {
    const { approval_id, tool_id, tool_name } = data as Record<string, string>;
    if (event === 'tool.approval_request')
      void post(`/approvals/${approval_id}/approve`, { body: JSON.stringify({ decision: 'approved' }) });
    if (event !== 'tool.execution_signal') return;
    if (tool_name === 'read_file')
      void post(`/tools/${tool_id}/result`, {
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ status: 'completed', result: { success: true, content: 'hello' } }),
      });
    else
      void post(`/tools/${tool_id}/result`, {
        body: JSON.stringify({ status: 'failed', error: 'Command not found: npm' }),
      });
  });
});
afterAll(() => server.close());

async function call(tool_name: string, tool_params: object) {
  const body = { tool_name, tool_params, session_id: ada.sessionId };
  const made = await server.send('POST', '/my/tools/execute', { token: ada.tokens.person, body });
  await stream.until(
    ({ event, data }) =>
      event === 'tool.result' && (data as { tool_id: string }).tool_id === made.body.tool_id,
  );
  const { body: found } = await server.send('GET', `/my/tools/${made.body.tool_id}`, {
    token: ada.tokens.person,
  });
  return found;
}

describe('the sample client (founding documents: workflow)', () => {
  it('[RE-3] [RE-5] has a call of each kind done, with and without a content type', async () => {
    expect(await call('read_file', { path: 'a.md' })).toMatchObject({
      execution: { status: 'completed' },
      result: { success: true, content: 'hello' },
    });
    expect(await call('execute_command', { command: 'npm', args: ['test'] })).toMatchObject({
      execution: { status: 'failed', error: { message: 'Command not found: npm' } },
      decision: { status: 'approved' },
    });
  });

  it('[DA-1] [OB-1] need not say how long a call took: records and metrics have the time', async () => {
    const { execution } = await call('read_file', { path: 'a.md' });
    expect(execution.execution_time_ms).toBeGreaterThanOrEqual(0);
    const { body } = await server.send('GET', '/my/tools/metrics', { token: ada.tokens.person });
    const averages = body.tools.map((tool: { tool_name: string; avg_execution_time_ms: number | null }) => [
      tool.tool_name,
      tool.avg_execution_time_ms,
    ]);
    expect(averages).toEqual([
      ['execute_command', expect.any(Number)],
      ['read_file', expect.any(Number)],
    ]);
  });
});
