import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** The share of requests, from 0 to 1, that each fault happens to. */
export interface NetworkFaults {
  /** Requests that never reach the server. */
  readonly lost: number;
  /** Requests that reach the server, but whose response is lost. */
  readonly unanswered: number;
  readonly duplicated: number;
  readonly delayed: number;
  readonly delayMs: number;
}

const noFaults: NetworkFaults = { lost: 0, unanswered: 0, duplicated: 0, delayed: 0, delayMs: 0 };
/** A node that does not start to respond within this time is given up. */
const timeoutMs = 10_000;
const canHaveBody = (method: string | undefined): boolean => method !== 'GET' && method !== 'HEAD';

/**
 * A load balancer without sticky sessions: each request, even on the same connection, goes to the next node. It loses,
 * delays and duplicates requests as told. It skips a node that refuses the connection, but never resends a request
 * that a node has begun to receive.
 */
export class LoadBalancer {
  readonly #server: Server;
  readonly #random: () => number;
  #ports: readonly number[] = [];
  readonly #sockets = new Set<Socket>();
  /** No keep-alive: a connection that a node has closed would look like an unplanned fault. */
  readonly #agent = new Agent({ keepAlive: false });
  #turn = 0;
  faults: NetworkFaults = noFaults;
  /** How many requests each fault has happened to. */
  readonly treated = { passed: 0, lost: 0, unanswered: 0, duplicated: 0, delayed: 0 };
  /** The number of requests sent to each node, by port. */
  readonly given = new Map<number, number>();

  private constructor(random: () => number) {
    this.#random = random;
    this.#server = createServer((incoming, outgoing) => {
      incoming.on('error', () => {});
      outgoing.on('error', () => {});
      void this.#take(incoming, outgoing).catch(() => outgoing.destroy());
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
    });
  }

  /** `random`: numbers from 0 to 1 that decide which faults happen to a request. */
  static async open(random: () => number = Math.random): Promise<LoadBalancer> {
    const balancer = new LoadBalancer(random);
    await new Promise<void>((resolve) => balancer.#server.listen(0, '127.0.0.1', resolve));
    return balancer;
  }

  /** The ports of the healthy nodes. */
  use(ports: readonly number[]): void {
    this.#ports = ports;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stopFaults(): void {
    this.faults = noFaults;
  }

  /** Ends all connections, streams too. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    this.#agent.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    // Draw all numbers at once, so that one fault does not change the numbers of the next request.
    const [lost, unanswered, duplicated, delayed] = [1, 2, 3, 4].map(() => this.#random()) as RandomNumbers;
    const { faults } = this;
    const body = canHaveBody(incoming.method) ? await bodyOf(incoming) : undefined;
    const isUnanswered = unanswered < faults.unanswered;
    if (lost < faults.lost) {
      this.treated.lost += 1;
      return void outgoing.destroy();
    }
    if (delayed < faults.delayed) {
      this.treated.delayed += 1;
      await new Promise((resolve) => setTimeout(resolve, faults.delayMs));
    }
    // The duplicate may go to another node, and its response is dropped.
    if (duplicated < faults.duplicated && body !== undefined) {
      this.treated.duplicated += 1;
      void this.#forward(incoming, body, 'twin').catch(() => {});
    }
    this.treated[isUnanswered ? 'unanswered' : 'passed'] += 1;
    await this.#forward(incoming, body, isUnanswered ? 'unanswered' : outgoing);
  }

  /** Sends the request to the next node that accepts it. */
  async #forward(
    incoming: IncomingMessage,
    body: Buffer | undefined,
    answer: ServerResponse | 'unanswered' | 'twin',
  ): Promise<void> {
    const ports = this.#ports; // one try each, even if the list changes meanwhile
    for (let tried = 0; tried < ports.length; tried++) {
      const port = ports[this.#turn++ % ports.length] as number;
      const response = await this.#ask(port, incoming, body);
      if (response === 'refused') continue;
      if (response === 'broken' || answer === 'unanswered' || answer === 'twin') {
        if (response !== 'broken') response.resume();
        if (answer !== 'twin') incoming.socket.destroy();
        return;
      }
      pass(response, answer);
      return;
    }
    if (answer === 'unanswered') incoming.socket.destroy();
    else if (answer !== 'twin') unavailable(answer);
  }

  #ask(
    port: number,
    incoming: IncomingMessage,
    body: Buffer | undefined,
  ): Promise<IncomingMessage | 'refused' | 'broken'> {
    const { connection: _, 'transfer-encoding': __, ...headers } = incoming.headers;
    return new Promise((resolve) => {
      let wasOpen = false;
      const { method, url } = incoming;
      const sent = httpRequest({
        host: '127.0.0.1',
        port,
        method,
        path: url,
        headers,
        agent: this.#agent,
      } as object);
      const left = () => sent.destroy();
      const tooLong = setTimeout(() => sent.destroy(new Error('no answer')), timeoutMs);
      sent.on('socket', (socket) => {
        socket.once('connect', () => {
          wasOpen = true;
          this.given.set(port, (this.given.get(port) ?? 0) + 1);
        });
      });
      sent.once('close', () => incoming.socket.off('close', left));
      sent.on('error', () => {
        clearTimeout(tooLong);
        resolve(wasOpen ? 'broken' : 'refused');
      });
      sent.on('response', (response) => {
        clearTimeout(tooLong);
        resolve(response);
      });
      incoming.socket.once('close', left);
      sent.end(body);
    });
  }
}

type RandomNumbers = [number, number, number, number];

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function pass(response: IncomingMessage, outgoing: ServerResponse): void {
  const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...headers } = response.headers;
  outgoing.writeHead(response.statusCode ?? 502, headers);
  outgoing.flushHeaders();
  // A node that dies in mid-response must look like that to the client too.
  response.on('error', () => outgoing.destroy());
  response.on('aborted', () => outgoing.destroy());
  outgoing.once('close', () => response.destroy());
  response.pipe(outgoing);
}

function unavailable(outgoing: ServerResponse): void {
  outgoing.writeHead(503, { 'content-type': 'application/json' });
  outgoing.end(JSON.stringify({ success: false, error: 'No node answers. Try again.', code: 'UNAVAILABLE' }));
}
