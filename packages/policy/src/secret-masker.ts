import { isSecretName, secretShapes } from './secret-shapes.ts';
import { spellingsOf } from './secret-spellings.ts';
import { utf8Length } from './size-limiter.ts';

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
/** What a value takes in a record beside its text. */
const SEPARATOR = 8;
const MASK = '[masked]';
/** Deeper values than any tool has are not recorded. */
const MAX_DEPTH = 100;

/** Masks what looks like a secret, whatever the caller knows of. */
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
   * Any JSON value, with every text in it masked; keys stay, since they name the parameters. What is long in all, however
   * short its pieces, is recorded by its beginning: of the rest only how much it was.
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

/** What may still be recorded of a value. */
interface Room {
  left: number;
}

/** `max_tokens: 500` counts tokens of text; it is none. */
const isCount = (field: string, item: unknown): boolean => typeof item === 'number' && /tokens$/i.test(field);
