import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A real git server over HTTP(S) that wants a login, in front of the bare repositories of one folder. */
export interface HttpRemote {
  /** `https://host:port`. */
  readonly url: string;
  /** `host:port`. */
  readonly address: string;
  readonly port: number;
  /** Its certificate, which nobody else trusts; undefined without TLS. */
  readonly certificate: string | undefined;
  /** Where its repositories are; set before the first request. */
  folder: string;
  /** The login of each request; undefined for none. */
  readonly logins: (string | undefined)[];
  /** Bytes that git has answered with. */
  sent: number;
  close(): void;
}

interface HttpRemoteOptions {
  readonly tls?: boolean;
  /** Answers instead of git, such as with a redirect. */
  readonly instead?: RequestListener;
}

/** Programs send requests for 127.0.0.1 past a proxy, but not those for 127.0.0.2. */
const host = '127.0.0.2';

export async function startHttpRemote(login: string, options: HttpRemoteOptions = {}): Promise<HttpRemote> {
  const expected = `Basic ${Buffer.from(login).toString('base64')}`;
  const logins: (string | undefined)[] = [];
  const listener: RequestListener = (request, response) => {
    const { authorization } = request.headers;
    logins.push(authorization && Buffer.from(authorization.split(' ')[1] ?? '', 'base64').toString());
    if (options.instead) options.instead(request, response);
    else if (authorization === expected) answer(request, response, remote);
    else response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
  };
  const keys = options.tls ? makeCertificate() : undefined;
  const server = keys
    ? createTlsServer({ key: keys.key, cert: keys.cert }, listener)
    : createServer(listener);
  // Used as a proxy, it refuses every connection.
  server.on('connect', (_, socket) => {
    logins.push('as a proxy');
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const remote: HttpRemote = {
    url: `${keys ? 'https' : 'http'}://${host}:${port}`,
    address: `${host}:${port}`,
    port,
    certificate: keys?.cert,
    folder: '',
    logins,
    sent: 0,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return remote;
}

function makeCertificate(): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-tls-'));
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
  try {
    execFileSync(
      'openssl',
      [
        ...[
          'req',
          '-x509',
          '-newkey',
          'ec',
          '-pkeyopt',
          'ec_paramgen_curve:prime256v1',
          '-nodes',
          '-days',
          '2',
        ],
        ...['-subj', `/CN=${host}`, '-addext', `subjectAltName=IP:${host}`, '-keyout', key, '-out', cert],
      ],
      { stdio: 'ignore' },
    );
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Speaks CGI with git's own server program. */
function answer(request: IncomingMessage, response: ServerResponse, remote: HttpRemote): void {
  const url = new URL(request.url ?? '/', 'http://host');
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: remote.folder,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
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
    remote.sent += all.length;
    const end = all.indexOf('\r\n\r\n');
    for (const line of all.toString('latin1', 0, end).split('\r\n')) {
      const [name = '', value = ''] = line.split(/: (.*)/s);
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.end(all.subarray(end + 4));
  });
}
