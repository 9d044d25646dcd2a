import {
  catalogue,
  errorBodySchema,
  errorCodes,
  eventNames,
  eventSchemas,
  parametersJsonSchema,
  type Route,
  type RouteName,
  resultSchemaOf,
  routes,
} from '@countersign/protocol';
import { z } from 'zod';

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document, made from the routes, the events and the catalogue of tools (RE-4). */
export function openApiDocument(): Json {
  const schemas: Record<string, Json> = { Error: schemaOf(errorBodySchema, 'output') };
  for (const name of eventNames) schemas[`event.${name}`] = schemaOf(eventSchemas[name], 'output');
  for (const tool of catalogue) {
    const { name } = tool;
    schemas[`tool.${name}.parameters`] = parametersJsonSchema(tool);
    schemas[`tool.${name}.result`] = schemaOf(resultSchemaOf(tool), 'output');
  }
  const paths: Record<string, Json> = {};
  for (const name of Object.keys(routes) as RouteName[]) {
    const route: Route = routes[name];
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operationOf(name, route, schemas),
    };
  }
  for (const [path, summary] of Object.entries(operatorPaths))
    paths[path] = { get: operatorOperation(path, summary) };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Countersign',
      version: '1',
      description:
        'An AI agent on a server uses tools on your own machine, and you countersign what it does.',
    },
    paths,
    components: {
      schemas,
      responses: {
        Error: { description: 'What happened and what to do next.', content: json(refTo('Error')) },
      },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'Claims: sub (the user), scope (person, front_end, runner or agent; person when left out), jti.',
        },
        streamCookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'countersign_stream',
          description: 'Set by POST /sign-in; reads event streams and nothing else.',
        },
      },
    },
  };
}

const operatorPaths = {
  '/healthz': 'Whether the process is alive.',
  '/readyz': 'Whether it can serve.',
  '/metrics': 'Counts and times for Prometheus.',
  '/openapi.json': 'This document.',
};

function operatorOperation(path: string, summary: string): Json {
  const content =
    path === '/metrics' ? { 'text/plain': { schema: { type: 'string' } } } : json({ type: 'object' });
  return {
    operationId: path.slice(1).replace('.json', ''),
    summary,
    security: path === '/metrics' ? [{ bearer: [] }, {}] : [],
    responses: { '200': { description: 'OK', content }, default: { $ref: '#/components/responses/Error' } },
  };
}

function operationOf(name: RouteName, route: Route, schemas: Record<string, Json>): Json {
  const title = name.charAt(0).toUpperCase() + name.slice(1);
  if (route.body) schemas[`${title}Body`] = schemaOf(route.body, 'input');
  if (route.response !== 'stream') schemas[`${title}Response`] = schemaOf(route.response, 'output');
  const isPublic = route.scopes === 'public';
  return {
    operationId: name,
    summary: route.summary,
    ...(!isPublic && {
      description: `Tokens of the scopes: ${(route.scopes as readonly string[]).join(', ')}.`,
    }),
    security: isPublic
      ? []
      : route.response === 'stream'
        ? [{ bearer: [] }, { streamCookie: [] }]
        : [{ bearer: [] }],
    parameters: [...pathParameters(route.path), ...queryParameters(route), ...streamParameters(route)],
    ...(route.body && { requestBody: { required: true, content: json(refTo(`${title}Body`)) } }),
    responses: {
      [route.status ?? 200]: {
        description:
          route.response === 'stream' ? 'Server-Sent Events; each is one of the event.* schemas.' : 'OK',
        content:
          route.response === 'stream'
            ? {
                'text/event-stream': {
                  schema: { anyOf: eventNames.map((event) => refTo(`event.${event}`)) },
                },
              }
            : json(refTo(`${title}Response`)),
      },
      ...errorResponses(route),
      default: { $ref: '#/components/responses/Error' },
    },
  };
}

/** The error statuses that this route can return. */
function errorResponses(route: Route): Json {
  const statuses = [...new Set(Object.values(errorCodes).map(({ status }) => status))].sort();
  const applies = (status: number): boolean => {
    if (status === 403) return route.scopes !== 'public';
    if (status === 413 || status === 415) return route.body !== undefined;
    return true;
  };
  return Object.fromEntries(
    statuses.filter(applies).map((status) => [String(status), { $ref: '#/components/responses/Error' }]),
  );
}

const pathParameters = (path: string): Json[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
  }));

function queryParameters({ query }: Route): Json[] {
  if (!query) return [];
  const { properties = {}, required = [] } = schemaOf(query, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

const streamParameters = ({ response }: Route): Json[] =>
  response === 'stream'
    ? [
        {
          name: 'Last-Event-ID',
          in: 'header',
          required: false,
          description: 'Where the client left off; it misses nothing and gets nothing twice.',
          schema: { type: 'string' },
        },
      ]
    : [];

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}

const json = (schema: Json): Json => ({ 'application/json': { schema } });
const refTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
