import { utf8Length } from './size-limiter.ts';

/** Hides secrets in what is recorded and logged (DA-3). What a person approves is never masked. */
export interface SecretMaskerOptions {
  /** Secrets known to the caller, such as its own tokens: masked wherever they occur. */
  readonly known?: readonly string[];
  /** A keyed digest, so that equal long contents can be recognised without being readable. */
  readonly digest: (text: string) => string;
}

/** Text longer than this is recorded as its size and digest. */
const LONG_TEXT_BYTES = 2048;
const MASK = '[masked]';

/**
 * Shapes of secrets. Each expression is linear: no nested repetition, and no repetition followed by another one
 * over the same characters. The whole match is masked, except what stands in the group `keep`.
 */
const secretShapes: readonly { readonly name: string; readonly shape: RegExp }[] = [
  {
    name: 'private key',
    shape: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
  },
  { name: 'cloud access key', shape: /(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{12,}/g },
  {
    name: 'hosting token',
    shape: /(?:gh[pousr]_|github_pat_|glpat-|npm_|pypi-|hf_|dop_v1_|shpat_)[A-Za-z0-9_-]{10,}/g,
  },
  { name: 'model or payment key', shape: /(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}/g },
  { name: 'chat token', shape: /xox[a-z]-[A-Za-z0-9-]{8,}/g },
  { name: 'web api key', shape: /AIza[A-Za-z0-9_-]{20,}/g },
  { name: 'JSON web token', shape: /eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{0,4096}){1,4}/g },
  {
    name: 'authorization header',
    shape:
      /(?<keep>\b(?:authorization|proxy-authorization|x-api-key|cookie)["']?\s{0,3}[:=]\s{0,3})[^\r\n]+/gi,
  },
  { name: 'bearer token', shape: /(?<keep>\b(?:bearer|basic)\s{1,3})[A-Za-z0-9._~+/=-]{8,}/gi },
  {
    name: 'password in a URL',
    shape: /(?<keep>\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/:@]{0,200}:)[^\s@]{1,500}(?=@)/gi,
  },
  {
    name: 'assignment to a secret name',
    shape:
      /(?<keep>[A-Za-z0-9_.-]{0,64}(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?["']?\s{0,3}[:=]\s{0,3})(?:"[^"\r\n]{0,4000}"?|'[^'\r\n]{0,4000}'?|[^\s"',;&|]{1,4000})/gi,
  },
];

/** A field whose name says that its value is a secret, whatever it looks like. */
const secretFieldName =
  /(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|authorization|cookie)s?$/i;

export class SecretMasker {
  readonly #known: readonly string[];
  readonly #digest: (text: string) => string;

  constructor({ known = [], digest }: SecretMaskerOptions) {
    // The longest first: a secret that contains another is masked whole. Very short ones would mask everything.
    this.#known = known.filter((secret) => secret.length >= 4).sort((a, b) => b.length - a.length);
    this.#digest = digest;
  }

  /** A text for a log line or a record: secrets masked, and a long one replaced by its size and digest. */
  maskText(text: string): string {
    const bytes = utf8Length(text);
    if (bytes > LONG_TEXT_BYTES) return `[${bytes} bytes, digest ${this.#digest(text)}]`;
    let masked = text;
    for (const secret of this.#known) masked = masked.replaceAll(secret, MASK);
    for (const { shape } of secretShapes) {
      masked = masked.replace(shape, (...match) => {
        const groups = match.at(-1) as { keep?: string } | string;
        return `${typeof groups === 'object' ? (groups.keep ?? '') : ''}${MASK}`;
      });
    }
    return masked;
  }

  /** Any JSON value, with every text in it masked; keys stay, since they name the parameters. */
  maskValue(value: unknown): unknown {
    if (typeof value === 'string') return this.maskText(value);
    if (Array.isArray(value)) return value.map((item) => this.maskValue(item));
    if (value === null || typeof value !== 'object') return value;
    const masked: Record<string, unknown> = Object.create(null);
    for (const [key, item] of Object.entries(value)) {
      const isSecret = secretFieldName.test(key) && (typeof item === 'string' || typeof item === 'number');
      masked[this.maskText(key)] = isSecret ? MASK : this.maskValue(item);
    }
    return masked;
  }
}
