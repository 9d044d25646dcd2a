import { ApiError } from './api-error.ts';

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
  // URL parsers read dots as "here" and "above" even when they are encoded, and '' would be another route.
  // No id is one of these, so the answer is the server's for any id that it does not know.
  if (['', '.', '..'].includes(value)) {
    throw new ApiError(404, 'NOT_FOUND', `There is nothing with the ${name} "${value}". Give a whole id.`);
  }
  return encodeURIComponent(value);
}
