import { lookup } from 'node:dns/promises';
import { closeSync, openSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Duplex, pipeline } from 'node:stream';
import { isOwnMachine, plainAddress } from './own-machine.ts';

export interface NetworkGateOptions {
  /** Ports of this machine that commands may reach all the same, such as that of the person's own registry. */
  readonly reachablePorts?: readonly number[];
  /** `host:port` of our server where it is not on this machine. */
  readonly refusedHosts?: readonly string[];
}

/** Of all commands together; each takes two descriptors of the runner. */
const mostConnections = 256;

/**
 * The only way out of isolation for a command that was granted network (AP-9). The command has a network of its own
 * with nothing in it; this is an HTTP proxy at the other end of a socket file that is put into it. Names are resolved
 * here, once, and what leads to this machine is refused: neither our server nor anything else on it can be reached.
 * Both ends are strangers: whatever they send, the runner goes on.
 */
export class NetworkGate {
  /** The socket file. */
  readonly path: string;
  readonly #reachable: ReadonlySet<number>;
  readonly #refused: readonly URL[];
  readonly #server: Server;
  readonly #open = new Set<Duplex>();
  readonly #answering = new WeakSet<Duplex>();

  constructor(
    folder: string,
    { reachablePorts = [], refusedHosts = [] }: NetworkGateOptions = {},
    connections = mostConnections,
  ) {
    this.path = join(folder, 'network');
    this.#reachable = new Set(reachablePorts);
    this.#refused = refusedHosts.map((host) => new URL(`tcp://${host}`));
    this.#server = createServer((asked, answer) => this.#answer(asked, answer));
    this.#server.maxConnections = connections;
    this.#server.on('connect', (asked, socket, head) => void this.#tunnel(asked, socket, head));
    this.#server.on('connection', (socket) => this.#remember(socket));
    this.#server.on('clientError', (_, socket) => socket.destroy());
    rmSync(this.path, { force: true });
    // A socket's path may have 108 bytes; by the folder's descriptor it always fits.
    const descriptor = openSync(folder, 'r');
    this.#server.listen(`/proc/self/fd/${descriptor}/network`);
    closeSync(descriptor);
    this.#server.unref();
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.path, { force: true });
  }

  /** HTTPS and everything else that proxies take: bytes both ways. */
  async #tunnel(asked: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    try {
      const { hostname, port } = new URL(`http://${asked.url}`);
      const target = await this.#resolve(hostname, Number(port || 80));
      const outside = connect(target);
      this.#remember(outside);
      outside.once('connect', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        outside.write(head);
        socket.pipe(outside).pipe(socket);
      });
      outside.on('error', (error) => refuse(socket, 502, error.message));
      outside.once('close', () => socket.destroy());
      if (socket.destroyed) outside.destroy();
      socket.once('close', () => outside.destroy());
    } catch (error) {
      refuse(socket, statusOf(error), (error as Error).message);
    }
  }

  /** One request of a connection at a time: many in a row would be many ways out at once. */
  #answer(asked: IncomingMessage, answer: ServerResponse): void {
    const { socket } = asked;
    if (this.#answering.has(socket)) {
      socket.destroy();
      return;
    }
    this.#answering.add(socket);
    answer.once('close', () => this.#answering.delete(socket));
    void this.#forward(asked, answer);
  }

  async #forward(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    try {
      const url = new URL(asked.url ?? '');
      if (url.protocol !== 'http:') throw new Error('only http: is forwarded; use CONNECT for anything else');
      const target = await this.#resolve(url.hostname, Number(url.port || 80));
      const headers = { ...asked.headers };
      for (const name of ['proxy-connection', 'proxy-authorization', 'connection']) delete headers[name];
      const path = url.pathname + url.search;
      // No agent: it would keep connections open that nobody counts.
      const outside = request({ ...target, agent: false, method: asked.method, path, headers }, (reply) =>
        passOn(reply, answer),
      );
      outside.on('error', (error) => respond(answer, 502, error.message));
      outside.once('close', () => {
        if (!answer.headersSent) respond(answer, 502, 'there was no reply');
      });
      if (answer.closed) outside.destroy();
      answer.once('close', () => outside.destroy());
      asked.pipe(outside);
    } catch (error) {
      respond(answer, statusOf(error), (error as Error).message);
    }
  }

  async #resolve(hostname: string, port: number): Promise<{ host: string; port: number }> {
    const name = withoutBrackets(hostname);
    const found = await lookup(name, { all: true });
    const refused = await this.#refusedAddresses(port);
    const isAllowed = (address: string): boolean =>
      !refused.has(plainAddress(address)) && (this.#reachable.has(port) || !isOwnMachine(address));
    const allowed = found.find(({ address }) => isAllowed(address));
    if (!allowed) throw new Error(`${name}:${port} cannot be reached by commands in isolation`);
    return { host: allowed.address, port };
  }

  /** By their addresses, since a host has many names, and an address many spellings. */
  async #refusedAddresses(port: number): Promise<ReadonlySet<string>> {
    const hosts = this.#refused.filter((refused) => Number(refused.port) === port);
    const found = hosts.map(({ hostname }) => lookup(withoutBrackets(hostname), { all: true }));
    return new Set((await Promise.all(found)).flat().map(({ address }) => plainAddress(address)));
  }

  #remember(socket: Duplex): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }
}

/** A reply can be one that HTTP does not know, such as status 099: then there is none. */
function passOn(reply: IncomingMessage, answer: ServerResponse): void {
  try {
    answer.writeHead(reply.statusCode ?? 502, reply.headers);
    pipeline(reply, answer, () => {}); // cut in the middle: the answer is cut as well
  } catch (error) {
    reply.destroy();
    respond(answer, 502, `the reply cannot be passed on: ${(error as Error).message}`);
  }
}

/** A name that nobody knows is a failure of the network; everything else we refused. */
const statusOf = (error: unknown): number =>
  (error as NodeJS.ErrnoException).syscall === 'getaddrinfo' ? 502 : 403;

const withoutBrackets = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');

const text = (problem: string): string => `Countersign: ${problem}\n`;

function refuse(socket: Duplex, status: number, problem: string): void {
  const body = text(problem);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function respond(answer: ServerResponse, status: number, problem: string): void {
  if (answer.headersSent) answer.destroy();
  else answer.writeHead(status, { 'content-type': 'text/plain' }).end(text(problem));
}
