import { Agent, get, type OutgoingHttpHeaders, request } from 'node:http';

/** A client with no more than a call needs: JSON there, JSON back, on connections that stay open. */
export class HttpClient {
  readonly #origin: string;
  readonly #headers: OutgoingHttpHeaders;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  constructor(origin: string, token?: string) {
    this.#origin = origin;
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  post(path: string, body: unknown): Promise<unknown> {
    const text = JSON.stringify(body);
    const headers = {
      ...this.#headers,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    };
    return new Promise((resolve, reject) => {
      const options = { method: 'POST', agent: this.#agent, headers };
      request(`${this.#origin}${path}`, options, (response) => {
        let answer = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          answer += chunk;
        });
        response.on('end', () => {
          if (response.statusCode === 200) resolve(JSON.parse(answer));
          else reject(new Error(`POST ${path}: ${response.statusCode} ${answer}`));
        });
      })
        .on('error', reject)
        .end(text);
    });
  }

  /** Listens to Server-Sent Events; resolves when the stream is open, with what closes it. */
  listen(path: string, onEvent: (event: string, data: unknown) => void): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const options = { headers: { ...this.#headers, accept: 'text/event-stream' } };
      const asked = get(`${this.#origin}${path}`, options, (response) => {
        if (response.statusCode !== 200) return reject(new Error(`GET ${path}: ${response.statusCode}`));
        let rest = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          const frames = (rest + chunk).split('\n\n');
          rest = frames.pop() ?? '';
          for (const frame of frames) tell(frame, onEvent);
        });
        response.on('error', () => {}); // we closed it
        response.once('data', () => resolve(() => asked.destroy()));
      });
      asked.on('error', reject);
    });
  }
}

function tell(frame: string, onEvent: (event: string, data: unknown) => void): void {
  const event = /^event: (.+)$/m.exec(frame)?.[1];
  const data = /^data: (.+)$/m.exec(frame)?.[1];
  if (event !== undefined && data !== undefined) onEvent(event, JSON.parse(data));
}
