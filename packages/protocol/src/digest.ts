import { sha256 as sha256OfBytes } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

/** Hexadecimal SHA-256 of a text in UTF-8. */
export type Sha256 = (text: string) => string;

/** Works everywhere. Programs on Node pass in Node's own, which is many times faster. */
const portableSha256: Sha256 = (text) => bytesToHex(sha256OfBytes(utf8ToBytes(text)));

/**
 * JSON with the keys of every object in the order of their UTF-16 code units, so that equal values have equal texts.
 * Values are written as `JSON.stringify` writes them; a key with the value undefined is left out.
 */
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

/**
 * `sha256:` and 64 hexadecimal digits: of a value's canonical JSON and then of its long texts, each with its length in
 * UTF-16 code units. The fixtures in `fixtures/digests.json` pin it for programs in other languages.
 */
export function digestOf(value: unknown, sha256: Sha256 = portableSha256): string {
  const long: string[] = [];
  const text = canonicalJson(value, (item) => {
    // A lone surrogate would be encoded as U+FFFD, so that two texts would have one digest.
    if (item.length <= LONG_TEXT || !item.isWellFormed()) return JSON.stringify(item);
    long.push(item);
    return '#'; // never appears in JSON
  });
  return `sha256:${sha256(text + long.map((item) => `#${item.length}:${item}`).join(''))}`;
}
