import type { Client } from '@countersign/client';
import { messageOf, type Route, routes } from '@countersign/protocol';
import type { FromPage, ToPage } from './messages.ts';

type FetchRequest = Extract<FromPage, { type: 'fetch' }>;

export interface FetchBridgeOptions {
  /** The client of the current account. */
  readonly client: () => Client | undefined;
  readonly post: (message: ToPage) => void;
  /** Returns a message for the page if the approval must be decided outside the page. */
  readonly decideOutside?: (approvalId: string) => string | undefined;
}

/** The headers that are passed on between the page and the server. */
const requestHeaders = ['accept', 'content-type', 'last-event-id'];
const responseHeaders = ['content-type', 'retry-after', 'x-request-id'];

/**
 * Sends the requests of the chat's page to the server and streams the responses back, because the page itself may not
 * connect anywhere. The token is added here and never reaches the page. Routes that a front end must not use (tokens,
 * runner reports) are refused.
 */
export class FetchBridge {
  readonly #options: FetchBridgeOptions;
  readonly #open = new Map<number, AbortController>();

  constructor(options: FetchBridgeOptions) {
    this.#options = options;
  }

  async send(request: FetchRequest): Promise<void> {
    const { post, client, decideOutside } = this.#options;
    const { id, method, path, headers, body } = request;
    const connection = client()?.connection;
    if (!connection || !isAllowed(method, path)) {
      const [status, code, error] = connection
        ? [403, 'FORBIDDEN', 'The chat may not ask for this.']
        : [401, 'UNAUTHENTICATED', 'Nobody is signed in.'];
      return this.#respond(id, status as number, { success: false, error, code });
    }
    const approvalId = approvalOf(method, path);
    const outside = approvalId === undefined ? undefined : decideOutside?.(approvalId);
    if (outside !== undefined)
      return this.#respond(id, 403, { success: false, error: outside, code: 'FORBIDDEN' });
    const abort = new AbortController();
    this.#open.set(id, abort);
    try {
      const token = await connection.token();
      const response = await (connection.fetch ?? fetch)(connection.baseUrl + path, {
        method,
        headers: { ...pick(headers, requestHeaders), authorization: `Bearer ${token}` },
        signal: abort.signal,
        cache: 'no-store',
        redirect: 'error',
        ...(body !== null && { body }),
      });
      const returned = pick(Object.fromEntries(response.headers), responseHeaders);
      post({ type: 'response', id, status: response.status, headers: returned });
      const text = new TextDecoder();
      for await (const bytes of response.body ?? [])
        post({ type: 'chunk', id, text: text.decode(bytes, { stream: true }) });
      post({ type: 'end', id });
    } catch (error) {
      post({ type: 'failed', id, problem: problemOf(error) }); // the page ignores it if it aborted the request itself
    } finally {
      this.#open.delete(id);
    }
  }

  abort(id: number): void {
    this.#open.get(id)?.abort();
  }

  /** Must be called when the page is closed or the account changes. */
  abortAll(): void {
    for (const abort of this.#open.values()) abort.abort();
  }

  #respond(id: number, status: number, body: object): void {
    const { post } = this.#options;
    post({ type: 'response', id, status, headers: { 'content-type': 'application/json' } });
    post({ type: 'chunk', id, text: JSON.stringify(body) });
    post({ type: 'end', id });
  }
}

/** Allows only routes for a front end's token, because the extension's own token could do more. */
function isAllowed(method: string, path: string): boolean {
  const url = URL.parse(path, 'http://server.invalid');
  if (url?.host !== 'server.invalid' || !path.startsWith('/my/') || url.searchParams.has('runner'))
    return false;
  if (url.pathname !== path.split('?')[0]) return false; // refuse dot segments
  // Literal segments win over parameters: `/my/tools/metrics` is not the route of a tool.
  const [route] = (Object.values(routes) as Route[])
    .filter((one) => one.method === method && patternOf(one).test(url.pathname))
    .sort((a, b) => a.path.split('{').length - b.path.split('{').length);
  return route !== undefined && route.scopes !== 'public' && route.scopes.includes('front_end');
}

/** The id of the approval that a request would approve. */
function approvalOf(method: string, path: string): string | undefined {
  const found = /^\/my\/(?:projects\/[^/]+\/)?approvals\/([^/]+)\/(?:approve|confirm)$/.exec(
    path.split('?')[0] ?? '',
  );
  return method === 'POST' && found?.[1] !== undefined ? decodeURIComponent(found[1]) : undefined;
}

const patternOf = ({ path }: Route): RegExp => new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`);

const pick = (headers: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => names.includes(name.toLowerCase())));

const problemOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return messageOf(cause);
};
