/** The floor: pushes an event over SSE and waits for the POST that answers it. No records, no checks, no schema. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { announceReady } from '../processes/program.ts';
import { callsOf } from './calls.ts';
import { readParams } from './contents.ts';

const waiting = new Map<string, (result: unknown) => void>();
let listener: ServerResponse | undefined;
let calls = 0;

// Connections stay open while other programs are measured.
const server = createServer({ keepAliveTimeout: 600_000 }, (request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
    listener = response;
    return;
  }
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    const { id, result } = JSON.parse(body) as { id: string; result: unknown };
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
});

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  const time = callsOf({
    plain: () =>
      new Promise((resolve) => {
        const id = `call_${++calls}`;
        waiting.set(id, resolve);
        const call = { id, tool_name: 'read_file', tool_params: readParams };
        listener?.write(`id: ${calls}\nevent: call\ndata: ${JSON.stringify(call)}\n\n`);
      }),
  });
  announceReady({ address: `http://127.0.0.1:${port}` }, { time });
});
