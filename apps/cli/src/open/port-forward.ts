import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** Our own cookie, which browsers send to every port of 127.0.0.1. The agent's server must not get or set it (RE-5). */
const OWN_COOKIE = /^\s*countersign_/i;
const ownHost = /^(localhost|127\.0\.0\.1|\[::1\]|[\w-]+\.localhost)(:\d+)?$/i;

/**
 * Forwards HTTP, WebSockets included, from a port of 127.0.0.1 to connections that `connect` makes. Other names for this
 * machine are refused, because a page elsewhere could use such a name (DNS rebinding).
 */
export class PortForward {
  readonly #connect: () => Promise<Duplex>;
  readonly #server: Server;
  readonly #open = new Set<Duplex>();

  constructor(connect: () => Promise<Duplex>) {
    this.#connect = connect;
    this.#server = createServer((incoming, response) => void this.#forward(incoming, response));
    this.#server.on('upgrade', (incoming, socket, head) => void this.#upgrade(incoming, socket, head));
    this.#server.on('connection', (socket) => this.#track(socket));
    this.#server.on('clientError', (_, socket) => socket.destroy());
  }

  /** Listens on the port, or on any free one if it is taken. Returns which. */
  async listen(port: number): Promise<number> {
    const attempt = (at: number): Promise<number> =>
      new Promise((resolve, reject) => {
        this.#server.once('error', reject);
        this.#server.listen({ port: at, host: '127.0.0.1', exclusive: true }, () => {
          this.#server.off('error', reject);
          resolve((this.#server.address() as AddressInfo).port);
        });
      });
    return attempt(port).catch(() => attempt(0));
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const fail = (status: number, problem: string): void => {
      if (response.headersSent) response.destroy();
      else response.writeHead(status, { 'content-type': 'text/plain' }).end(`Countersign: ${problem}\n`);
    };
    if (!ownHost.test(incoming.headers.host ?? '')) return fail(403, 'open this page on localhost');
    try {
      const socket = await this.#outside();
      const { method, url: path } = incoming;
      const headers = withoutOwnCookies(incoming.rawHeaders);
      const asking = request({ createConnection: () => socket, method, path, headers, setHost: false });
      asking.on('response', (reply) => {
        response.writeHead(reply.statusCode ?? 502, reply.statusMessage, withoutOwnCookies(reply.rawHeaders));
        reply.on('error', () => response.destroy());
        reply.pipe(response);
      });
      asking.on('error', (error) => fail(502, error.message));
      response.once('close', () => socket.destroy());
      incoming.pipe(asking);
    } catch (error) {
      fail(502, (error as Error).message);
    }
  }

  async #upgrade(incoming: IncomingMessage, inside: Duplex, head: Buffer): Promise<void> {
    inside.on('error', () => inside.destroy());
    if (!ownHost.test(incoming.headers.host ?? '')) return void inside.destroy();
    try {
      const socket = await this.#outside();
      const headers = withoutOwnCookies(incoming.rawHeaders);
      const lines = [`${incoming.method} ${incoming.url} HTTP/1.1`];
      for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      socket.write(head);
      socket.once('close', () => inside.destroy());
      inside.once('close', () => socket.destroy());
      inside.pipe(socket).pipe(inside);
    } catch {
      inside.destroy();
    }
  }

  async #outside(): Promise<Duplex> {
    const socket = await this.#connect();
    socket.on('error', () => socket.destroy());
    this.#track(socket);
    return socket;
  }

  #track(socket: Duplex): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }
}

/** Takes and returns headers as names and values in turn. */
function withoutOwnCookies(raw: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at], raw[at + 1]];
    if (name.toLowerCase() === 'set-cookie' && OWN_COOKIE.test(value)) continue;
    if (name.toLowerCase() !== 'cookie') kept.push(name, value);
    else {
      const others = value.split(';').filter((cookie) => !OWN_COOKIE.test(cookie));
      if (others.length > 0) kept.push(name, others.join(';').trim());
    }
  }
  return kept;
}
