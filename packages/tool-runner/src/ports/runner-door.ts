import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import type { JobPort } from '../commands/background-jobs.ts';
import type { ConversationPlace } from '../isolation/conversation-place.ts';
import { errorValueOf } from '../result-outbox.ts';
import { PlaceConnector } from './place-connector.ts';

export interface RunnerDoorDeps {
  readonly stateFolder: string;
  /** The ports on which background jobs listen now. */
  readonly ports: () => readonly JobPort[];
  readonly placeOf: (session: string) => Promise<ConversationPlace | undefined>;
}

/** Answers what a person's own program asks of the runner. The answer is sent as JSON. */
export type DoorRequest = (lines: AsyncIterable<string>) => Promise<unknown>;

/** Name of the socket file in the workspace's state folder. */
export const doorName = 'ports';

/**
 * Lets the person's own programs on this machine reach the runner of a workspace. It is a socket file in the state folder,
 * which only the person can enter and no command sees. For `countersign open`, `GET /ports` lists the ports of background
 * jobs and `CONNECT JOB:PORT` leads to one of them (RN-5). `POST` asks for what `answers` has, for `countersign try` and
 * `undo --last`.
 */
export class RunnerDoor {
  readonly #deps: RunnerDoorDeps;
  readonly #server: Server;
  readonly #connectors = new Map<ConversationPlace, PlaceConnector>();
  readonly #open = new Set<Duplex>();
  #requests: Readonly<Record<string, DoorRequest>> = {};

  constructor(deps: RunnerDoorDeps) {
    this.#deps = deps;
    this.#server = createServer((request, response) => void this.#answer(request, response));
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

  /** Sets what `POST` can ask for, by path. */
  answers(requests: Readonly<Record<string, DoorRequest>>): void {
    this.#requests = requests;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '' } = request;
    const send = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (method === 'GET' && url === '/ports') return send(200, { ports: this.#deps.ports() });
    const found = method === 'POST' && Object.hasOwn(this.#requests, url) ? this.#requests[url] : undefined;
    if (!found) return send(404, {});
    try {
      send(200, await found(createInterface({ input: request, crlfDelay: Number.POSITIVE_INFINITY })));
    } catch (error) {
      send(500, errorValueOf(error));
    }
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
