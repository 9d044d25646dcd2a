import { hasHole, UNKNOWN, withoutForgedMarks } from '../program/marks.ts';

/** What `echo` prints, given its words without the program. */
export function echoed(words: readonly string[]): string {
  let first = 0;
  let escapes = false;
  let newline = true;
  for (; first < words.length; first++) {
    const word = words[first] as string;
    if (!/^-[neE]+$/.test(word)) break;
    if (word.includes('n')) newline = false;
    if (word.includes('e')) escapes = true;
    if (word.includes('E')) escapes = false;
  }
  const text = words.slice(first).join(' ');
  return (escapes ? unescaped(text) : text) + (newline ? '\n' : '');
}

/** What `printf` prints: `%s %b %q %c` and numbers, the format again while words are left. */
export function printed(words: readonly string[]): string {
  const [format = '', ...values] = words[0] === '--' ? words.slice(1) : words;
  if (hasHole(format)) return [format, ...values].join('') || UNKNOWN;
  let result = '';
  let next = 0;
  do {
    const before = next;
    result += unescaped(format, (spec) => formatted(spec, values[next++] ?? ''));
    if (next === before) break;
  } while (next < values.length && result.length < 65_536);
  return result;
}

function formatted(spec: string, value: string): string {
  if (hasHole(value)) return value;
  switch (spec.at(-1)) {
    case 's':
    case 'q': {
      const precision = /\.(\d+)/.exec(spec)?.[1];
      return precision === undefined ? value : value.slice(0, Number(precision));
    }
    case 'b':
      return unescaped(value);
    case 'c':
      return value.slice(0, 1);
    case 'd':
    case 'i':
    case 'u':
      return String(integer(value));
    case 'o':
      return padded(spec, integer(value).toString(8));
    case 'x':
      return padded(spec, integer(value).toString(16));
    case 'X':
      return padded(spec, integer(value).toString(16).toUpperCase());
    default:
      return UNKNOWN;
  }
}

function padded(spec: string, digits: string): string {
  const width = Number(/^%0?(\d{1,3})/.exec(spec)?.[1] ?? 0);
  return digits.padStart(width, '0');
}

/** A number as printf reads it: decimal, octal, hexadecimal, or `'c` for the code of a character. */
function integer(value: string): number {
  if (value.startsWith("'") || value.startsWith('"')) return value.codePointAt(1) ?? 0;
  const number = /^0[0-7]+$/.test(value) ? Number.parseInt(value, 8) : Number(value);
  return Number.isSafeInteger(number) ? number : 0;
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  b: '\b',
  f: '\f',
  v: '\v',
  e: '\u001b',
  E: '\u001b',
  '\\': '\\',
  '"': '"',
  "'": "'",
};

/** Backslash escapes of `echo -e` and `printf`; `%…` is handed to `directive` where there is one. */
function unescaped(text: string, directive?: (spec: string) => string): string {
  const pattern =
    /\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|0[0-7]{1,3}|[0-7]{1,3}|c[\s\S]?|[\s\S])|%(?:%|[-+ #0]{0,9}\d{0,9}(?:\.\d{1,9})?[A-Za-z])/g;
  return text.replace(pattern, (whole, sequence: string | undefined) => {
    if (sequence === undefined) return directive ? (whole === '%%' ? '%' : directive(whole)) : whole;
    const kind = sequence[0] as string;
    if (sequence.length > 1 && /[xuU]/.test(kind)) return character(Number.parseInt(sequence.slice(1), 16));
    if (/[0-7]/.test(kind)) return character(Number.parseInt(sequence, 8) & 0xff);
    return ESCAPES[kind] ?? whole;
  });
}

const character = (code: number): string =>
  code > 0x10ffff || (code >= 0xd800 && code < 0xe000)
    ? '\uFFFD'
    : withoutForgedMarks(String.fromCodePoint(code));
