import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Arrivals } from './arrivals.ts';

/** A complete request, and the response that a test gives to it. */
export class Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly closed: Promise<unknown>;
  readonly #response: ServerResponse;

  constructor(request: IncomingMessage, body: string, response: ServerResponse) {
    this.method = request.method ?? '';
    this.url = request.url ?? '';
    this.headers = request.headers;
    this.body = body;
    this.#response = response;
    this.closed = once(response, 'close');
  }

  answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    this.#response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  }

  refuse(
    status: number,
    code: string,
    more: object = {},
    headers: Readonly<Record<string, string>> = {},
  ): void {
    this.answer(status, { success: false, error: `Because of ${code}.`, code, ...more }, headers);
  }

  /** Begins a response and never ends it. */
  begin(status: number, text: string): this {
    this.#response.writeHead(status, { 'content-type': 'application/json' });
    return this.write(text);
  }

  /** Begins an event stream. */
  stream(text = ''): this {
    this.#response.socket?.setNoDelay();
    this.#response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    this.#response.flushHeaders();
    return text === '' ? this : this.write(text);
  }

  write(text: string | Uint8Array): this {
    this.#response.write(text);
    return this;
  }

  end(): void {
    this.#response.end();
  }

  /** Drops the connection without a response, like a crash or a cut cable. */
  destroy(): void {
    this.#response.destroy();
  }
}

/** A real HTTP server. The test gives each response. */
export class TestServer {
  readonly requests = new Arrivals<Exchange>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', async (request, response) => {
      const chunks: Buffer[] = await request.toArray().catch(() => []);
      this.requests.add(new Exchange(request, Buffer.concat(chunks).toString('utf8'), response));
    });
  }

  static async start(): Promise<TestServer> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TestServer(server);
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  next(): Promise<Exchange> {
    return this.requests.next();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
