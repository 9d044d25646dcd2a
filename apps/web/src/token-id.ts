/** Reads the id of a token from its claims; undefined if the token is not one of ours. */
export function tokenIdOf(token: string): string | undefined {
  try {
    const payload = token.split('.')[1] ?? '';
    const claims: unknown = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
    const isObject = typeof claims === 'object' && claims !== null && 'jti' in claims;
    return isObject && typeof claims.jti === 'string' ? claims.jti : undefined;
  } catch {
    return undefined;
  }
}
