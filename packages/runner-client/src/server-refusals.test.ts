import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '@countersign/client';
import { RefusedByServer } from '@countersign/tool-runner';
import { expect, it } from 'vitest';
import { runnerApiOverClient } from './runner-session.ts';

const unknown = { success: false, error: 'newer than you', code: 'CODE_OF_TOMORROW' };
const page = '<html>A page of a proxy</html>';

it.each([
  [404, { success: false, error: 'gone', code: 'NOT_FOUND' }, { code: 'NOT_FOUND', message: 'gone' }],
  [409, unknown, { code: 'INTERNAL', message: 'newer than you', isFinal: true }],
  [401, unknown, { isFinal: false }],
  [429, unknown, { isFinal: false }],
  [500, unknown, { isFinal: false }],
  [410, page, { code: 'INTERNAL', isFinal: false }],
])(
  'a refusal keeps its words and its known code, and is final where a newer server made it: %s %j',
  async (status, body, expected) => {
    const server = createServer((_, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, token: () => 'mine' });
    const api = runnerApiOverClient({
      runner: client,
      person: client,
      projectId: 'project',
      runnerId: 'runner',
      instance: 'one',
    });
    const failure = await api
      .sendToolResult('tool-1', { status: 'completed', result: {}, attempt: 1, execution_time_ms: 1 })
      .catch((error: unknown) => error);
    server.close();
    expect(failure).toBeInstanceOf(RefusedByServer);
    expect(failure).toMatchObject(expected);
  },
);
