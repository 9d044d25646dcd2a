import { decodeJwt, type JWTPayload } from 'jose';

export const defaultServer = 'http://127.0.0.1:4180';

/** Why an address is refused: not a URL, contains a secret, or would send the token unencrypted. */
export type AddressProblem = 'malformed' | 'secret' | 'plain';

/**
 * A server address in the form that tokens are stored under: origin and path, no slash at the end. Refuses an address with
 * a secret in it, because others can see command lines and addresses (RE-5), and one that would send the token
 * unencrypted.
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

/** Whether a text is a token. A public server prints no sign-in link; its people get a token from their issuer. */
export const isToken = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);

const codePattern = /^[A-Za-z0-9_-]{16,200}$/;

/** Reads what a person pastes to sign in (RE-5): `http://127.0.0.1:4180/#sign-in=CODE`, or the code alone. */
export function readSignInLink(text: string): { server?: string; code: string } | undefined {
  if (codePattern.test(text)) return { code: text };
  const url = URL.parse(text);
  const code = url?.hash.match(/^#sign-in=(.*)$/)?.[1];
  return url && code !== undefined && codePattern.test(code)
    ? { server: `${url.origin}${url.pathname}`, code }
    : undefined;
}

/** The id in a token, so that it can be revoked. */
export function tokenIdOf(token: string): string | undefined {
  const { jti } = claimsOf(token);
  return typeof jti === 'string' ? jti : undefined;
}

/** When a token expires, as ISO 8601; undefined if it does not say. */
export function tokenEndOf(token: string): string | undefined {
  const { exp } = claimsOf(token);
  const end = typeof exp === 'number' ? new Date(exp * 1000) : undefined;
  return end && !Number.isNaN(end.getTime()) ? end.toISOString() : undefined;
}

/** A token's claims, not verified: that is the server's job. */
function claimsOf(token: string): JWTPayload {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}
