import type { ServerResponse } from 'node:http';
import { type EncodedRequest, endOfRequest, type ServerEvent, type StreamSink } from '@countersign/engine';

/** How soon a client reconnects after its stream was cut. */
const RETRY_MS = 1_000;

const eventStreamHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // Tells proxies not to buffer.
  'x-accel-buffering': 'no',
};

/** A client that is behind and reads nothing for this long is cut off. */
const MAX_WAIT_MS = 15_000;

/** Encoded frames, cached because many clients get the same event. */
const frames = new WeakMap<ServerEvent, { id: number | undefined; frame: string }>();

/**
 * Encodes one event. JSON escapes CR and LF, the only line ends of the format, so nothing in a payload can end a field or
 * an event (EV-4).
 */
function encodeEvent(event: ServerEvent, id: number | undefined): string {
  const known = frames.get(event);
  if (known && known.id === id) return known.frame;
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  const frame = `${idLine}event: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`;
  frames.set(event, { id, frame });
  return frame;
}

const requestHead = Buffer.from('event: tool.approval_request\ndata: ');
const frameEnd = '\n\n';

/** Encodes pending requests: copies their cached bytes and adds the remaining time. */
function encodePending(requests: readonly EncodedRequest[], now: number): Buffer {
  const ends = requests.map((request) => endOfRequest(request, now) + frameEnd);
  const frames = Buffer.allocUnsafe(
    requests.reduce(
      (sum, { json }, place) => sum + requestHead.length + json.length + (ends[place]?.length ?? 0),
      0,
    ),
  );
  let at = 0;
  for (const [place, { json }] of requests.entries()) {
    at += requestHead.copy(frames, at);
    at += json.copy(frames, at);
    at += frames.write(ends[place] ?? '', at, 'latin1');
  }
  return frames;
}

/**
 * The response of one listening client. Frames of one event-loop turn are sent together. A client that does not read is
 * cut off when its buffer is full, and resumes by id.
 */
export class EventStream implements StreamSink {
  readonly #response: ServerResponse;
  readonly #maxBufferedBytes: number;
  #waiting = '';
  #ended = false;

  constructor(response: ServerResponse, maxBufferedBytes: number) {
    this.#response = response;
    this.#maxBufferedBytes = maxBufferedBytes;
  }

  /** Sends the head and the first line, so that the client knows that it is connected. */
  open(headers: Readonly<Record<string, string>>): void {
    this.#response.writeHead(200, { ...headers, ...eventStreamHeaders });
    this.#response.write(`retry: ${RETRY_MS}\n\n`);
  }

  send(event: ServerEvent, id: number | undefined): boolean {
    return this.#push(encodeEvent(event, id));
  }

  sendPending(requests: readonly EncodedRequest[], now: number): boolean {
    if (this.#ended || this.#response.destroyed) return false;
    const frames = encodePending(requests, now);
    const unread = this.#response.writableLength + this.#waiting.length;
    // If nothing is unread, frames of any size are accepted, even more than the buffer allows.
    if (unread > 0 && unread + frames.length > this.#maxBufferedBytes) return false;
    this.#flush();
    this.#response.write(frames);
    return true;
  }

  /** Undefined while less than a quarter of the buffer is unread; otherwise resolves when the client has read. */
  room(): Promise<boolean> | undefined {
    if (this.#response.writableLength + this.#waiting.length < this.#maxBufferedBytes / 4) return undefined;
    this.#flush();
    const response = this.#response;
    if (this.#ended || response.destroyed) return Promise.resolve(false);
    if (!response.writableNeedDrain) return undefined;
    return new Promise((resolve) => {
      const decide = (hasRoom: boolean) => {
        clearTimeout(tooLong);
        response.off('drain', drained).off('close', closed);
        resolve(hasRoom);
      };
      const drained = () => decide(true);
      const closed = () => decide(false);
      const tooLong = setTimeout(closed, MAX_WAIT_MS);
      response.once('drain', drained).once('close', closed);
    });
  }

  /** Sends a comment, which keeps the connection alive. */
  comment(text: 'heartbeat' | 'listening'): boolean {
    return this.#push(`: ${text}\n\n`);
  }

  end(): void {
    if (this.#ended) return;
    this.#flush();
    this.#ended = true;
    // A slow client gets unread events again by id; do not keep them in memory.
    if (this.#response.writableLength > 0) this.#response.destroy();
    else this.#response.end();
  }

  #push(frame: string): boolean {
    if (this.#ended || this.#response.destroyed) return false;
    if (this.#response.writableLength + this.#waiting.length + frame.length > this.#maxBufferedBytes)
      return false;
    if (this.#waiting === '') process.nextTick(() => this.#flush());
    this.#waiting += frame;
    return true;
  }

  #flush(): void {
    if (this.#waiting === '' || this.#ended) return;
    const text = this.#waiting;
    this.#waiting = '';
    this.#response.write(text);
  }
}
