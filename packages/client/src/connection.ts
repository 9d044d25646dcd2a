import { ApiError, describeFailure } from './api-error.ts';

/** The server's address and the credentials for it. */
export interface Connection {
  /** May have a path, such as `https://host/countersign`. In a browser, '' means the page's own origin. */
  readonly baseUrl: string;
  /** Called before each request. After a 401 it gets the refused token and should return a newer one. */
  readonly token: (refused?: string) => string | Promise<string>;
  /** Replaces the global `fetch`, for example by an editor's, which knows the proxy settings. */
  readonly fetch?: typeof fetch | undefined;
  /** The person's name for this device ("phone"); `decide` sends it. */
  readonly device?: string | undefined;
  /** Called after each request that succeeded. The streams of a client use it. */
  readonly onSuccess?: Set<() => void>;
}

export interface HttpRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

/** Sends without a token, for signing in. Throws an ApiError with status 0 if there is no response. */
export async function send(connection: Connection, request: HttpRequest): Promise<Response> {
  const { method, path, headers, body, signal } = request;
  const fetchNow = connection.fetch ?? fetch;
  let response: Response;
  try {
    response = await fetchNow(connection.baseUrl.replace(/\/+$/, '') + path, {
      method,
      headers,
      signal,
      cache: 'no-store',
      redirect: 'error', // our server never redirects; a proxy's redirect must not turn a POST into a GET
      ...(body === undefined ? {} : { body }),
    });
  } catch (cause) {
    throw connectionFailure(cause, signal);
  }
  if (response.ok) for (const listener of connection.onSuccess ?? []) listener();
  return response;
}

/** Sends with the token. If it is refused and a newer one exists, sends once more. */
export async function sendAuthorised(connection: Connection, request: HttpRequest): Promise<Response> {
  const token = await askForToken(connection, request.signal);
  const response = await send(connection, withToken(request, token));
  if (response.status !== 401) return response;

  const newer = await askForToken(connection, request.signal, token);
  if (newer === token) return response;
  await response.body?.cancel();
  return send(connection, withToken(request, newer));
}

/** What to throw after a failed connection: the abort reason if the caller aborted, else an ApiError. */
export function connectionFailure(cause: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const message = `The server did not answer: ${describeFailure(cause)}. Try again in a moment.`;
  return new ApiError(0, 'UNAVAILABLE', message, { cause });
}

async function askForToken(connection: Connection, signal: AbortSignal, refused?: string): Promise<string> {
  try {
    return await orAborted(Promise.resolve(connection.token(refused)), signal);
  } catch (cause) {
    signal.throwIfAborted();
    const message = `There is no token to sign in with: ${describeFailure(cause)}. Sign in again.`;
    throw new ApiError(0, 'UNAUTHENTICATED', message, { cause });
  }
}

/** A token source takes no signal and may wait for a person, but the call must still end in time. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function withToken(request: HttpRequest, token: string): HttpRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}

/** Fills each `{name}` of a route's path, encoded, and adds the query; undefined values are left out. */
export function requestPath(
  path: string,
  params: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, unknown>> = {},
): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeParam(name, params[name] ?? ''));
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  if (given.length === 0) return filled;
  return `${filled}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

function encodeParam(name: string, value: string): string {
  // URL parsers resolve dots even when encoded, and '' would match another route. No valid id looks like these, so
  // throw the error of an unknown id.
  if (['', '.', '..'].includes(value)) {
    throw new ApiError(404, 'NOT_FOUND', `There is nothing with the ${name} "${value}". Give a whole id.`);
  }
  return encodeURIComponent(value);
}
