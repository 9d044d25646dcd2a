import { utf8Bytes, utf8Length } from './size-limiter.ts';

export interface SecretMaskerOptions {
  /** Secrets known to the caller, such as its own tokens: masked wherever they occur, in the usual encodings too. */
  readonly known?: readonly string[];
  /** A keyed digest, so that equal long contents can be recognised without being readable. */
  readonly digest: (text: string) => string;
}

/** Text longer than this is recorded as its size and digest. */
const LONG_TEXT_BYTES = 2048;
/** The most characters recorded of one JSON value; a file may come as a list of its lines. */
const LONG_VALUE_CHARACTERS = 16 * 1024;
/** Characters counted for each value in addition to its text, for quotes and separators. */
const OVERHEAD_CHARACTERS = 8;
const MASK = '[masked]';
/** Values nested deeper than this are not recorded. */
const MAX_DEPTH = 100;

/** Masks text that looks like a secret. */
export function maskSecretShapes(text: string): string {
  let masked = text;
  for (const shape of secretShapes) {
    masked = masked.replace(shape, (...match) => {
      const groups = match.at(-1) as { keep?: string } | string;
      return `${typeof groups === 'object' ? (groups.keep ?? '') : ''}${MASK}`;
    });
  }
  return masked;
}

/** Masks secrets in records and logs (DA-3). Parameters that a person approves are never masked. */
export class SecretMasker {
  readonly #known: readonly string[];
  readonly #digest: (text: string) => string;

  constructor({ known = [], digest }: SecretMaskerOptions) {
    // Longest first, so that a secret that contains another is masked whole. Very short secrets would mask too much.
    const usable = known.filter((secret) => secret.length >= 4);
    this.#known = [...new Set(usable.flatMap(spellingsOf))].sort((a, b) => b.length - a.length);
    this.#digest = digest;
  }

  /** Masks a text for a log line or a record. A long text is replaced by its size and digest. */
  maskText(text: string): string {
    const bytes = utf8Length(text);
    if (bytes > LONG_TEXT_BYTES) return `[${bytes} bytes, digest ${this.#digest(text)}]`;
    let masked = text;
    for (const secret of this.#known) masked = masked.replaceAll(secret, MASK);
    return maskSecretShapes(masked);
  }

  /**
   * Masks every text in a JSON value, keys included. Of a value that is long in total, the rest is replaced by its number of
   * entries and a digest.
   */
  maskValue(value: unknown): unknown {
    return this.#mask(value, 0, { left: LONG_VALUE_CHARACTERS });
  }

  #mask(value: unknown, depth: number, room: Room): unknown {
    if (typeof value === 'string') {
      const text = this.maskText(value);
      room.left -= text.length + OVERHEAD_CHARACTERS;
      return text;
    }
    room.left -= OVERHEAD_CHARACTERS;
    if (value === null || typeof value !== 'object') return value;
    if (depth >= MAX_DEPTH) return '[too deep to be recorded]';
    return Array.isArray(value) ? this.#maskList(value, depth, room) : this.#maskFields(value, depth, room);
  }

  /** In a list of arguments, the word after `--password` is the password. */
  #maskList(list: readonly unknown[], depth: number, room: Room): unknown[] {
    const masked: unknown[] = [];
    for (const [i, item] of list.entries()) {
      if (room.left <= 0) {
        masked.push(this.#rest(list.slice(i)));
        break;
      }
      const before = list[i - 1];
      const isOptionValue = typeof before === 'string' && /^--?[\w-]+$/.test(before) && isSecretName(before);
      masked.push(isOptionValue && typeof item === 'string' ? MASK : this.#mask(item, depth + 1, room));
    }
    return masked;
  }

  #maskFields(fields: object, depth: number, room: Room): Record<string, unknown> {
    const masked: Record<string, unknown> = Object.create(null);
    const { name, key } = fields as { name?: unknown; key?: unknown };
    const namesSecret = [name, key].some((text) => typeof text === 'string' && isSecretName(text));
    const entries = Object.entries(fields);
    for (const [i, [field, item]] of entries.entries()) {
      if (room.left <= 0) {
        masked['…'] = this.#rest(entries.slice(i));
        break;
      }
      const isSecret = (isSecretName(field) && !isCount(field, item)) || (namesSecret && field === 'value');
      const maskedField = this.maskText(field);
      room.left -= maskedField.length;
      masked[maskedField] = isSecret && item !== null ? MASK : this.#mask(item, depth + 1, room);
    }
    return masked;
  }

  #rest(left: readonly unknown[]): string {
    try {
      return `[${left.length} more, digest ${this.#digest(JSON.stringify(left))}]`;
    } catch {
      return `[${left.length} more]`; // too deeply nested for JSON.stringify
    }
  }
}

/** How many characters of a value may still be recorded. */
interface Room {
  left: number;
}

/** `max_tokens: 500` is a number of tokens, not a secret. */
const isCount = (field: string, item: unknown): boolean => typeof item === 'number' && /tokens$/i.test(field);

/** Words that mark a name as the name of a secret, anywhere in the name: `DB_PASSWORD1`, `stripeSecretKey`. */
const secretWord =
  '(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|_auth|(?:api|access|account|private|encryption|signing|auth|master|service|session|shared|storage|deploy|license)[_-]?key)';
/** Matches `DB_PASS` and `PASS`, but not `compass` or `passenger`. */
const passWord = '(?<![a-z])pass(?![a-z])';
const secretName = `[A-Za-z0-9_.-]{0,64}(?:${secretWord}|${passWord})[A-Za-z0-9_.-]{0,64}`;
const value = `(?:"(?:[^"\\\\\\r\\n]|\\\\.){0,4000}"?|'[^'\\r\\n]{0,4000}'?|[^\\s"',;&|<>]{1,4000})`;

/**
 * Patterns of secrets in text. The group `keep` stays; the rest of a match is masked. Repetitions are bounded, or end at the
 * first character that they cannot match, so no text takes long.
 */
const secretShapes: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  /(?<keep>PuTTY-User-Key-File[\s\S]{0,1500}?Private-Lines:)[\s\S]*$/g,
  /(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{12,}/g,
  /(?:gh[pousr]_|github_pat_|glpat-|npm_|pypi-|hf_|dop_v1_|shpat_)[A-Za-z0-9_-]{10,}/g,
  /(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}/g,
  /xox[a-z]-[A-Za-z0-9-]{8,}/g,
  /(?<keep>hooks\.slack\.com\/services\/)[A-Za-z0-9/_-]{8,}/g,
  /AIza[A-Za-z0-9_-]{20,}/g,
  /ya29\.[A-Za-z0-9_-]{16,}/g,
  /SG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g,
  /eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{0,4096}){1,4}/g,
  /(?<keep>\b(?:authorization|proxy-authorization|x-api-key|cookie)["']?\s{0,20}[:=]\s{0,20})[^\r\n]+/gi,
  /(?<keep>\b(?:bearer|basic)\s{1,20})[A-Za-z0-9._~+/=-]{8,}/gi,
  // The password in a URL, and a token in place of the user name.
  /(?<keep>\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/:@]{0,200}:)[^\s@]{1,500}(?=@)/gi,
  /(?<keep>\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/:@]{12,500}(?=@)/gi,
  new RegExp(`(?<keep><${secretName}>)[^<]{1,4000}`, 'gi'),
  new RegExp(
    `(?<keep>${secretName}["']?\\s{0,20}(?::=|=>|[:=])\\s{0,20}(?:[|>]-?\\s{0,200})?)${value}`,
    'gi',
  ),
  // Options whose value is the next word.
  new RegExp(`(?<keep>(?<![\\w-])--?${secretName}\\s{1,20})${value}`, 'gi'),
  /(?<keep>\bsshpass\s{1,20}-p\s{0,20})\S{1,500}/g,
  /(?<keep>(?<![\w-])(?:-u|--user|--proxy-user)[\s=]{1,20}[^\s:]{1,200}:)\S{1,500}/g,
  /(?<keep>\blogin\s{1,20}\S{1,200}\s{1,20}password\s{1,20})\S{1,500}/gi,
];

const fieldName = new RegExp(`${secretWord}|${passWord}|authorization|cookie`, 'i');

/** Whether a field or an option of this name holds a secret, whatever its value looks like. */
const isSecretName = (name: string): boolean => fieldName.test(name);

/**
 * The encodings in which a known secret may occur: plain, JSON, percent-encoded and base64. Inside a longer text such as
 * `user:secret`, its base64 letters depend on how many bytes come before it.
 */
function spellingsOf(secret: string): string[] {
  const bytes = [...utf8Bytes(secret)];
  const inUrl = encodeURIComponent(secret.toWellFormed());
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    inUrl,
    // RFC 3986 also escapes these; encodeURIComponent does not.
    inUrl.replace(/[!*'()]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`),
    ...[0, 1, 2].flatMap((offset) => insideBase64(bytes, offset)),
  ];
}

/** Declared here because this package has neither Node nor DOM types. Every runtime that we use has it. */
declare const btoa: (binary: string) => string;

/** The letters that depend on the secret alone if `offset` bytes come before it, in both alphabets of base64. */
function insideBase64(bytes: readonly number[], offset: number): string[] {
  const binary = '\0'.repeat(offset) + bytes.map((byte) => String.fromCharCode(byte)).join('');
  const letters = btoa(binary).slice(Math.ceil((offset * 8) / 6), Math.floor((binary.length * 8) / 6));
  if (letters.length < 6) return [];
  return [letters, letters.replaceAll('+', '-').replaceAll('/', '_')];
}
