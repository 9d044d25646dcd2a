import { describeIssues, type Route, type RouteName, routes } from '@countersign/protocol';
import type { z } from 'zod';
import { ApiError, readError } from './api-error.ts';
import { type Clock, Deadline, systemClock } from './clock.ts';
import { type Connection, connectionFailure, requestPath, send, sendAuthorised } from './connection.ts';
import { defaultGetRetries, type Retries, withRetries } from './retries.ts';
import type { CallInput, CallName, CallResponse, RepeatableName } from './route-types.ts';

export interface ClientOptions extends Connection {
  /** Per request; 30 s by default. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  /** 0…1, for jitter. */
  readonly random?: () => number;
}

export interface CallOptions {
  /** Aborting ends the call with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Timeout of a single attempt. */
  readonly timeoutMs?: number | undefined;
}

type OptionsOf<Name extends CallName> = Name extends RepeatableName
  ? CallOptions & { readonly retry?: Retries }
  : CallOptions;

type Call<Name extends CallName> = (
  ...args: Partial<CallInput<Name>> extends CallInput<Name>
    ? [input?: CallInput<Name>, options?: OptionsOf<Name>]
    : [input: CallInput<Name>, options?: OptionsOf<Name>]
) => Promise<CallResponse<Name>>;

/** One method per route of the protocol's table, except for the event stream. */
export type Client = { readonly [Name in CallName]: Call<Name> } & { readonly connection: Connection };

const defaultTimeoutMs = 30_000;

/** Makes a client for one person on one server. It keeps no connection or timer open between calls. */
export function createClient(options: ClientOptions): Client {
  const { baseUrl, token, fetch, device, timeoutMs = defaultTimeoutMs } = options;
  const { clock = systemClock, random = Math.random } = options;
  const connection: Connection = { baseUrl, token, fetch, device, onSuccess: new Set() };

  const methodFor = (route: AnswerRoute) => {
    return (input: AnyInput = {}, options: CallOptions & { retry?: Retries } = {}) => {
      const { signal } = options;
      const once = async () => {
        const ms = options.timeoutMs ?? timeoutMs;
        const deadline = new Deadline(clock, ms, () => timeoutError(ms), signal);
        return call(connection, route, input, deadline.signal).finally(() => deadline.release());
      };
      const mayRepeat = route.method !== 'POST' || route.repeatable === true;
      const defaultRetries = route.method === 'GET' ? defaultGetRetries : { times: 0 };
      const retry = mayRepeat ? (options.retry ?? defaultRetries) : { times: 0 };
      return withRetries(once, retry, { clock, random, signal });
    };
  };

  const methods = (Object.entries(routes) as [RouteName, AnswerRoute | { response: 'stream' }][]).flatMap(
    ([name, route]) => (route.response === 'stream' ? [] : [[name, methodFor(route as AnswerRoute)]]),
  );
  return { ...Object.fromEntries(methods), connection } as Client;
}

function timeoutError(timeoutMs: number): ApiError {
  const message = `The server did not answer within ${timeoutMs / 1000} s. Try again in a moment.`;
  return new ApiError(0, 'REQUEST_TIMEOUT', message);
}

/** A route with a single response, unlike a stream. */
type AnswerRoute = Route & { readonly response: z.ZodType };

interface AnyInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** Sends one request and parses its response. Throws an ApiError, or the signal's reason if the caller aborted. */
async function call(
  connection: Connection,
  route: AnswerRoute,
  input: AnyInput,
  signal: AbortSignal,
): Promise<unknown> {
  const takesBody = route.body !== undefined;
  const request = {
    method: route.method,
    path: requestPath(route.path, input.params, input.query),
    headers: takesBody ? { ...accept, 'content-type': 'application/json' } : accept,
    body: takesBody ? JSON.stringify(input.body ?? {}) : undefined,
    signal,
  };
  const response = await (route.scopes === 'public' ? send : sendAuthorised)(connection, request);
  return readAnswer(route, response, signal);
}

const accept = { accept: 'application/json' };

async function readAnswer(route: AnswerRoute, response: Response, signal: AbortSignal): Promise<unknown> {
  if (!response.ok) {
    const error = await readError(response);
    signal.throwIfAborted(); // the body of an aborted response does not parse, which would give a wrong error
    throw error;
  }
  const text = await response.text().catch((cause: unknown) => {
    throw connectionFailure(cause, signal);
  });
  const parsed = parseAnswer(route, text);
  if (parsed.ok) return parsed.answer;

  const what = `The server's answer to ${route.method} ${route.path} is not as agreed: ${parsed.problem}.`;
  throw new ApiError(response.status, 'INTERNAL', `${what} Client and server may differ in version.`);
}

function parseAnswer(
  route: AnswerRoute,
  text: string,
): { ok: true; answer: unknown } | { ok: false; problem: string } {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return { ok: false, problem: 'it is not JSON' };
  }
  const parsed = route.response.safeParse(answer);
  return parsed.success
    ? { ok: true, answer: parsed.data }
    : { ok: false, problem: describeIssues(parsed.error) };
}
