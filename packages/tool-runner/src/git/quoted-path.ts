import { isUtf8 } from 'node:buffer';

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
};

/** The bytes of a path that git printed: in quotes with C escapes if it has special characters. */
export function unquotePath(text: string): Buffer {
  if (!text.startsWith('"') || !text.endsWith('"') || text.length < 2) return Buffer.from(text, 'latin1');
  const plain = text
    .slice(1, -1)
    .replace(/\\([0-7]{3}|.)/gs, (_, code: string) =>
      code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8) & 0xff) : (escapes[code] ?? code),
    );
  return Buffer.from(plain, 'latin1');
}

/**
 * A path as text. JSON cannot contain bytes that are not UTF-8: such a path is given as git prints it, in quotes with
 * octal escapes, so that two files never look the same.
 */
export function pathText(path: Buffer): string {
  if (isUtf8(path)) return path.toString('utf8');
  const escaped = path
    .toString('latin1')
    .replace(/[\\"]/g, '\\$&')
    .replace(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not stand in the text
      /[\x00-\x1f\x7f-\xff]/g,
      (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`,
    );
  return `"${escaped}"`;
}
