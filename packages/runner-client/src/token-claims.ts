import { decodeJwt, type JWTPayload } from 'jose';

/** The id in a token, so that it can be revoked. */
export function tokenIdOf(token: string): string | undefined {
  const { jti } = claimsOf(token);
  return typeof jti === 'string' ? jti : undefined;
}

/** When it expires, as ISO 8601; undefined if it does not say. */
export function tokenEndOf(token: string): string | undefined {
  const { exp } = claimsOf(token);
  const end = typeof exp === 'number' ? new Date(exp * 1000) : undefined;
  return end && !Number.isNaN(end.getTime()) ? end.toISOString() : undefined;
}

/** Its claims, not verified: the server does that. */
function claimsOf(token: string): JWTPayload {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}
