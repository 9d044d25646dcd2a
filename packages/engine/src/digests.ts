import { createHash, hash } from 'node:crypto';

/** JSON with the keys of every object in order, so that equal values have equal texts. */
export function canonicalJson(value: unknown, writeText: (text: string) => string = JSON.stringify): string {
  if (typeof value === 'string') return writeText(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, writeText)).join(',')}]`;
  let text = '';
  for (const key of Object.keys(value).sort()) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(item, writeText)}`;
  }
  return `{${text}}`;
}

/** Longer texts are digested as they are: writing out a file as JSON takes three times as long as its digest. */
const LONG_TEXT = 64 * 1024;

/** `sha256:` and 64 hexadecimal digits: of a value's canonical JSON and then of its long texts, each with its length. */
export function digestOf(value: unknown): string {
  const long: string[] = [];
  const text = canonicalJson(value, (item) => {
    // Half a character would be digested as the sign for "no character": two texts would have one digest.
    if (item.length <= LONG_TEXT || !item.isWellFormed()) return JSON.stringify(item);
    long.push(item);
    return '#'; // which no JSON has
  });
  if (long.length === 0) return `sha256:${hash('sha256', text)}`;
  const digest = createHash('sha256').update(text);
  for (const item of long) digest.update(`#${item.length}:`).update(item);
  return `sha256:${digest.digest('hex')}`;
}
