import { catalogue, eventNames, type Route, type RouteName, routes } from '@countersign/protocol';
import { expect, it } from 'vitest';
import { openApiDocument } from './open-api.ts';

interface Operation {
  operationId: string;
  security: object[];
  parameters: { name: string; in: string; required: boolean }[];
  requestBody?: { content: { 'application/json': { schema: { $ref: string } } } };
  responses: Record<string, { content?: Record<string, { schema: object }>; $ref?: string }>;
}
const document = openApiDocument() as {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
};
const operationOf = ({ path, method }: Route): Operation =>
  document.paths[path]?.[method.toLowerCase()] as Operation;

it.each(Object.keys(routes) as RouteName[])('[RE-4] describes %s', (name) => {
  const route: Route = routes[name];
  const operation = operationOf(route);
  expect(operation.operationId).toBe(name);
  expect(operation.requestBody !== undefined).toBe(route.body !== undefined);
  expect(operation.security.length > 0).toBe(route.scopes !== 'public');
  const named = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, param]) => param);
  expect(operation.parameters.filter((one) => one.in === 'path').map((one) => one.name)).toEqual(named);
  expect(operation.responses[String(route.status ?? 200)]?.content).toBeDefined();
  const usual = ['400', '404', '409', '429', '500', ...(route.scopes === 'public' ? [] : ['401', '403'])];
  expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(usual));
});

it('[RE-4] refers to nothing that is not there', () => {
  const text = JSON.stringify(document);
  for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    expect(Object.keys(document.components.schemas)).toContain(name);
  }
  expect(text).not.toContain('"#/$defs');
});

it('[TL-1] has every event and every tool of the catalogue', () => {
  const names = Object.keys(document.components.schemas);
  expect(names).toEqual(expect.arrayContaining(eventNames.map((name) => `event.${name}`)));
  for (const { name } of catalogue) {
    expect(names).toEqual(expect.arrayContaining([`tool.${name}.parameters`, `tool.${name}.result`]));
  }
});

it('says which version of OpenAPI it speaks', () => {
  expect(document.openapi).toBe('3.1.0');
});

it('[RE-4] is byte for byte the document that is kept beside this test', async () => {
  await expect(`${JSON.stringify(sorted(document), null, 2)}\n`).toMatchFileSnapshot('open-api.golden.json');
});

/** The same value with the keys of every object in order, so that a moved line of code changes nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
