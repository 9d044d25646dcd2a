/** The id in our own token, so that it can be revoked; tokens of other issuers are theirs to end. */
export function tokenIdOf(token: string): string | undefined {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
      jti?: unknown;
    };
    return typeof claims.jti === 'string' ? claims.jti : undefined;
  } catch {
    return undefined;
  }
}
