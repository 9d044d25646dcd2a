import type { ServerEntry } from './server-entry.ts';

/** Takes values that the person configured as secrets out of what a server says: they go neither to a log nor out. */
export function maskerOf(secrets: readonly string[]): (text: string) => string {
  const spellings = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  const longestFirst = [...new Set(spellings)].sort((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((masked, secret) => masked.replaceAll(secret, '[masked]'), text);
}

/** The same for a JSON value: it stays one, whatever a secret looks like. */
export function maskedJson<T>(value: T, mask: (text: string) => string): T {
  return JSON.parse(JSON.stringify(value), (_name, inner: unknown) => {
    if (typeof inner === 'string') return mask(inner);
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    if (Object.keys(inner).every((name) => mask(name) === name)) return inner;
    return Object.fromEntries(Object.entries(inner).map(([name, of]) => [mask(name), of]));
  }) as T;
}

/**
 * What of an entry is secret: values of headers, of what stands behind the `?` of an address, of options that are named
 * as secrets are, and of variables, unless that is a mere word or number: `production` is also the name of a place.
 */
export function secretsOf({ reach }: ServerEntry): readonly string[] {
  const found =
    reach.kind === 'http'
      ? [...Object.values(reach.headers).flatMap(withoutScheme), ...new URL(reach.url).searchParams.values()]
      : [
          ...Object.entries(reach.env)
            .filter(([name, value]) => secretName.test(name) || !mereWord.test(value))
            .map(([, value]) => value),
          ...reach.args.flatMap(secretOfOption),
        ];
  return found.filter((value) => value.length >= 6);
}

const secretName = /key|token|secret|passw|pwd|auth|cred|cookie|private/i;
const mereWord = /^([A-Za-z]{1,15}|\d{1,9})$/;

/** `Bearer abc`: whoever has the second part has all of it. */
const withoutScheme = (value: string): string[] => [value, value.replace(/^\w+ +/, '')];

/** `--token=abc`, `--token abc`. */
function secretOfOption(word: string, index: number, all: readonly string[]): string[] {
  const [, name = '', value] = /^--?([\w-]+)(?:=(.*))?$/s.exec(word) ?? [];
  if (!secretName.test(name)) return [];
  const next = all[index + 1];
  if (value !== undefined) return [value];
  return next === undefined || next.startsWith('-') ? [] : [next];
}
