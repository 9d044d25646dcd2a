import { notFound, Refusal, type Store } from '@countersign/engine';
import { describeError, describeIssues, type Route, type RouteName, routes } from '@countersign/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { type AdmissionDeps, admission, largeKeyOf, limitUndeclaredBody } from './admission.ts';
import { type LargeResponses, yieldToEventLoop } from './large-responses.ts';
import { requireNamed } from './own-rows.ts';
import { answer, sendAnswer } from './refusals.ts';
import type { Handlers } from './route-types.ts';
import type { ServerParts } from './server-parts.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route's name in the protocol's table; undefined for routes outside of it. */
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
/** Parsing a body of this size blocks the event loop for a while. */
const LARGE_BYTES = 1024 * 1024;

/** The setting for each body size of the protocol's table. */
const bodyLimits = { ordinary: 'bodyBytes', result: 'resultBodyBytes', call: 'callBodyBytes' } as const;

export interface Routing extends AdmissionDeps {
  readonly largeResponses: LargeResponses;
  readonly handlers: Handlers;
  readonly parts: ServerParts;
}

/** Registers every route of the protocol's table with its admission, parsing and handler. */
export function registerRoutes(app: FastifyInstance, routing: Routing): void {
  app.decorateRequest('caller', undefined);
  const { config } = routing.parts;
  const allowed = new Map<string, HTTPMethods[]>();
  for (const name of Object.keys(routes) as RouteName[]) {
    const route: Route = routes[name];
    const takesFile = route.bodySize === 'call';
    const url = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
    allowed.set(url, [...(allowed.get(url) ?? []), route.method]);
    app.route({
      method: route.method,
      url,
      bodyLimit: config[bodyLimits[route.bodySize ?? 'ordinary']],
      config: { route: name },
      onRequest: admission(route, routing),
      ...(takesFile && { preParsing: limitUndeclaredBody(routing.largeBodies, config.callBodyBytes) }),
      handler: async (request, reply) => {
        const handler = routing.handlers[name] as unknown as AnyHandler;
        if (takesFile && isLarge(request)) await yieldToEventLoop(); // parsing took a while
        const make = () => handle(route, handler, routing.parts.store, request, reply);
        if (route.status !== undefined) reply.code(route.status);
        if (!route.sendsFiles || !request.caller) return make();
        const bytes = await routing.largeResponses.write(largeKeyOf(request.caller), reply.raw, make);
        return reply.type('application/json; charset=utf-8').send(bytes);
      },
    });
  }
  for (const [url, taken] of allowed) refuseOtherMethods(app, url, taken);
}

/** Refuses other methods of a known address with 405 and the list of allowed methods. */
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
    // NOT_FOUND takes precedence over an invalid body.
    if (caller) await requireNamed(store, caller, params);
    throw refused;
  }
  return handler({ caller, params, query, body, request, reply });
}

/** Also true if the size is not declared. */
const isLarge = ({ headers }: FastifyRequest): boolean => !(Number(headers['content-length']) < LARGE_BYTES);

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
