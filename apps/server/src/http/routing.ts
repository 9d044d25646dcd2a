import { notFound, Refusal, type Store } from '@countersign/engine';
import { describeError, describeIssues, type Route, type RouteName, routes } from '@countersign/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';
import { readStreamCookie } from '../auth/stream-cookie.ts';
import type { AddressLimiter } from '../auth/token-bucket.ts';
import type { ServerConfig } from '../config.ts';
import { requireNamed } from './own-rows.ts';
import { answer, RateLimited, sendAnswer } from './refusals.ts';
import { bearerToken, isJson } from './request-guard.ts';
import type { Handlers } from './route-types.ts';
import type { ServerParts } from './server-parts.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before the handler of every route that is not public. */
    caller: AuthenticatedCaller | undefined;
  }
  interface FastifyContextConfig {
    /** Of the protocol's table; undefined for the few others. */
    route?: RouteName;
  }
}

type AnyHandler = (input: {
  caller: unknown;
  params: unknown;
  query: unknown;
  body: unknown;
  request: FastifyRequest;
  reply: FastifyReply;
}) => Promise<unknown>;

const methods: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];
/** What tools cause and not people: these have a limit of their own. */
const runnerRoutes: ReadonlySet<RouteName> = new Set(['submitResult', 'submitProgress', 'startExecution']);

export interface Routing {
  readonly handlers: Handlers;
  readonly parts: ServerParts;
  readonly anonymous: AddressLimiter;
}

/** Every route of the protocol's table: who may call it, what it takes, who answers it. */
export function registerRoutes(app: FastifyInstance, routing: Routing): void {
  app.decorateRequest('caller', undefined);
  const allowed = new Map<string, HTTPMethods[]>();
  for (const name of Object.keys(routes) as RouteName[]) {
    const route: Route = routes[name];
    const url = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
    allowed.set(url, [...(allowed.get(url) ?? []), route.method]);
    app.route({
      method: route.method,
      url,
      bodyLimit: bodyLimitOf(name, routing.parts.config),
      config: { route: name },
      onRequest: admission(name, route, routing),
      handler: (request, reply) =>
        handle(route, routing.handlers[name] as unknown as AnyHandler, routing.parts.store, request, reply),
    });
  }
  for (const [url, taken] of allowed) {
    refuseOtherMethods(app, url, taken);
  }
}

/** Says which methods there are, for an address that has some. */
export function refuseOtherMethods(app: FastifyInstance, url: string, taken: readonly HTTPMethods[]): void {
  app.route({
    method: methods.filter((method) => !taken.includes(method)),
    url,
    handler: (request, reply) => {
      const { message } = describeError('METHOD_NOT_ALLOWED', { method: request.method });
      reply.header('allow', taken.join(', '));
      return sendAnswer(reply, answer('METHOD_NOT_ALLOWED', message));
    },
  });
}

/** Before the body is read: who calls, whether this token may, how often, and in which form. */
function admission(name: RouteName, route: Route, { parts, anonymous }: Routing) {
  const { authenticator, config } = parts;
  const takesCookie = route.response === 'stream';
  const isRunnerRoute = runnerRoutes.has(name);
  const ordinary = { perSecond: config.requestsPerSecond, burst: config.requestsPerSecond * 5 };
  const runner = { perSecond: config.runnerRequestsPerSecond, burst: config.runnerRequestsPerSecond * 5 };

  const admit = (request: FastifyRequest, caller: AuthenticatedCaller): void => {
    const now = performance.now();
    const seconds = isRunnerRoute
      ? caller.runnerRequests.take(runner, now)
      : caller.requests.take(ordinary, now);
    if (seconds > 0) throw new RateLimited(seconds);
    if (route.scopes !== 'public' && !route.scopes.includes(caller.scope)) {
      throw new Refusal('FORBIDDEN', { scope: route.scopes.join(' or ') });
    }
    checkBodyType(route, request);
    request.caller = caller;
  };

  /** A failed attempt counts against its address. */
  const refuse = (request: FastifyRequest, error: unknown): Error => {
    if (!(error instanceof Refusal) || error.code !== 'UNAUTHENTICATED') return error as Error;
    const seconds = anonymous.take(request.ip, performance.now());
    return seconds > 0 ? new RateLimited(seconds) : error;
  };

  /** Undefined: admitted. A token that is not known yet takes a moment. */
  const findRefusal = (request: FastifyRequest): Error | undefined | Promise<Error | undefined> => {
    try {
      if (route.scopes === 'public') {
        const seconds = anonymous.take(request.ip, performance.now());
        if (seconds > 0) return new RateLimited(seconds);
        checkBodyType(route, request);
        return undefined;
      }
      const { token, use } = tokenOf(request, takesCookie);
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

/** The bearer token; for reading a stream in a browser, the cookie will do (RE-5). */
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

/** A form of another page cannot send JSON. */
function checkBodyType(route: Route, { headers }: FastifyRequest): void {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if ((route.body !== undefined || hasBody) && route.method !== 'GET' && !isJson(headers['content-type'])) {
    throw new Refusal('UNSUPPORTED_MEDIA_TYPE');
  }
}

async function handle(
  route: Route,
  handler: AnyHandler,
  store: Store,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { caller } = request;
  const params = request.params as Record<string, string>;
  for (const name in params) {
    if (!isId(params[name] as string)) throw notFound(whatIs(name));
  }
  const query = route.query && parse(route.query, request.query, 'INVALID_QUERY');
  const body = route.body && parse(route.body, request.body ?? {}, 'INVALID_BODY');
  const refused = query instanceof Refusal ? query : body instanceof Refusal ? body : undefined;
  if (refused) {
    // What is not there is not found, whatever was sent to it.
    if (caller) await requireNamed(store, caller, params);
    throw refused;
  }
  return handler({ caller, params, query, body, request, reply });
}

const isId = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(text);
const whatIs = (param: string): string => param.replace(/_id$/, '').replace('tool', 'tool call');

function parse(
  schema: NonNullable<Route['body']>,
  value: unknown,
  code: 'INVALID_BODY' | 'INVALID_QUERY',
): unknown {
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed.data : new Refusal(code, { problem: describeIssues(parsed.error) });
}

function bodyLimitOf(name: RouteName, config: ServerConfig): number {
  switch (name) {
    case 'executeTool':
    case 'approve':
    case 'confirm':
      return config.callBodyBytes;
    case 'submitResult':
    case 'submitProgress':
    case 'submitPreview':
    case 'sendMessage':
      return config.resultBodyBytes;
    default:
      return config.bodyBytes;
  }
}
