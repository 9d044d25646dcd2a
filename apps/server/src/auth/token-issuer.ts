import { newId, notFound, type Store, type TokenRow } from '@countersign/engine';
import type { TokenScope } from '@countersign/protocol';
import { SignJWT } from 'jose';
import { audienceOf, ownIssuer, type TokenUse } from './token-verifier.ts';

/** Makes, lists and revokes our own tokens. A token's text is never stored, only its id. */
export class TokenIssuer {
  readonly #store: Store;
  readonly #secret: Uint8Array;

  constructor(store: Store, secret: Uint8Array) {
    this.#store = store;
    this.#secret = secret;
  }

  async create(
    userId: string,
    about: {
      name: string;
      scope: TokenScope;
      expiresInSeconds: number | undefined;
      projectId?: string | undefined;
    },
  ): Promise<{ token: string; row: TokenRow }> {
    const now = this.#store.now();
    const row: TokenRow = {
      id: newId(),
      user_id: userId,
      name: about.name,
      scope: about.scope,
      project_id: about.projectId ?? null,
      created_at: now,
      expires_at: about.expiresInSeconds === undefined ? null : now + about.expiresInSeconds * 1000,
      last_used_at: null,
      revoked_at: null,
    };
    await this.#store.write(function* (tx) {
      yield* tx.insert('tokens', row);
      tx.announce(userId, {
        audit: [{ action: 'token.made', subject: row.id, data: { name: row.name, scope: row.scope } }],
      });
    });
    return { token: await this.sign(row, 'bearer'), row };
  }

  /** Signs the token of a row. The cookie's token has a narrower use and is revoked together with it. */
  sign(row: TokenRow, use: TokenUse): Promise<string> {
    const jwt = new SignJWT({ scope: row.scope })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setSubject(row.user_id)
      .setJti(row.id)
      .setIssuer(ownIssuer)
      .setAudience(audienceOf(use))
      .setIssuedAt(Math.floor(row.created_at / 1000));
    if (row.expires_at !== null) jwt.setExpirationTime(Math.floor(row.expires_at / 1000));
    return jwt.sign(this.#secret);
  }

  list(userId: string): Promise<readonly TokenRow[]> {
    return this.#store.read((tx) => tx.tokensOf(userId));
  }

  async revoke(userId: string, tokenId: string): Promise<void> {
    const now = this.#store.now();
    await this.#store.write(function* (tx) {
      const row = yield* tx.get('tokens', tokenId);
      if (row?.user_id !== userId) throw notFound('token');
      if (row.revoked_at !== null) return;
      yield* tx.update('tokens', tokenId, { revoked_at: now });
      tx.announce(userId, { audit: [{ action: 'token.revoked', subject: tokenId, data: {} }] });
    });
  }
}
