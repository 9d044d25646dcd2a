import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { Refusal } from '@countersign/engine';
import type { FastifyRequest } from 'fastify';

/** The addresses that people use for this server: scheme, host and port. */
export interface Origins {
  /** Whether a Host header names us: `127.0.0.1:4180`. */
  isOurHost(host: string): boolean;
  /** Whether an Origin header is one of ours or of those that were configured. */
  isOurOrigin(origin: string): boolean;
}

/** `listening` is known once the server listens, because the system may choose the port. */
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

/** The names of an address: loopback addresses and localhost stand for each other. */
function namesOf(host: string): string[] {
  const bracketed = host.includes(':') ? `[${host}]` : host;
  const isLoopback = host === '::1' || host === 'localhost' || /^127\./.test(host);
  return isLoopback ? ['127.0.0.1', 'localhost', '[::1]', bracketed] : [bracketed];
}

/**
 * Refuses pages of other sites, and host names that were made to point at us (RE-5). A request without an Origin does not
 * come from a page of another site.
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

/** Headers for JSON that may contain hostile text. */
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

/** Whether a body has no declared type: no header, or the one that `fetch` adds to a text by itself. */
export const isUndeclared = (contentType: string | undefined): boolean =>
  contentType === undefined || /^text\/plain[ \t]*;[ \t]*charset=utf-8$/i.test(contentType);

/**
 * Whether a program sent this with a bearer token, and not a page. A browser sends the page's Origin with every POST, or
 * Sec-Fetch-Site with another value than `none`.
 */
export const isOfProgram = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  bearerToken(headers.authorization) !== undefined &&
  headers.origin === undefined &&
  (headers['sec-fetch-site'] ?? 'none') === 'none';

/** The token of a header that is `Bearer` and one token. */
export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer ([A-Za-z0-9._~+/=-]{1,8192})$/i.exec(header)?.[1];
}

const [quote, comma, backslash, openList, openObject] = ['"', ',', '\\', '[', '{'].map((character) =>
  character.charCodeAt(0),
);

/**
 * Whether a JSON text has more than `max` values, by counting commas and brackets outside of strings. A quick check before
 * parsing; the parser finds out whether it is JSON at all.
 */
export function exceedsJsonValueLimit(json: string, max: number): boolean {
  let count = 1;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === quote) at = endOfText(json, at);
    else if (code === comma || code === openList || code === openObject) count += 1;
    if (count > max) return true;
  }
  return false;
}

/** Goes character by character: for a string of escaped quotes that is faster than searching for quotes. */
function endOfText(json: string, start: number): number {
  let at = start + 1;
  for (; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === backslash) at += 1;
    else if (code === quote) break;
  }
  return at;
}

/**
 * The browser's cookie. It authorises reading event streams and nothing else: cookies ignore ports, so requests of a page
 * from the agent's own development server would carry it too (RE-5).
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
 * The range of addresses that one client can choose from: an IPv4 address itself, or the /64 network of an IPv6 address,
 * whose 2^64 addresses a single machine may use.
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
