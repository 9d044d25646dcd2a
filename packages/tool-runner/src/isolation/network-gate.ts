import { lookup } from 'node:dns/promises';
import { closeSync, openSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { BlockList, connect, isIP, isIPv6, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { type Duplex, pipeline } from 'node:stream';
import type { NetworkAccess } from '@countersign/protocol';
import { GatePass, proxyUser } from './gate-pass.ts';
import type { Confinement } from './isolated-process.ts';

export interface NetworkGateOptions {
  /** Ports of this machine that commands may reach, such as that of the person's own registry. */
  readonly reachablePorts?: readonly number[];
  /** `host:port` of our server, if it is not on this machine. */
  readonly refusedHosts?: readonly string[];
}

/** Limit for all commands together. Each connection takes two descriptors of the runner. */
const maxConnections = 256;

/**
 * The HTTP proxy through which a command with network reaches the internet (AP-9). The command's own network namespace
 * is empty; it reaches this proxy by a socket file that is mounted into isolation. Names are resolved here, once, and
 * addresses of this machine are refused, so a command cannot reach our server or other local services. Commands and
 * remote hosts are untrusted: input from either must not crash the runner.
 */
export class NetworkGate {
  /** The socket file. */
  readonly path: string;
  readonly #reachable: ReadonlySet<number>;
  readonly #refused: readonly URL[];
  readonly #server: Server;
  readonly #connections: number;
  readonly #open = new Set<Duplex>();
  readonly #busy = new WeakSet<Duplex>();
  /** The commands that may use the gate now, by their Proxy-Authorization. */
  readonly #passes = new Map<string, GatePass>();

  constructor(
    folder: string,
    { reachablePorts = [], refusedHosts = [] }: NetworkGateOptions = {},
    connections = maxConnections,
  ) {
    this.path = join(folder, 'network');
    this.#reachable = new Set(reachablePorts);
    this.#refused = refusedHosts.map((host) => new URL(`tcp://${host}`));
    this.#server = createServer((incoming, response) => this.#handle(incoming, response));
    this.#connections = connections;
    this.#server.maxConnections = connections;
    this.#server.on('connect', (incoming, socket, head) => void this.#tunnel(incoming, socket, head));
    this.#server.on('connection', (socket) => this.#track(socket));
    this.#server.on('clientError', (_, socket) => socket.destroy());
    rmSync(this.path, { force: true });
    // A socket's path may have at most 108 bytes. A path through the folder's descriptor is always short enough.
    const descriptor = openSync(folder, 'r');
    this.#server.listen(`/proc/self/fd/${descriptor}/network`);
    closeSync(descriptor);
    this.#server.unref();
  }

  /** Lets one command reach these hosts until its pass ends. `askForHost` decides about any other. */
  admit(access: NetworkAccess, askForHost?: Confinement['askForHost']): GatePass {
    const pass = new GatePass(access, askForHost, ({ credentials }) => this.#passes.delete(credentials));
    this.#passes.set(pass.credentials, pass);
    return pass;
  }

  /** Serves a connection that a command made to a listener of ours in its network. */
  accept(socket: Socket): void {
    if (this.#open.size < 2 * this.#connections) this.#server.emit('connection', socket);
    else socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.path, { force: true });
  }

  /** Handles CONNECT, for HTTPS and other protocols: passes bytes both ways. */
  async #tunnel(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    try {
      const pass = this.#passOf(incoming);
      const { hostname, port } = new URL(`http://${incoming.url}`);
      const target = await this.#resolve(pass, hostname, Number(port || 80));
      const outside = connect(target);
      this.#track(outside);
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

  /** Allows one request at a time per connection: pipelined requests would open connections that are not counted. */
  #handle(incoming: IncomingMessage, response: ServerResponse): void {
    const { socket } = incoming;
    if (this.#busy.has(socket)) {
      socket.destroy();
      return;
    }
    this.#busy.add(socket);
    response.once('close', () => this.#busy.delete(socket));
    void this.#forward(incoming, response);
  }

  async #forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const pass = this.#passOf(incoming);
      const url = new URL(incoming.url ?? '');
      if (url.protocol !== 'http:') throw new Error('only http: is forwarded; use CONNECT for anything else');
      const target = await this.#resolve(pass, url.hostname, Number(url.port || 80));
      // The command chooses its Host header too: another name there would reach another site of the same address.
      const headers: IncomingMessage['headers'] = { ...incoming.headers, host: url.host };
      for (const name of ['proxy-connection', 'proxy-authorization', 'connection']) delete headers[name];
      const path = url.pathname + url.search;
      // An HTTP agent would keep connections open that are not counted.
      const outside = request({ ...target, agent: false, method: incoming.method, path, headers }, (reply) =>
        sendReply(reply, response),
      );
      outside.on('error', (error) => respond(response, 502, error.message));
      outside.once('close', () => {
        if (!response.headersSent) respond(response, 502, 'there was no reply');
      });
      if (response.closed) outside.destroy();
      response.once('close', () => outside.destroy());
      incoming.pipe(outside);
    } catch (error) {
      respond(response, statusOf(error), (error as Error).message);
    }
  }

  #passOf({ headers }: IncomingMessage): GatePass {
    const pass = this.#passes.get(headers['proxy-authorization'] ?? '');
    if (pass === undefined) throw new NoPass();
    return pass;
  }

  async #resolve(pass: GatePass, hostname: string, port: number): Promise<{ host: string; port: number }> {
    await pass.require(hostname, port, this.#reachable.has(port));
    const name = withoutBrackets(hostname);
    const found = await lookup(name, { all: true });
    const refused = await this.#refusedAddresses(port);
    const isAllowed = (address: string): boolean =>
      !refused.has(plainAddress(address)) && (this.#reachable.has(port) || !isOwnMachine(address));
    const allowed = found.find(({ address }) => isAllowed(address));
    if (!allowed) throw new Error(`${name}:${port} cannot be reached by commands in isolation`);
    return { host: allowed.address, port };
  }

  /** Resolves the refused hosts, because a host can have several names. */
  async #refusedAddresses(port: number): Promise<ReadonlySet<string>> {
    const hosts = this.#refused.filter((refused) => Number(refused.port) === port);
    const found = hosts.map(({ hostname }) => lookup(withoutBrackets(hostname), { all: true }));
    return new Set((await Promise.all(found)).flat().map(({ address }) => plainAddress(address)));
  }

  #track(socket: Duplex): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }
}

/** Sends a reply to the command, or 502 if the reply is invalid HTTP, such as status 099. */
function sendReply(reply: IncomingMessage, response: ServerResponse): void {
  try {
    response.writeHead(reply.statusCode ?? 502, reply.headers);
    pipeline(reply, response, () => {}); // an error of either side destroys the other
  } catch (error) {
    reply.destroy();
    respond(response, 502, `the reply cannot be passed on: ${(error as Error).message}`);
  }
}

class NoPass extends Error {
  constructor() {
    super('this command was granted no network');
  }
}

/**
 * Returns 407 for a request without a pass, 502 for a name that cannot be resolved, and 403 for a request that we refuse.
 * git sends its key only after a 407.
 */
function statusOf(error: unknown): number {
  if (error instanceof NoPass) return 407;
  return (error as NodeJS.ErrnoException).syscall === 'getaddrinfo' ? 502 : 403;
}
const challenge = { 'proxy-authenticate': 'Basic realm="Countersign"' };

const withoutBrackets = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');

const text = (problem: string): string => `Countersign: ${problem}\n`;

function refuse(socket: Duplex, status: number, problem: string): void {
  const body = text(problem);
  const asked = status === 407 ? `proxy-authenticate: ${challenge['proxy-authenticate']}\r\n` : '';
  socket.end(
    `HTTP/1.1 ${status} Refused\r\n${asked}content-type: text/plain\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function respond(response: ServerResponse, status: number, problem: string): void {
  if (response.headersSent) response.destroy();
  else
    response
      .writeHead(status, { 'content-type': 'text/plain', ...(status === 407 && challenge) })
      .end(text(problem));
}

const localAddresses = new BlockList();
localAddresses.addSubnet('0.0.0.0', 8, 'ipv4');
localAddresses.addSubnet('127.0.0.0', 8, 'ipv4');
// Link-local addresses: cloud metadata services hand out a machine's credentials there.
localAddresses.addSubnet('169.254.0.0', 16, 'ipv4');
localAddresses.addSubnet('fe80::', 10, 'ipv6');
localAddresses.addAddress('::', 'ipv6');
localAddresses.addAddress('::1', 'ipv6');

/**
 * Whether an address belongs to this machine: loopback, link-local, or a current address of an interface. Our server and
 * other services that trust local clients listen there. Text that is not an address counts as this machine.
 */
export function isOwnMachine(address: string): boolean {
  const plain = plainAddress(address);
  if (isIP(plain) === 0) return true;
  const family = isIPv6(plain) ? 'ipv6' : 'ipv4';
  if (localAddresses.check(plain, family)) return true;
  const own = new BlockList();
  for (const found of Object.values(networkInterfaces()).flat()) {
    if (found)
      own.addAddress(found.address.split('%', 1)[0] ?? '', found.family === 'IPv6' ? 'ipv6' : 'ipv4');
  }
  return own.check(plain, family);
}

/** Returns the canonical spelling of an address. `::ffff:127.0.0.1` and `::ffff:7f00:1` become 127.0.0.1. */
function plainAddress(text: string): string {
  const address = text.split('%', 1)[0] ?? '';
  if (!isIPv6(address)) return address;
  const spelled = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(spelled);
  if (!mapped) return spelled;
  const [high, low] = [Number.parseInt(mapped[1] ?? '', 16), Number.parseInt(mapped[2] ?? '', 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** Paths inside isolation at which the gate's socket file and the bridge's code are mounted. */
export const gatePlace = '/run/countersign/network';
export const bridgePlace = '/run/countersign/bridge.cjs';

/**
 * Returns environment variables that make programs use the gate as their proxy. With port 0, the bridge fills in its
 * own port: the kernel chooses a free one, so that no other command can already listen there and receive the key.
 */
export function proxyEnvironment(key: string, port = 0): Readonly<Record<string, string>> {
  const proxy = `http://${proxyUser}:${key}@127.0.0.1:${port}`;
  return {
    ...{ http_proxy: proxy, https_proxy: proxy, HTTP_PROXY: proxy, HTTPS_PROXY: proxy },
    no_proxy: 'localhost,127.0.0.1,::1',
    NO_PROXY: 'localhost,127.0.0.1,::1',
    NODE_USE_ENV_PROXY: '1',
    // Use the system's certificate store, which may have a company's own certificates.
    NODE_USE_SYSTEM_CA: '1',
  };
}

/**
 * Runs inside isolation: listens for the command's connections, forwards them to the gate's socket file, starts the
 * command, and exits with it. The source text of this function is written to a file, so it cannot use imports or other
 * functions of this module.
 */
/* v8 ignore start -- runs in isolation, where coverage is not measured; network-gate.test.ts runs it */
function bridge(
  { net, childProcess, os }: BridgeModules,
  gate: string,
  [ports = '', program = '', ...args]: readonly string[],
): void {
  const join = (inside: import('node:net').Socket, outside: import('node:net').Socket): void => {
    inside.pipe(outside).pipe(inside);
    inside.on('error', () => outside.destroy());
    outside.on('error', () => inside.destroy());
  };
  const listen = (at: number, greeting: string): Promise<number | undefined> =>
    new Promise((resolve) => {
      const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (inside) => {
        const outside = net.connect({ path: gate, allowHalfOpen: true });
        if (greeting === '') join(inside, outside);
        else {
          outside.write(greeting);
          // The gate first sends one short packet with status 200, or closes the connection.
          outside.once('data', () => join(inside, outside));
          outside.once('error', () => inside.destroy());
        }
      });
      server.on('error', () => resolve(undefined));
      server.listen(at, '127.0.0.1', () =>
        resolve((server.address() as import('node:net').AddressInfo).port),
      );
    });
  // Ignore these signals: the command's processes get them too, and the bridge must exit after the command.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  const env = { ...process.env };
  const proxied = Object.keys(env).filter((name) => env[name]?.startsWith('http://countersign:'));
  const login = /\/\/(.*)@/.exec(env[proxied[0] ?? ''] ?? '')?.[1] ?? '';
  const credentials = Buffer.from(login).toString('base64');
  const reachable = ports.split(',').filter(Boolean).map(Number);
  void Promise.all([
    listen(0, ''),
    ...reachable.map((reachablePort) =>
      listen(
        reachablePort,
        `CONNECT 127.0.0.1:${reachablePort} HTTP/1.1\r\nproxy-authorization: Basic ${credentials}\r\n\r\n`,
      ),
    ),
  ]).then(([port]) => {
    if (port === undefined) {
      console.error('Countersign: the bridge to the network gate cannot listen');
      process.exit(126);
    }
    for (const name of proxied) env[name] = env[name]?.replace(/:0$/, `:${port}`);
    const child = childProcess.spawn(program, args, { stdio: 'inherit', env });
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

/** Returns the bridge as CommonJS. Its arguments are the reachable ports of this machine, a program and its arguments. */
export function bridgeSource(): string {
  const modules =
    "{ net: require('node:net'), childProcess: require('node:child_process'), os: require('node:os') }";
  return `(${bridge.toString()})(${modules}, '${gatePlace}', process.argv.slice(2));\n`;
}
