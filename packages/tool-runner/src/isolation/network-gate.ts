import { lookup } from 'node:dns/promises';
import { closeSync, openSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { BlockList, connect, isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { type Duplex, pipeline } from 'node:stream';

export interface NetworkGateOptions {
  /** Ports of this machine that commands may reach, such as that of the person's own registry. */
  readonly reachablePorts?: readonly number[];
  /** `host:port` of our server, if it is not on this machine. */
  readonly refusedHosts?: readonly string[];
}

/** Limit for all commands together; each connection takes two descriptors of the runner. */
const maxConnections = 256;

/**
 * The only way out of isolation for a command that was granted network (AP-9). The command has an empty network of its
 * own; this is an HTTP proxy at the other end of a socket file that is mounted into isolation. Names are resolved here,
 * once, and addresses of this machine are refused: a command reaches neither our server nor anything else on it. Both
 * ends are untrusted: whatever they send must not stop the runner.
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
    connections = maxConnections,
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
    // A socket's path may have at most 108 bytes; through the folder's descriptor it always fits.
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

  /** CONNECT, for HTTPS and everything else: passes bytes both ways. */
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

  /** One request at a time on a connection: pipelined requests would open more connections than are counted. */
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
      // No agent: it would keep connections open that are not counted.
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

  /** Compared by address, since a host has many names and an address many spellings. */
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

/** A reply may be invalid HTTP, such as status 099: then the command gets 502. */
function passOn(reply: IncomingMessage, answer: ServerResponse): void {
  try {
    answer.writeHead(reply.statusCode ?? 502, reply.headers);
    pipeline(reply, answer, () => {}); // if the reply breaks off, so does the response
  } catch (error) {
    reply.destroy();
    respond(answer, 502, `the reply cannot be passed on: ${(error as Error).message}`);
  }
}

/** A name that cannot be resolved is a failure of the network (502); everything else was refused by us. */
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

const always = new BlockList();
always.addSubnet('0.0.0.0', 8, 'ipv4');
always.addSubnet('127.0.0.0', 8, 'ipv4');
// Link-local: clouds give out a machine's credentials there.
always.addSubnet('169.254.0.0', 16, 'ipv4');
always.addSubnet('fe80::', 10, 'ipv6');
always.addAddress('::', 'ipv6');
always.addAddress('::1', 'ipv6');

/**
 * Whether an address leads to this machine, where our server and other services listen that trust local clients:
 * loopback, link-local, and the current addresses of its interfaces. Text that is not an address counts as this
 * machine.
 */
export function isOwnMachine(address: string): boolean {
  const plain = plainAddress(address);
  if (isIP(plain) === 0) return true;
  const family = isIPv6(plain) ? 'ipv6' : 'ipv4';
  if (always.check(plain, family)) return true;
  const own = new BlockList();
  for (const found of Object.values(networkInterfaces()).flat()) {
    if (found)
      own.addAddress(found.address.split('%', 1)[0] ?? '', found.family === 'IPv6' ? 'ipv6' : 'ipv4');
  }
  return own.check(plain, family);
}

/** The canonical spelling of an address: `::ffff:127.0.0.1`, also in hexadecimal, is 127.0.0.1. */
function plainAddress(text: string): string {
  const address = text.split('%', 1)[0] ?? '';
  if (!isIPv6(address)) return address;
  const spelled = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(spelled);
  if (!mapped) return spelled;
  const [high, low] = [Number.parseInt(mapped[1] ?? '', 16), Number.parseInt(mapped[2] ?? '', 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** Where the bridge listens, inside the command's own network. */
const port = 39_127;
/** Where the gate's socket file and the bridge's code are mounted. */
export const gatePlace = '/run/countersign/network';
export const bridgePlace = '/run/countersign/bridge.cjs';

/** Tells programs to use the gate. Node's own fetch needs a variable of its own. */
export const bridgeEnvironment: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].map((name) => [
      name,
      `http://127.0.0.1:${port}`,
    ]),
  ),
  no_proxy: 'localhost,127.0.0.1,::1',
  NO_PROXY: 'localhost,127.0.0.1,::1',
  NODE_USE_ENV_PROXY: '1',
  // A company's own certificates are in the system's store; the person's variables for them are not passed on.
  NODE_USE_SYSTEM_CA: '1',
};

/**
 * Runs inside isolation and starts the command: passes connections of the command's network on to the gate's socket
 * file, and ends with the command. It is written to a file as text and mounted, so it cannot use anything of this
 * module.
 */
/* v8 ignore start -- runs in isolation, where coverage is not measured; network-gate.test.ts runs it */
function bridge(
  { net, childProcess, os }: BridgeModules,
  listenAt: number,
  gate: string,
  [ports = '', program = '', ...args]: readonly string[],
): void {
  const join = (inside: import('node:net').Socket, outside: import('node:net').Socket): void => {
    inside.pipe(outside).pipe(inside);
    inside.on('error', () => outside.destroy());
    outside.on('error', () => inside.destroy());
  };
  const listen = (at: number, greeting: string): Promise<void> =>
    new Promise((resolve) => {
      const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (inside) => {
        const outside = net.connect({ path: gate, allowHalfOpen: true });
        if (greeting === '') join(inside, outside);
        else {
          outside.write(greeting);
          // The gate first sends one short packet that says 200, or closes.
          outside.once('data', () => join(inside, outside));
          outside.once('error', () => inside.destroy());
        }
      });
      server.on('error', () => resolve());
      server.listen(at, '127.0.0.1', resolve);
    });
  // Every process of the command gets these signals itself; we end when the command has.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  const doors = ports.split(',').filter(Boolean).map(Number);
  void Promise.all([
    listen(listenAt, ''),
    ...doors.map((door) => listen(door, `CONNECT 127.0.0.1:${door} HTTP/1.1\r\n\r\n`)),
  ]).then(() => {
    const child = childProcess.spawn(program, args, { stdio: 'inherit' });
    child.on('exit', (code, signal) =>
      process.exit(code ?? 128 + (signal ? os.constants.signals[signal] : 0)),
    );
    child.on('error', (error) => {
      console.error(error.message);
      process.exit(127);
    });
  });
}

/* v8 ignore stop */
interface BridgeModules {
  readonly net: typeof import('node:net');
  readonly childProcess: typeof import('node:child_process');
  readonly os: typeof import('node:os');
}

/** The bridge as a CommonJS file. Its arguments: reachable ports of this machine, the program and its arguments. */
export function bridgeSource(): string {
  const modules =
    "{ net: require('node:net'), childProcess: require('node:child_process'), os: require('node:os') }";
  return `(${bridge.toString()})(${modules}, ${port}, '${gatePlace}', process.argv.slice(2));\n`;
}
