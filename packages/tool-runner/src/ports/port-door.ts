import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { JobPort } from '../commands/background-jobs.ts';
import type { ConversationPlace } from '../isolation/conversation-place.ts';
import { PlaceConnector } from './place-connector.ts';

export interface PortDoorDeps {
  readonly stateFolder: string;
  /** The ports on which background jobs listen now. */
  readonly ports: () => readonly JobPort[];
  readonly placeOf: (session: string) => Promise<ConversationPlace | undefined>;
}

/** Name of the socket file in the workspace's state folder. */
export const doorName = 'ports';

/**
 * Lets `countersign open` reach the ports of background jobs (RN-5). It is a socket file in the state folder, which only the
 * person can enter and no command sees: `GET /ports` lists the ports, `CONNECT JOB:PORT` leads to one of them.
 */
export class PortDoor {
  readonly #deps: PortDoorDeps;
  readonly #server: Server;
  readonly #connectors = new Map<ConversationPlace, PlaceConnector>();
  readonly #open = new Set<Duplex>();

  constructor(deps: PortDoorDeps) {
    this.#deps = deps;
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#server.on('connect', (request, socket) => void this.#lead(request, socket));
    this.#server.on('connection', (socket) => this.#track(socket));
    this.#server.on('clientError', (_, socket) => socket.destroy());
    this.#server.on('error', () => {}); // without the door everything else works
    const { stateFolder } = deps;
    mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
    rmSync(join(stateFolder, doorName), { force: true });
    // A socket's path may have at most 108 bytes. A path through the folder's descriptor is always short enough.
    const descriptor = openSync(stateFolder, 'r');
    this.#server.listen(`/proc/self/fd/${descriptor}/${doorName}`);
    closeSync(descriptor);
    this.#server.unref();
  }

  async close(): Promise<void> {
    for (const connector of this.#connectors.values()) connector.close();
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(join(this.#deps.stateFolder, doorName), { force: true });
  }

  #answer({ method, url }: IncomingMessage, response: ServerResponse): void {
    if (method !== 'GET' || url !== '/ports') return void response.writeHead(404).end();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ports: this.#deps.ports() }));
  }

  async #lead({ url = '' }: IncomingMessage, socket: Duplex): Promise<void> {
    socket.on('error', () => socket.destroy());
    const found = this.#deps.ports().find(({ job_id, port }) => url === `${job_id}:${port}`);
    try {
      const inside = found && (await (await this.#connectorOf(found.session_id))?.connect(found.port));
      if (!inside) return void socket.end('HTTP/1.1 404 Not Found\r\n\r\n');
      this.#track(inside);
      inside.on('error', () => socket.destroy());
      inside.once('close', () => socket.destroy());
      socket.once('close', () => inside.destroy());
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      inside.pipe(socket).pipe(inside);
    } catch {
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    }
  }

  async #connectorOf(session: string): Promise<PlaceConnector | undefined> {
    const place = await this.#deps.placeOf(session);
    if (!place) return undefined;
    const known = this.#connectors.get(place);
    if (known) return known;
    const connector = new PlaceConnector(place);
    this.#connectors.set(place, connector);
    // It would keep the network of a conversation that has ended.
    const onClosed = (): void => {
      connector.close();
      this.#connectors.delete(place);
    };
    place.closed.addEventListener('abort', onClosed, { once: true });
    return connector;
  }

  #track(socket: Duplex): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }
}
