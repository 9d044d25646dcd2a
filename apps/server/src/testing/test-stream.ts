import { type IncomingMessage, request } from 'node:http';

export interface ReceivedEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: unknown;
  /** The frame as it came over the wire. */
  readonly raw: string;
}

/** A plain reader of Server-Sent Events over a real socket, written from the standard and not from our encoder. */
export class TestStream {
  readonly events: ReceivedEvent[] = [];
  readonly comments: string[] = [];
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  ended = false;
  retry: string | undefined;
  readonly #response: IncomingMessage;
  readonly #listeners = new Set<() => void>();
  readonly #onEvent: ((event: ReceivedEvent) => void)[] = [];
  #text = '';

  constructor(response: IncomingMessage) {
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    response.setEncoding('utf8').on('data', (part: string) => this.#read(part));
    const end = () => {
      this.ended = true;
      this.#tell();
    };
    response.on('end', end).on('close', end).on('error', end);
  }

  /** Calls the listener for each event, also for those that have already arrived. */
  onEvent(listener: (event: ReceivedEvent) => void): void {
    for (const event of this.events) listener(event);
    this.#onEvent.push(listener);
  }

  /** The first matching event, even if it has already arrived. Fails if the stream ends without one. */
  async until(fits: (event: ReceivedEvent) => boolean): Promise<ReceivedEvent> {
    for (;;) {
      const found = this.events.find(fits);
      if (found) return found;
      if (this.ended)
        throw new Error(`The stream ended; it had ${this.events.map(({ event }) => event).join(', ')}`);
      await this.#change();
    }
  }

  async untilEnd(): Promise<void> {
    while (!this.ended) await this.#change();
  }

  /** Resolves once the stream gets every later event. */
  untilListening(): Promise<void> {
    return this.untilComment('listening');
  }

  async untilComment(text: string): Promise<void> {
    while (!this.comments.includes(text)) {
      if (this.ended) throw new Error(`The stream ended without the comment "${text}"`);
      await this.#change();
    }
  }

  /** Stops reading; the sender's buffers fill up. */
  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  close(): void {
    this.#response.destroy();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      const once = () => {
        this.#listeners.delete(once);
        resolve();
      };
      this.#listeners.add(once);
    });
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #read(part: string): void {
    this.#text += part;
    // A line ends with CRLF, LF or CR; an empty one ends the event.
    for (let end = findFrame(this.#text); end !== undefined; end = findFrame(this.#text)) {
      const raw = this.#text.slice(0, end);
      this.#text = this.#text.slice(end);
      this.#frame(raw);
    }
    this.#tell();
  }

  #frame(raw: string): void {
    let id: string | undefined;
    let event = 'message';
    const data: string[] = [];
    for (const line of raw.split(/\r\n|\n|\r/)) {
      if (line.startsWith(':')) this.comments.push(line.slice(1).trim());
      const [, field, value] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
      if (field === 'id') id = value;
      if (field === 'event' && value !== undefined) event = value;
      if (field === 'data' && value !== undefined) data.push(value);
      if (field === 'retry') this.retry = value;
    }
    if (data.length === 0) return;
    const received = { id, event, data: JSON.parse(data.join('\n')) as unknown, raw };
    this.events.push(received);
    for (const listener of this.#onEvent) listener(received);
  }
}

function findFrame(text: string): number | undefined {
  const found = /(\r\n|\n|\r)(\r\n|\n|\r)/.exec(text);
  return found ? found.index + found[0].length : undefined;
}

/** Opens a stream; resolves with its head. A refusal has no events, and its body is in `refusal`. */
export function listenTo(
  url: string,
  { token, headers = {} }: { token?: string; headers?: Record<string, string> },
): Promise<TestStream> {
  return new Promise((resolve, reject) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    request(
      url,
      { agent: false, headers: { ...authorization, accept: 'text/event-stream', ...headers } },
      (response) => resolve(new TestStream(response)),
    )
      .on('error', reject)
      .end();
  });
}
