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

/** Known once the server listens: the port may have been chosen by the system. */
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

/** A loopback address is also called localhost; any other one is only what it is. */
function namesOf(host: string): string[] {
  const bracketed = host.includes(':') ? `[${host}]` : host;
  const isLoopback = host === '::1' || host === 'localhost' || /^127\./.test(host);
  return isLoopback ? ['127.0.0.1', 'localhost', '[::1]', bracketed] : [bracketed];
}

/**
 * A page of another site, or a name that was made to point at us, gets nothing (RE-5). Requests that come without an
 * Origin come from no page, or from one of ours.
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
 * The one host that a request names. Two Host headers, or an absolute address that names another one than the header,
 * are read differently by a proxy before us: whom they mean is in doubt.
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

/** What a browser must know about JSON that may hold hostile text. */
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

/** A body whose type nobody declared: no header, or the one that `fetch` adds to a text by itself. */
export const isUndeclared = (contentType: string | undefined): boolean =>
  contentType === undefined || /^text\/plain[ \t]*;[ \t]*charset=utf-8$/i.test(contentType);

/**
 * Whether a program sent this with a bearer token, and not a page: a browser names the page's Origin with every POST, or
 * says by Sec-Fetch-Site how the page relates to us. `none` is said where no page is involved.
 */
export const isOfProgram = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  bearerToken(headers.authorization) !== undefined &&
  headers.origin === undefined &&
  (headers['sec-fetch-site'] ?? 'none') === 'none';

/** `Bearer` and one token; anything else is no token. */
export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer ([A-Za-z0-9._~+/=-]{1,8192})$/i.exec(header)?.[1];
}

const [quote, comma, backslash, openList, openObject] = ['"', ',', '\\', '[', '{'].map((character) =>
  character.charCodeAt(0),
);

/**
 * Whether a JSON text has more than `max` values in it, by its commas and brackets. Texts are passed over, and what is no
 * JSON is found out by its parser: this says only, and quicker, that parsing would take long.
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

/** By each character: a text of nothing but escaped quotes is quicker that way than from quote to quote. */
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
 * The cookie of a browser. It authorises reading event streams and nothing else: cookies ignore ports, so a page
 * that the agent's own development server shows would carry it too (RE-5).
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
 * What one client can choose its address from: an IPv4 address stands for itself, an IPv6 address for its network of 64
 * bits, whose 2^64 addresses a single machine may use in turn.
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
