import { type RouteName, routes } from '@countersign/protocol';
import { ApiError } from './api-error.ts';
import { type AnswerRoute, type AnyInput, call } from './call.ts';
import { type Clock, systemClock } from './clock.ts';
import type { Connection } from './connection.ts';
import { Deadline } from './deadline.ts';
import { type Retries, readAgain, withRetries } from './retries.ts';
import {
  type CallInput,
  type CallName,
  type CallResponse,
  type RepeatableName,
  repeatablePosts,
} from './route-types.ts';

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

/** A client for one person on one server. Keeps no connection or timer open between calls. */
export function createClient(options: ClientOptions): Client {
  const { baseUrl, token, fetch, device, timeoutMs = defaultTimeoutMs } = options;
  const { clock = systemClock, random = Math.random } = options;
  const connection: Connection = { baseUrl, token, fetch, device };

  const methodFor = (name: RouteName, route: AnswerRoute) => {
    return (input: AnyInput = {}, options: CallOptions & { retry?: Retries } = {}) => {
      const { signal } = options;
      const once = async () => {
        const ms = options.timeoutMs ?? timeoutMs;
        const deadline = new Deadline(clock, ms, () => tooSlow(ms), signal);
        return call(connection, route, input, deadline.signal).finally(() => deadline.release());
      };
      const unlessTold = route.method === 'GET' ? readAgain : { times: 0 };
      const retry = isRepeatable(name, route) ? (options.retry ?? unlessTold) : { times: 0 };
      return withRetries(once, retry, { clock, random, signal });
    };
  };

  const methods = (Object.entries(routes) as [RouteName, AnswerRoute | { response: 'stream' }][]).flatMap(
    ([name, route]) => (route.response === 'stream' ? [] : [[name, methodFor(name, route as AnswerRoute)]]),
  );
  return { ...Object.fromEntries(methods), connection } as Client;
}

function isRepeatable(name: RouteName, route: AnswerRoute): boolean {
  return route.method !== 'POST' || (repeatablePosts as readonly RouteName[]).includes(name);
}

function tooSlow(timeoutMs: number): ApiError {
  const message = `The server did not answer within ${timeoutMs / 1000} s. Try again in a moment.`;
  return new ApiError(0, 'REQUEST_TIMEOUT', message);
}
