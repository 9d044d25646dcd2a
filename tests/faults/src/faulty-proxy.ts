import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Weather } from './plan.ts';
import type { Random } from './random.ts';

const fairWeather: Weather = { lost: 0, unanswered: 0, duplicated: 0, delayed: 0, delayMs: 0 };
/** A node that does not begin to answer within this time is given up, as any load balancer does. */
const timeoutMs = 10_000;
const canHaveBody = (method: string | undefined): boolean => method !== 'GET' && method !== 'HEAD';

/**
 * A load balancer without sticky sessions in front of the nodes, which loses, delays and duplicates requests and
 * answers while it is told to. A node that refuses the connection is passed over; a request that a node has begun to
 * take is never sent to another one by itself.
 */
export class FaultyProxy {
  readonly #server: Server;
  readonly #ports: readonly number[];
  readonly #random: Random;
  readonly #sockets = new Set<Socket>();
  /** No connection is kept: one that a node has closed would look like a fault that nobody planned. */
  readonly #agent = new Agent({ keepAlive: false });
  #turn = 0;
  weather: Weather = fairWeather;
  /** What was done to requests, so far. */
  readonly treated = { passed: 0, lost: 0, unanswered: 0, duplicated: 0, delayed: 0 };

  private constructor(ports: readonly number[], random: Random) {
    this.#ports = ports;
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

  static async open(ports: readonly number[], random: Random): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(ports, random);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  clearUp(): void {
    this.weather = fairWeather;
  }

  /** Ends every connection at once, streams too. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    this.#agent.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    // All of it is drawn at once: one fault does not change the dice of the next request.
    const [lost, unanswered, duplicated, delayed] = [1, 2, 3, 4].map(() => this.#random.next()) as Dice;
    const { weather } = this;
    const body = canHaveBody(incoming.method) ? await bodyOf(incoming) : undefined;
    const isUnanswered = unanswered < weather.unanswered;
    if (lost < weather.lost) {
      this.treated.lost += 1;
      return void outgoing.destroy();
    }
    if (delayed < weather.delayed) {
      this.treated.delayed += 1;
      await new Promise((resolve) => setTimeout(resolve, weather.delayMs));
    }
    // Its twin goes another way, and nobody waits for what it is answered.
    if (duplicated < weather.duplicated && body !== undefined) {
      this.treated.duplicated += 1;
      void this.#forward(incoming, body, 'twin').catch(() => {});
    }
    this.treated[isUnanswered ? 'unanswered' : 'passed'] += 1;
    await this.#forward(incoming, body, isUnanswered ? 'unanswered' : outgoing);
  }

  /** Sends to the next node that takes it. */
  async #forward(
    incoming: IncomingMessage,
    body: Buffer | undefined,
    answer: ServerResponse | 'unanswered' | 'twin',
  ): Promise<void> {
    for (let tried = 0; tried < this.#ports.length; tried++) {
      const port = this.#ports[this.#turn++ % this.#ports.length] as number;
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
    const headers = headersFor(incoming, port);
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

type Dice = [number, number, number, number];

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The node is asked by its own address, as its Host check wants it. */
function headersFor({ headers }: IncomingMessage, port: number): OutgoingHttpHeaders {
  const { connection: _, 'transfer-encoding': __, ...rest } = headers;
  return { ...rest, host: `127.0.0.1:${port}` };
}

function pass(response: IncomingMessage, outgoing: ServerResponse): void {
  const { connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...headers } = response.headers;
  outgoing.writeHead(response.statusCode ?? 502, headers);
  outgoing.flushHeaders();
  // A node that dies in mid-answer must look so to the client as well.
  response.on('error', () => outgoing.destroy());
  response.on('aborted', () => outgoing.destroy());
  outgoing.once('close', () => response.destroy());
  response.pipe(outgoing);
}

function unavailable(outgoing: ServerResponse): void {
  outgoing.writeHead(503, { 'content-type': 'application/json' });
  outgoing.end(JSON.stringify({ success: false, error: 'No node answers. Try again.', code: 'UNAVAILABLE' }));
}
