import { randomUUID } from 'node:crypto';
import type { Bus, Hint } from '@countersign/engine';
import { piecesOf } from '@countersign/protocol';
import pg from 'pg';
import { InProcessBus } from './in-process-bus.ts';
import { connectionSettings } from './postgres-pool.ts';

export interface PostgresBusOptions {
  readonly url: string;
  /** Called when the connection breaks; it is restored by itself. */
  readonly onTrouble?: (error: unknown) => void;
}

const channel = 'countersign';
/** If sending a hint takes longer, the connection is replaced. */
const queryTimeoutMs = 20_000;
/** PostgreSQL refuses a notification of 8000 bytes. */
const largestMessage = 7_900;

/**
 * Passes hints to other nodes by LISTEN/NOTIFY on its own connection. Within this process they arrive at once and with
 * their events; other nodes get ids only, many in one message. Hints that are lost while the connection is down only
 * cause a delay, because other nodes read again on a slow tick.
 */
export class PostgresBus implements Bus {
  readonly #options: PostgresBusOptions;
  readonly #node = randomUUID();
  readonly #local = new InProcessBus();
  readonly #waiting = new Map<string, string>();
  #client: pg.Client | undefined;
  #sending = false;
  #closed = false;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PostgresBusOptions) {
    this.#options = options;
  }

  /** Resolves when the bus listens to other nodes. */
  static async open(options: PostgresBusOptions): Promise<PostgresBus> {
    const bus = new PostgresBus(options);
    await bus.#connect();
    return bus;
  }

  publish(hint: Hint): void {
    this.#local.publish(hint);
    if (hint.kind === 'written') return; // for this process only
    for (const piece of hint.kind === 'transient' ? splitOutput(hint) : [hint]) {
      const [key, message] = forOthers(piece);
      // A newer hint of the same kind replaces the older one.
      if (message !== undefined) this.#waiting.set(key, message);
    }
    if (!this.#sending) {
      this.#sending = true;
      setImmediate(() => void this.#send());
    }
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    return this.#local.subscribe(listener);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#client?.end().catch(() => {});
  }

  async #connect(): Promise<void> {
    const { url } = this.#options;
    const client = new pg.Client({
      ...connectionSettings(url, 'countersign hints'),
      pipeline: false,
      query_timeout: queryTimeoutMs,
    });
    client.on('error', (error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client, new Error('The connection for hints ended.')));
    client.on('notification', ({ payload }) => this.#hear(payload ?? ''));
    await client.connect();
    await client.query(`listen ${channel}`);
    this.#client = client;
    this.#failures = 0;
    if (this.#closed) await client.end();
  }

  #lost(client: pg.Client, error: unknown): void {
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    client.end().catch(() => {});
    this.#options.onTrouble?.(error);
    this.#connectLater();
  }

  #connectLater(): void {
    const ms = Math.min(50 * 2 ** this.#failures, 5_000);
    this.#failures += 1;
    this.#timer = setTimeout(() => {
      this.#connect().catch((error) => {
        this.#options.onTrouble?.(error);
        if (!this.#closed) this.#connectLater();
      });
    }, ms);
    this.#timer.unref();
  }

  /** Sends one message at a time. Hints that are published meanwhile go into the next message. */
  async #send(): Promise<void> {
    while (this.#waiting.size > 0) {
      const client = this.#client;
      if (client === undefined) {
        // Not connected: drop the hints. They would be outdated by the time others get them.
        this.#waiting.clear();
        break;
      }
      const message = this.#takeMessage();
      try {
        await client.query({
          name: 'cs_notify',
          text: 'select pg_notify($1, $2)',
          values: [channel, message],
        });
      } catch (error) {
        this.#lost(client, error);
      }
    }
    this.#sending = false;
  }

  #takeMessage(): string {
    const parts: string[] = [];
    let size = this.#node.length + 1;
    for (const [key, part] of this.#waiting) {
      size += Buffer.byteLength(part) + 1;
      if (size > largestMessage && parts.length > 0) break;
      parts.push(part);
      this.#waiting.delete(key);
    }
    return `${this.#node}[${parts.join(',')}]`;
  }

  #hear(payload: string): void {
    const start = payload.indexOf('[');
    if (payload.slice(0, start) === this.#node) return;
    for (const hint of readHints(payload.slice(start))) this.#local.publish(hint);
  }
}

let transientHints = 0;

/** The message for other nodes, and the key under which a newer hint replaces it. */
function forOthers(
  hint: Exclude<Hint, { kind: 'written' }>,
): readonly [key: string, message: string | undefined] {
  switch (hint.kind) {
    case 'events': {
      const { kind, userId, newest } = hint;
      return [`events ${userId}`, JSON.stringify({ kind, userId, newest })];
    }
    case 'transient': {
      // The event is not stored, so there is no id to send instead. An event that is too large is dropped.
      const message = JSON.stringify(hint);
      transientHints += 1;
      return [
        `transient ${transientHints}`,
        Buffer.byteLength(message) < largestMessage - 100 ? message : undefined,
      ];
    }
    default: {
      // Only ids remain without `change`, which is for this process: equal hints have equal messages.
      const message = JSON.stringify({ ...hint, change: undefined });
      return [message, message];
    }
  }
}

/** The hints in a message of another node, perhaps of another version. Anything else is ignored. */
function readHints(text: string): readonly Hint[] {
  try {
    const read = JSON.parse(text) as unknown;
    return Array.isArray(read) ? read.filter(isHint) : [];
  } catch {
    return [];
  }
}

const isHint = (read: unknown): read is Hint =>
  typeof (read as { readonly kind?: unknown } | null)?.kind === 'string';

type TransientHint = Extract<Hint, { kind: 'transient' }>;

/** A character of JSON takes six bytes at most, and a notification of PostgreSQL has room for 8000. */
const longestPiece = 1_000;

/** Splits a command's output into hints that fit into a notification. Any other hint stays whole. */
function splitOutput(hint: TransientHint): readonly TransientHint[] {
  const { event } = hint;
  if (event.event !== 'tool.progress') return [hint];
  const { output } = event.data;
  if (output === null || output.chunk.length <= longestPiece) return [hint];
  const { stream } = output;
  return [...piecesOf(output.chunk, longestPiece)].map((chunk, i) => {
    // Only the first piece carries percent and message.
    const statusFields = i === 0 ? {} : { progress: null, message: null };
    return {
      ...hint,
      event: { ...event, data: { ...event.data, ...statusFields, output: { stream, chunk } } },
    };
  });
}
