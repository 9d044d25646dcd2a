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
  // URL parsers resolve dots even when encoded, and '' would match another route. No valid id looks like this, so fail
  // as for an unknown id.
  if (['', '.', '..'].includes(value)) {
    throw new ApiError(404, 'NOT_FOUND', `There is nothing with the ${name} "${value}". Give a whole id.`);
  }
  return encodeURIComponent(value);
}
