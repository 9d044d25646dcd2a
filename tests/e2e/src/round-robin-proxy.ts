import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A load balancer as dumb as they come: each request, also of one connection, goes to the next server. One that refuses
 * the connection is passed over; one that dies while it answers takes its answers with it.
 */
export class RoundRobinProxy {
  readonly #server: Server;
  #ports: readonly number[] = [];
  #turn = 0;
  /** Where a request must go, by its path and what follows; undefined: to whoever is next. */
  pin: (url: string) => number | undefined = () => undefined;
  /** How many requests each server was given. */
  readonly given = new Map<number, number>();

  private constructor() {
    this.#server = createServer((incoming, response) => this.#pass(incoming, response));
  }

  static async start(): Promise<RoundRobinProxy> {
    const proxy = new RoundRobinProxy();
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The servers that count as healthy. */
  use(ports: readonly number[]): void {
    this.#ports = ports;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(incoming: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('error', () => response.destroy());
    incoming.on('end', () => this.#try(incoming, Buffer.concat(chunks), response, this.#ports.length));
  }

  #try(incoming: IncomingMessage, body: Buffer, response: ServerResponse, left: number): void {
    const port = this.#next(incoming.url ?? '/');
    if (port === undefined || left === 0) {
      response.writeHead(503, { 'content-type': 'text/plain', connection: 'close' });
      response.end('no server');
      return;
    }
    let isConnected = false;
    const { method, url, headers } = incoming;
    const outgoing = request(
      { host: '127.0.0.1', port, method, path: url, headers, agent: false },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.on('error', () => response.destroy());
        answer.pipe(response);
        answer.once('close', () => {
          if (!answer.complete) response.destroy();
        });
      },
    );
    outgoing.once('socket', (socket) => {
      socket.once('connect', () => {
        isConnected = true;
        this.given.set(port, (this.given.get(port) ?? 0) + 1);
      });
    });
    outgoing.on('error', () => {
      if (isConnected) response.destroy();
      else this.#try(incoming, body, response, left - 1);
    });
    response.once('close', () => outgoing.destroy());
    outgoing.end(body);
  }

  #next(url: string): number | undefined {
    const pinned = this.pin(url);
    if (pinned !== undefined && this.#ports.includes(pinned)) return pinned;
    this.#turn += 1;
    return this.#ports[this.#turn % this.#ports.length];
  }
}
