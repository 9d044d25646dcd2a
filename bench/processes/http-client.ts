import { Agent, get, type OutgoingHttpHeaders, request } from 'node:http';

/** A minimal client: JSON requests and responses on connections that stay open. */
export class HttpClient {
  readonly #origin: string;
  readonly #headers: OutgoingHttpHeaders;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  constructor(origin: string, token?: string) {
    this.#origin = origin;
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  async post(path: string, body: unknown): Promise<unknown> {
    const { status, text } = await this.ask(path, body);
    if (status !== 200) throw new Error(`POST ${path}: ${status} ${text}`);
    return JSON.parse(text);
  }

  /** Resolves with any response. */
  ask(
    path: string,
    body: unknown,
  ): Promise<{ status: number; text: string; retryAfter: string | undefined }> {
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
          const { statusCode: status = 0, headers } = response;
          resolve({ status, text: answer, retryAfter: headers['retry-after'] });
        });
      })
        .on('error', reject)
        .end(text);
    });
  }

  /** The status of a call. */
  async statusOf(toolId: string): Promise<string> {
    const answered = await fetch(`${this.#origin}/my/tools/${toolId}`, { headers: this.#headers as never });
    const { execution } = (await answered.json()) as { execution: { status: string } };
    return execution.status;
  }

  /** Listens to Server-Sent Events; resolves when the stream is open, with a function that closes it. */
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
          for (const frame of frames) {
            // The first comment or event means that the server is subscribed: nothing written after it is missed.
            if (/^(:|event:)/m.test(frame)) resolve(() => asked.destroy());
            tell(frame, onEvent);
          }
        });
        response.on('error', () => {}); // we closed it
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
