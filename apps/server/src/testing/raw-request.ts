import { connect } from 'node:net';

export interface RawRequest {
  readonly method: string;
  /** Sent as it is: nothing is normalised. */
  readonly path: string;
  /** A list is sent once for each entry. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Iterable<string>;
  /** The value of the Content-Length header; no such header if undefined. */
  readonly contentLength?: number;
  /** Sends the head in small pieces. */
  readonly drip?: { readonly bytes: number; readonly everyMs: number };
}

export interface RawAnswer {
  /** `close` if the connection ended without a response. */
  readonly status: number | 'close';
  readonly head: string;
  readonly text: string;
}

/** Sends one request over a plain socket, so that a test can send what no HTTP client would. */
export function sendRaw(address: string, request: RawRequest): Promise<RawAnswer> {
  const { hostname, port, host } = new URL(address);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let received = '';
    let timer: NodeJS.Timeout | undefined;
    const finish = () => {
      clearInterval(timer);
      socket.destroy();
      resolve(parseAnswer(received));
    };
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => {
      received += part;
      if (isComplete(received)) finish();
    });
    // Ignore errors of writing to a closed connection: only the response, or its absence, counts.
    socket.on('error', () => {}).on('close', finish);
    socket.on('connect', () => {
      const head = headOf(request, host);
      if (request.drip) {
        let sent = 0;
        const { bytes, everyMs } = request.drip;
        timer = setInterval(() => {
          socket.write(head.slice(sent, sent + bytes));
          sent += bytes;
        }, everyMs);
        return;
      }
      socket.write(head);
      void writeAll(socket, request.body ?? []);
    });
  });
}

function headOf({ method, path, headers, contentLength }: RawRequest, host: string): string {
  const lines = [`${method} ${path} HTTP/1.1`];
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  if (!names.has('host')) lines.push(`Host: ${host}`);
  if (contentLength !== undefined && !names.has('content-length'))
    lines.push(`Content-Length: ${contentLength}`);
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value].flat()) lines.push(`${name}: ${one}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Writes no faster than the server reads, so that a large body is never whole in memory. */
async function writeAll(socket: ReturnType<typeof connect>, parts: Iterable<string>): Promise<void> {
  for (const part of parts) {
    if (socket.destroyed || !socket.writable) return;
    if (!socket.write(part)) {
      await new Promise((resolve) => {
        socket.once('drain', resolve).once('close', resolve);
      });
    }
  }
}

/** Whether the headers, and as much of the body as Content-Length says, have arrived. */
function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /^content-length: (\d+)/im.exec(text.slice(0, end))?.[1];
  if (length !== undefined) return text.length >= end + 4 + Number(length);
  return text.endsWith('0\r\n\r\n') || /^HTTP\/1.1 204/.test(text);
}

function parseAnswer(text: string): RawAnswer {
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
  if (status === undefined) return { status: 'close', head: '', text: '' };
  const end = text.indexOf('\r\n\r\n');
  return {
    status: Number(status),
    head: text.slice(0, end),
    text: Buffer.from(text.slice(end + 4), 'latin1').toString(),
  };
}
