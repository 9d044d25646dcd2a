/** Which token of the person's list this is, by its own claims; undefined for one that is not ours to read. */
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
