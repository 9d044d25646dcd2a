import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A real git server over HTTP that wants a login, in front of the bare repositories of one folder. */
export interface HttpRemote {
  /** `host:port`. */
  readonly address: string;
  readonly port: number;
  /** Where its repositories are; set before the first request. */
  folder: string;
  close(): void;
}

/** 127.0.0.2: programs that are told to use a proxy use it for all but 127.0.0.1. */
const host = '127.0.0.2';

export async function startHttpRemote(login: string): Promise<HttpRemote> {
  const expected = `Basic ${Buffer.from(login).toString('base64')}`;
  const server = createServer((request, response) => {
    if (request.headers.authorization === expected) answer(request, response, remote.folder);
    else response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const remote: HttpRemote = {
    address: `${host}:${port}`,
    port,
    folder: '',
    close: () => server.close(),
  };
  return remote;
}

/** Speaks CGI with git's own server program. */
function answer(request: IncomingMessage, response: ServerResponse, folder: string): void {
  const url = new URL(request.url ?? '/', 'http://host');
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      REMOTE_USER: 'ada',
      REMOTE_ADDR: host,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  request.pipe(backend.stdin);
  const chunks: Buffer[] = [];
  backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  backend.on('close', () => {
    const all = Buffer.concat(chunks);
    const end = all.indexOf('\r\n\r\n');
    for (const line of all.toString('latin1', 0, end).split('\r\n')) {
      const [name = '', value = ''] = line.split(/: (.*)/s);
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.end(all.subarray(end + 4));
  });
}
