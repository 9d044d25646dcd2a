import { decodeJwt, type JWTPayload } from 'jose';

export const defaultServer = 'http://127.0.0.1:4180';

/** Why an address is not used: it is none, it has a secret in it, or it would carry the token in the clear. */
export type AddressProblem = 'malformed' | 'secret' | 'plain';

/**
 * An address as tokens are kept for it: origin and path, no slash at the end. A secret in it is refused, because
 * command lines and addresses are seen by others (RE-5); so is a connection that would carry the token in the clear.
 */
export function readServerAddress(
  text: string,
  { allowHttp = false } = {},
): { readonly address: string } | { readonly problem: AddressProblem; readonly origin: string } {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return { problem: 'malformed', origin: text };
  const { origin } = url;
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return { problem: 'secret', origin };
  }
  const isPlain = url.protocol === 'http:' && !isLoopback(url.hostname);
  if (isPlain && !allowHttp) return { problem: 'plain', origin };
  return { address: `${origin}${url.pathname}`.replace(/\/+$/, '') };
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);

/** A token itself. A server that others reach prints no link; its people have one of their issuer. */
export const isToken = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);

const bare = /^[A-Za-z0-9_-]{16,200}$/;

/** What a person pastes to sign in (RE-5): `http://127.0.0.1:4180/#sign-in=CODE`, or the code alone. */
export function readSignInLink(text: string): { server?: string; code: string } | undefined {
  if (bare.test(text)) return { code: text };
  const url = URL.parse(text);
  const code = url?.hash.match(/^#sign-in=(.*)$/)?.[1];
  return url && code !== undefined && bare.test(code)
    ? { server: `${url.origin}${url.pathname}`, code }
    : undefined;
}

/** The id in a token, so that it can be revoked. */
export function tokenIdOf(token: string): string | undefined {
  const { jti } = claimsOf(token);
  return typeof jti === 'string' ? jti : undefined;
}

/** Until when it counts, as ISO 8601; undefined when it does not say. */
export function tokenEndOf(token: string): string | undefined {
  const { exp } = claimsOf(token);
  const end = typeof exp === 'number' ? new Date(exp * 1000) : undefined;
  return end && !Number.isNaN(end.getTime()) ? end.toISOString() : undefined;
}

/** What it says of itself, unchecked: checking is the server's. */
function claimsOf(token: string): JWTPayload {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}
