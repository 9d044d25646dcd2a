import { utf8Bytes, utf8Length } from './size-limiter.ts';

/** Hides secrets in what is recorded and logged (DA-3). What a person approves is never masked. */
export interface SecretMaskerOptions {
  /** Secrets known to the caller, such as its own tokens: masked wherever they occur, in the usual encodings too. */
  readonly known?: readonly string[];
  /** A keyed digest, so that equal long contents can be recognised without being readable. */
  readonly digest: (text: string) => string;
}

/** Text longer than this is recorded as its size and digest. */
const LONG_TEXT_BYTES = 2048;
/** The same for all texts of one value together: a file may come as a list of its lines. */
const LONG_VALUE_CHARACTERS = 16 * 1024;
/** Characters that a value takes in a record beside its text. */
const SEPARATOR = 8;
const MASK = '[masked]';
/** Values nested deeper than this are not recorded. */
const MAX_DEPTH = 100;

/** Masks what looks like a secret, known to the caller or not. */
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

export class SecretMasker {
  readonly #known: readonly string[];
  readonly #digest: (text: string) => string;

  constructor({ known = [], digest }: SecretMaskerOptions) {
    // The longest first: a secret that contains another is masked whole. Very short ones would mask everything.
    const usable = known.filter((secret) => secret.length >= 4);
    this.#known = [...new Set(usable.flatMap(spellingsOf))].sort((a, b) => b.length - a.length);
    this.#digest = digest;
  }

  /** A text for a log line or a record: secrets masked, and a long one replaced by its size and digest. */
  maskText(text: string): string {
    const bytes = utf8Length(text);
    if (bytes > LONG_TEXT_BYTES) return `[${bytes} bytes, digest ${this.#digest(text)}]`;
    let masked = text;
    for (const secret of this.#known) masked = masked.replaceAll(secret, MASK);
    return maskSecretShapes(masked);
  }

  /**
   * Any JSON value, with every text in it masked; keys stay, since they name the parameters. Of a value that is long in
   * total, only the beginning is recorded, and the size of the rest.
   */
  maskValue(value: unknown): unknown {
    return this.#mask(value, 0, { left: LONG_VALUE_CHARACTERS });
  }

  #mask(value: unknown, depth: number, room: Room): unknown {
    if (typeof value === 'string') {
      const text = this.maskText(value);
      room.left -= text.length + SEPARATOR;
      return text;
    }
    room.left -= SEPARATOR;
    if (value === null || typeof value !== 'object') return value;
    if (depth >= MAX_DEPTH) return '[too deep to be recorded]';
    return Array.isArray(value) ? this.#maskList(value, depth, room) : this.#maskFields(value, depth, room);
  }

  /** In a list of arguments, what follows `--password` is the password. */
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
      const known = this.maskText(field);
      room.left -= known.length;
      masked[known] = isSecret && item !== null ? MASK : this.#mask(item, depth + 1, room);
    }
    return masked;
  }

  #rest(left: readonly unknown[]): string {
    try {
      return `[${left.length} more, digest ${this.#digest(JSON.stringify(left))}]`;
    } catch {
      return `[${left.length} more]`; // nested deeper than can be written
    }
  }
}

/** How many characters of a value may still be recorded. */
interface Room {
  left: number;
}

/** `max_tokens: 500` is a number of tokens, not a secret. */
const isCount = (field: string, item: unknown): boolean => typeof item === 'number' && /tokens$/i.test(field);

/**
 * What secrets look like in text. Each expression takes time bounded by its own length times the text's: repetitions
 * are bounded or over characters that end them. What stands in the group `keep` stays; the rest of a match is masked.
 */

/** Words that make a name the name of a secret, wherever in it they stand: `DB_PASSWORD1`, `stripeSecretKey`. */
const secretWord =
  '(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|_auth|(?:api|access|account|private|encryption|signing|auth|master|service|session|shared|storage|deploy|license)[_-]?key)';
/** `DB_PASS`, `PASS`, but not `compass` or `passenger`. */
const passWord = '(?<![a-z])pass(?![a-z])';
const secretName = `[A-Za-z0-9_.-]{0,64}(?:${secretWord}|${passWord})[A-Za-z0-9_.-]{0,64}`;
const value = `(?:"(?:[^"\\\\\\r\\n]|\\\\.){0,4000}"?|'[^'\\r\\n]{0,4000}'?|[^\\s"',;&|<>]{1,4000})`;

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
  // The password of a URL, and a token in the place of its user.
  /(?<keep>\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/:@]{0,200}:)[^\s@]{1,500}(?=@)/gi,
  /(?<keep>\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/:@]{12,500}(?=@)/gi,
  new RegExp(`(?<keep><${secretName}>)[^<]{1,4000}`, 'gi'),
  new RegExp(
    `(?<keep>${secretName}["']?\\s{0,20}(?::=|=>|[:=])\\s{0,20}(?:[|>]-?\\s{0,200})?)${value}`,
    'gi',
  ),
  // Options whose value follows a blank.
  new RegExp(`(?<keep>(?<![\\w-])--?${secretName}\\s{1,20})${value}`, 'gi'),
  /(?<keep>\bsshpass\s{1,20}-p\s{0,20})\S{1,500}/g,
  /(?<keep>(?<![\w-])(?:-u|--user|--proxy-user)[\s=]{1,20}[^\s:]{1,200}:)\S{1,500}/g,
  /(?<keep>\blogin\s{1,20}\S{1,200}\s{1,20}password\s{1,20})\S{1,500}/gi,
];

const fieldName = new RegExp(`${secretWord}|${passWord}|authorization|cookie`, 'i');

/** Whether a field or an option of this name holds a secret, whatever its value looks like. */
const isSecretName = (name: string): boolean => fieldName.test(name);

/**
 * How a text may spell a known secret: plain, escaped in JSON, percent-encoded, and in base64, also as a part of something
 * longer (`user:secret`), where the letters depend on the bytes before it.
 */
function spellingsOf(secret: string): string[] {
  const bytes = [...utf8Bytes(secret)];
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    percentEncoded(bytes, /[A-Za-z0-9\-_.!~*'()]/),
    percentEncoded(bytes, /[A-Za-z0-9\-_.~]/),
    ...[0, 1, 2].flatMap((offset) => insideBase64(bytes, offset)),
  ];
}

function percentEncoded(bytes: readonly number[], unreserved: RegExp): string {
  return bytes
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return byte < 0x80 && unreserved.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The letters that depend on the secret alone when `offset` bytes stand before it; both alphabets of base64. */
function insideBase64(bytes: readonly number[], offset: number): string[] {
  const bits = [...Array<number>(offset).fill(0), ...bytes]
    .map((byte) => byte.toString(2).padStart(8, '0'))
    .join('');
  const first = Math.ceil((offset * 8) / 6);
  const end = Math.floor(bits.length / 6);
  let letters = '';
  for (let i = first; i < end; i++) letters += alphabet[Number.parseInt(bits.slice(i * 6, i * 6 + 6), 2)];
  if (letters.length < 6) return [];
  return [letters, letters.replaceAll('+', '-').replaceAll('/', '_')];
}
