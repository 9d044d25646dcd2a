import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '@countersign/client';
import { RefusedByServer } from '@countersign/tool-runner';
import { expect, it } from 'vitest';
import { runnerApiOverClient } from './runner-session.ts';

it.each([
  [404, { success: false, error: 'gone', code: 'NOT_FOUND' }, 'NOT_FOUND', 'gone'],
  [409, { success: false, error: 'newer than you', code: 'CODE_OF_TOMORROW' }, 'INTERNAL', 'newer than you'],
])(
  'a refusal keeps its status, its words, and its code where that is known: %s',
  async (status, body, code, message) => {
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
    expect(failure).toMatchObject({ status, code, message });
  },
);
