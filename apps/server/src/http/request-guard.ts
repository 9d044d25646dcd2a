import type { IncomingMessage } from 'node:http';
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
