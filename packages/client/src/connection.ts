import { ApiError, describeFailure } from './api-error.ts';

/** Where the server is and who we are there. */
export interface Connection {
  /** With a path where the server lives below one; '' is the page's own origin, in a browser. */
  readonly baseUrl: string;
  /** Asked before each request; after a 401 with the token that was refused, to get a newer one. */
  readonly token: (refused?: string) => string | Promise<string>;
  /** Another `fetch` than the global one: an editor's, with its proxy settings. */
  readonly fetch?: typeof fetch | undefined;
  /** Where the person is, in their words ("phone"). `decide` sends it along. */
  readonly device?: string | undefined;
}

export interface HttpRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

/** Sends without a token: the sign-in has none yet. Throws an ApiError with status 0 when no answer comes. */
export async function send(connection: Connection, request: HttpRequest): Promise<Response> {
  const { method, path, headers, body, signal } = request;
  const ask = connection.fetch ?? fetch;
  try {
    return await ask(connection.baseUrl.replace(/\/+$/, '') + path, {
      method,
      headers,
      signal,
      cache: 'no-store',
      redirect: 'error', // ours never does; a POST that a proxy turns into a GET must not look like an answer
      ...(body === undefined ? {} : { body }),
    });
  } catch (cause) {
    throw noAnswer(cause, signal);
  }
}

/** Sends with the token. When it is refused and there is a newer one, sends once more. */
export async function sendAuthorised(connection: Connection, request: HttpRequest): Promise<Response> {
  const token = await askForToken(connection, request.signal);
  const response = await send(connection, withToken(request, token));
  if (response.status !== 401) return response;

  const newer = await askForToken(connection, request.signal, token);
  if (newer === token) return response;
  await response.body?.cancel();
  return send(connection, withToken(request, newer));
}

/** What to throw when the connection failed: the caller's own reason if they aborted, else that it did. */
export function noAnswer(cause: unknown, signal: AbortSignal): unknown {
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

/** Whoever makes tokens knows no signal, and may wait for a person; the call must end in time all the same. */
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
