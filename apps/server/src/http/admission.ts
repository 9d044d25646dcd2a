import { Transform } from 'node:stream';
import { Refusal } from '@countersign/engine';
import type { Route } from '@countersign/protocol';
import type { FastifyReply, FastifyRequest, RequestPayload } from 'fastify';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';
import type { RateLimiter } from '../auth/token-bucket.ts';
import { Overloaded, RateLimited } from './refusals.ts';
import {
  addressBlock,
  bearerToken,
  isFromProgram,
  isJson,
  isUndeclared,
  readStreamCookie,
} from './request-guard.ts';
import type { ServerParts } from './server-parts.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before the handler of every route that is not public. */
    caller: AuthenticatedCaller | undefined;
  }
}

/** The columns of the protocol's route table that admission uses. */
type AdmissionRoute = Pick<Route, 'scopes' | 'rate' | 'body' | 'bodySize'> & Partial<Pick<Route, 'response'>>;

export interface AdmissionDeps {
  readonly parts: Pick<ServerParts, 'authenticator' | 'config'>;
  readonly anonymous: RateLimiter;
  /** Limits the bytes of large bodies, by person and scope. */
  readonly largeBodies: RateLimiter;
}

/** Smaller bodies are not limited by bytes. */
const SMALL_BODY_BYTES = 64 * 1024;

/** Checks a request before its body is read: the token, its scope, the rate limits and the body's type. */
export function admission(
  { scopes, rate, body, bodySize, response }: AdmissionRoute,
  { parts, anonymous, largeBodies }: AdmissionDeps,
) {
  const { authenticator, config } = parts;

  const admit = (request: FastifyRequest, caller: AuthenticatedCaller): void => {
    const now = performance.now();
    const seconds = (rate === 'runner' ? caller.runnerRequests : caller.requests).take(now);
    if (seconds > 0) throw new RateLimited(seconds);
    if (scopes !== 'public' && !scopes.includes(caller.scope)) {
      throw new Refusal('FORBIDDEN', { scope: scopes.join(' or ') });
    }
    checkBodyType(body !== undefined, request, { isFromProgram: isFromProgram(request) });
    const bytes = bodySize === 'call' ? bodyBytes(request, config.callBodyBytes) : 0;
    const largeBodySeconds = bytes > SMALL_BODY_BYTES ? largeBodies.take(largeKeyOf(caller), now, bytes) : 0;
    if (largeBodySeconds > 0) throw new RateLimited(largeBodySeconds);
    request.caller = caller;
  };

  /** A failed sign-in counts against the address. */
  const refuse = (request: FastifyRequest, error: unknown): Error => {
    if (!(error instanceof Refusal) || error.code !== 'UNAUTHENTICATED') return error as Error;
    const seconds = anonymous.take(addressBlock(request.ip), performance.now());
    return seconds > 0 ? new RateLimited(seconds) : error;
  };

  /** Returns undefined if the request is admitted, or a promise while an unknown token is verified. */
  const findRefusal = (request: FastifyRequest): Error | undefined | Promise<Error | undefined> => {
    try {
      if (scopes === 'public') {
        const seconds = anonymous.take(addressBlock(request.ip), performance.now());
        if (seconds > 0) return new RateLimited(seconds);
        checkBodyType(body !== undefined, request, { isFromProgram: false });
        return undefined;
      }
      const { token, use } = tokenOf(request, response === 'stream');
      const caller = authenticator.authenticate(token, use);
      if (caller instanceof Promise) {
        return caller
          .then((known) => admit(request, known))
          .then(
            () => undefined,
            (error: unknown) => refuse(request, error),
          );
      }
      admit(request, caller);
      return undefined;
    } catch (error) {
      return refuse(request, error);
    }
  };

  return (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void => {
    const refusal = findRefusal(request);
    if (refusal instanceof Promise) refusal.then(done);
    else done(refusal);
  };
}

/** The bearer token or, for streams in a browser, the cookie (RE-5). */
function tokenOf(request: FastifyRequest, takesCookie: boolean): { token: string; use: 'bearer' | 'stream' } {
  const { authorization, cookie } = request.headers;
  const bearer = bearerToken(authorization);
  if (bearer !== undefined) return { token: bearer, use: 'bearer' };
  const fromCookie = takesCookie && authorization === undefined ? readStreamCookie(cookie) : undefined;
  const site = request.headers['sec-fetch-site'];
  if (fromCookie === undefined)
    throw new Refusal('UNAUTHENTICATED', { problem: 'the Authorization header has none' });
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new Refusal('ORIGIN_REFUSED');
  return { token: fromCookie, use: 'stream' };
}

/** The key for limits on large bodies and answers. It has the scope, so that an agent cannot use up its person's limit. */
export const largeKeyOf = ({ userId, scope }: Pick<AuthenticatedCaller, 'userId' | 'scope'>): string =>
  `${scope} ${userId}`;

/** The declared size of the body. `limitUndeclaredBody` counts a body of undeclared size while it arrives. */
const bodyBytes = ({ headers }: FastifyRequest, most: number): number =>
  Math.min(Number(headers['content-length'] ?? 0), most);

/** Counts a large body of undeclared size as `most`, and refuses it halfway if that exceeds the rate limit. */
export const limitUndeclaredBody =
  (largeBodies: RateLimiter, most: number) =>
  (
    { headers, caller }: FastifyRequest,
    _reply: FastifyReply,
    payload: RequestPayload,
    done: (error: Error | null, payload: RequestPayload) => void,
  ): void => {
    if (headers['content-length'] !== undefined || !caller) {
      done(null, payload);
      return;
    }
    let bytes = 0;
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, next) {
        const wasSmall = bytes <= SMALL_BODY_BYTES;
        bytes += chunk.length;
        const isLargeNow = wasSmall && bytes > SMALL_BODY_BYTES;
        const seconds = isLargeNow ? largeBodies.take(largeKeyOf(caller), performance.now(), most) : 0;
        next(seconds > 0 ? new RateLimited(seconds) : null, chunk);
      },
    });
    payload.once('error', (error) => counted.destroy(error));
    done(null, payload.pipe(counted));
  };

/**
 * A browser must declare its body as JSON, because a form of another page cannot do that (RE-5). A program with a bearer
 * token may leave the type out, as the founding documents' sample client does: `fetch` then declares text/plain.
 */
function checkBodyType(
  takesBody: boolean,
  { method, headers }: FastifyRequest,
  { isFromProgram }: { isFromProgram: boolean },
): void {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  const type = headers['content-type'];
  if ((!takesBody && !hasBody) || method === 'GET' || isJson(type)) return;
  if (!isFromProgram || !isUndeclared(type)) throw new Refusal('UNSUPPORTED_MEDIA_TYPE');
  headers['content-type'] = 'application/json'; // so that Fastify parses the body
}

/**
 * Refuses new work (a call, a message) while too many units wait to be written. Requests that decide or end work are
 * always accepted.
 */
export function refuseWhenOverloaded({ store, config }: Pick<ServerParts, 'store' | 'config'>): void {
  if (store.backlog >= config.maxBacklog) throw new Overloaded();
}

/** Refuses another stream or held request if there are too many, in all or of this person. */
export function requireRoomForStream(
  { openStreams, config }: Pick<ServerParts, 'openStreams' | 'config'>,
  { userId }: Pick<AuthenticatedCaller, 'userId'>,
): void {
  const isFull = openStreams.size >= config.maxStreams;
  if (isFull) throw new Refusal('UNAVAILABLE', { problem: 'too many streams are open' });
  let own = 0;
  for (const { caller } of openStreams) if (caller.userId === userId) own += 1;
  if (own >= config.maxStreamsOfPerson)
    throw new Refusal('UNAVAILABLE', { problem: 'you have too many streams open' });
}
