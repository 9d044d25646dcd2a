import type { FromPage, ToPage } from '../chat/messages.ts';

interface Waiting {
  readonly resolve: (response: Response) => void;
  readonly reject: (reason: unknown) => void;
  body: ReadableStreamDefaultController<Uint8Array> | undefined;
}

/** A `fetch` that goes through the extension, because the page itself may not connect anywhere. */
export class BridgedFetch {
  readonly #post: (message: FromPage) => void;
  readonly #waiting = new Map<number, Waiting>();
  readonly #encoder = new TextEncoder();
  #ids = 0;

  constructor(post: (message: FromPage) => void) {
    this.#post = post;
  }

  readonly fetch: typeof fetch = (input, init = {}) =>
    new Promise<Response>((resolve, reject) => {
      const { signal } = init;
      if (signal?.aborted) return reject(signal.reason);
      this.#ids += 1;
      const id = this.#ids;
      this.#waiting.set(id, { resolve, reject, body: undefined });
      signal?.addEventListener('abort', () => this.#abort(id, signal.reason), { once: true });
      this.#post({
        type: 'fetch',
        id,
        method: init.method ?? 'GET',
        path: String(input),
        headers: Object.fromEntries(new Headers(init.headers)),
        body: typeof init.body === 'string' ? init.body : null,
      });
    });

  /** Handles the extension's messages about a request of this page. */
  receive(message: ToPage): void {
    if (!('id' in message) || message.type === 'TOOL_RESULT' || message.type === 'mentions') return;
    const waiting = this.#waiting.get(message.id);
    if (!waiting) return;
    if (message.type === 'response') waiting.resolve(this.#responseOf(message, waiting));
    else if (message.type === 'chunk') waiting.body?.enqueue(this.#encoder.encode(message.text));
    else {
      this.#waiting.delete(message.id);
      if (message.type === 'end') waiting.body?.close();
      else if (message.type === 'failed') {
        const problem = new TypeError(message.problem);
        waiting.body?.error(problem);
        waiting.reject(problem);
      }
    }
  }

  #responseOf({ id, status, headers }: Extract<ToPage, { type: 'response' }>, waiting: Waiting): Response {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        waiting.body = controller;
      },
      cancel: () => {
        this.#waiting.delete(id);
        this.#post({ type: 'abort', id });
      },
    });
    return new Response(status === 204 ? null : body, { status, headers });
  }

  #abort(id: number, reason: unknown): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    this.#post({ type: 'abort', id });
    waiting.body?.error(reason);
    waiting.reject(reason);
  }
}
