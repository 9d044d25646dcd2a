import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { Refusal } from '@countersign/engine';
import type { FastifyRequest } from 'fastify';

/** The addresses of this server: scheme, host and port. */
export interface Origins {
  /** Whether a Host header names us: `127.0.0.1:4180`. */
  isOurHost(host: string): boolean;
  /** Whether an Origin header names us: `http://127.0.0.1:4180`. */
  isOurOrigin(origin: string): boolean;
}

/** `listening` is undefined until the server listens, because the system may choose the port. */
export function originsOf(
  publicOrigins: readonly string[],
  listening: { host: string; port: number } | undefined,
): Origins {
  const origins = new Set(publicOrigins.map((origin) => new URL(origin).origin));
  if (listening) {
    for (const host of namesOf(listening.host))
      origins.add(new URL(`http://${host}:${listening.port}`).origin);
  }
  const hosts = new Set([...origins].map((origin) => new URL(origin).host));
  return {
    isOurHost: (host) => hosts.has(host.toLowerCase()),
    isOurOrigin: (origin) => origins.has(origin),
  };
}

/** The names of a host. For a loopback address these are all loopback names. */
function namesOf(host: string): string[] {
  const bracketed = host.includes(':') ? `[${host}]` : host;
  const isLoopback = host === '::1' || host === 'localhost' || /^127\./.test(host);
  return isLoopback ? ['127.0.0.1', 'localhost', '[::1]', bracketed] : [bracketed];
}

/**
 * Refuses pages of other sites, and foreign host names that resolve to us, as in DNS rebinding (RE-5). A request without
 * an Origin does not come from a page of another site.
 */
export function checkOrigin(
  request: FastifyRequest,
  origins: Origins,
  corsOrigins: ReadonlySet<string>,
): void {
  const { origin } = request.headers;
  const host = hostOf(request.raw);
  if (host === undefined || !origins.isOurHost(host)) throw new Refusal('ORIGIN_REFUSED');
  if (origin !== undefined && !origins.isOurOrigin(origin) && !corsOrigins.has(origin)) {
    throw new Refusal('ORIGIN_REFUSED');
  }
}

/**
 * The host that a request names. Undefined if it is ambiguous, because a proxy before us may read it differently: two
 * Host headers, or an absolute URL with another host.
 */
function hostOf({ headers, rawHeaders, url = '' }: IncomingMessage): string | undefined {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  if (count > 1) return undefined;
  if (url.startsWith('/') || url === '*') return headers.host;
  return URL.parse(url)?.host === headers.host?.toLowerCase() ? headers.host : undefined;
}

/** Default headers of every response, because its JSON may contain hostile text. The web page has its own policy. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
};

export const isJson = (contentType: string | undefined): boolean =>
  contentType !== undefined && /^application\/json[ \t]*(;|$)/i.test(contentType);

/** Whether a body has no declared type: no header, or the one that `fetch` adds to a string by default. */
export const isUndeclared = (contentType: string | undefined): boolean =>
  contentType === undefined || /^text\/plain[ \t]*;[ \t]*charset=utf-8$/i.test(contentType);

/**
 * Whether a program with a bearer token sent this request, and not a page. For a page, a browser adds Origin to every POST,
 * or Sec-Fetch-Site with a value other than `none`.
 */
export const isFromProgram = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  bearerToken(headers.authorization) !== undefined &&
  headers.origin === undefined &&
  (headers['sec-fetch-site'] ?? 'none') === 'none';

/** The token of an Authorization header; undefined unless it is `Bearer` and one token. */
export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer ([A-Za-z0-9._~+/=-]{1,8192})$/i.exec(header)?.[1];
}

const [quote, comma, backslash, openList, openObject] = ['"', ',', '\\', '[', '{'].map((character) =>
  character.charCodeAt(0),
);

/**
 * Whether a JSON text has more than `max` values. Counts commas and brackets outside of strings, as a quick check before
 * parsing; the text need not be valid JSON.
 */
export function exceedsJsonValueLimit(json: string, max: number): boolean {
  let count = 1;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === quote) at = endOfString(json, at);
    else if (code === comma || code === openList || code === openObject) count += 1;
    if (count > max) return true;
  }
  return false;
}

/** Index of the closing quote. A loop is faster than `indexOf` for a string with many escaped quotes. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  for (; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === backslash) at += 1;
    else if (code === quote) break;
  }
  return at;
}

/**
 * The browser's cookie, which only authorises reading event streams. Browsers send cookies to all ports of a host, so a page
 * of the agent's own development server could use it too (RE-5).
 */
const NAME = 'countersign_stream';

export function setStreamCookie(token: string, options: { secure: boolean; maxAgeSeconds: number }): string {
  const secure = options.secure ? '; Secure' : '';
  return `${NAME}=${token}; Path=/my; HttpOnly; SameSite=Strict; Max-Age=${options.maxAgeSeconds}${secure}`;
}

export function readStreamCookie(header: string | undefined): string | undefined {
  for (const part of header?.split(';') ?? []) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === NAME) return part.slice(at + 1).trim();
  }
  return undefined;
}

/**
 * The key for rate limits by address: an IPv4 address itself, or the /64 network of an IPv6 address, because one machine
 * may use all addresses of its /64.
 */
export function addressBlock(address: string): string {
  const plain = address.split('%')[0] as string; // without the zone of a link-local address
  if (!isIPv6(plain)) return address;
  const [head = '', tail] = plain.split('::');
  const mapped = /^::ffff:([\d.]+)$/i.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  const groups = head === '' ? [] : head.split(':');
  const left = tail === undefined ? [] : tail.split(':').filter((group) => group !== '');
  const isDotted = plain.includes('.');
  while (groups.length + left.length + (isDotted ? 1 : 0) < 8) groups.push('0');
  const network = [...groups, ...left].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
