import { hash } from 'node:crypto';
import { type Caller, Refusal, type Store } from '@countersign/engine';
import { setNewest } from '../set-newest.ts';
import { type Rate, TokenBucket } from './token-bucket.ts';
import type { TokenUse, TokenVerifier, VerifiedToken } from './token-verifier.ts';

/** A caller whose token was checked, with the data that the HTTP layer needs. */
export interface AuthenticatedCaller extends Caller {
  /** The name of the token, shown as the device of a decision that names none (AP-9). */
  readonly tokenName: string;
  readonly use: TokenUse;
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  readonly requests: TokenBucket;
  readonly runnerRequests: TokenBucket;
}

export interface Rates {
  readonly ordinary: Rate;
  readonly runner: Rate;
}

interface Known {
  readonly caller: AuthenticatedCaller;
  /** When the tokens table was last read, in monotonic milliseconds. */
  checkedAt: number;
}

const MAX_KNOWN = 10_000;
/** How often the tokens table is read again, if no other node can revoke tokens. */
const RECHECK_MS = 5_000;
/** `last_used_at` need not be exact, because only people read it. */
const LAST_USED_EVERY_MS = 60_000;

/**
 * Finds the caller from the token alone (RE-5). A verified token is cached by the hash of its text until it expires or is
 * revoked, so that a known token costs a hash and a look-up (PF-1). If several nodes share the database, the tokens table
 * is read each time, so that a revoked token is refused by all nodes at once.
 */
export class Authenticator {
  readonly #store: Store;
  readonly #verifier: TokenVerifier;
  readonly #rates: Rates;
  readonly #onError: (error: unknown) => void;
  /** By the hash of the token's text. */
  readonly #known = new Map<string, Known>();
  /** By the token's identity, so that another spelling of the same token does not get a rate limit of its own. */
  readonly #buckets = new Map<string, Pick<AuthenticatedCaller, 'requests' | 'runnerRequests'>>();

  constructor(store: Store, verifier: TokenVerifier, rates: Rates, onError: (error: unknown) => void) {
    this.#store = store;
    this.#verifier = verifier;
    this.#rates = rates;
    this.#onError = onError;
  }

  /** Synchronous for a cached token, which is the usual case. Throws UNAUTHENTICATED. */
  authenticate(token: string, use: TokenUse): AuthenticatedCaller | Promise<AuthenticatedCaller> {
    const key = use + hash('sha256', token, 'base64url');
    const known = this.#known.get(key);
    if (!known) return this.#verify(key, token, use);
    if (isPast(known.caller.expiresAt)) {
      this.#known.delete(key);
      throw new Refusal('UNAUTHENTICATED', { problem: 'it has expired' });
    }
    if (this.#store.isShared || performance.now() - known.checkedAt > RECHECK_MS)
      return this.#recheck(key, known);
    return known.caller;
  }

  /** Whether a stream that was opened with this token may stay open. */
  async isStillValid({ tokenId, userId, expiresAt }: AuthenticatedCaller): Promise<boolean> {
    if (isPast(expiresAt)) return false;
    const row = await this.#store.read((tx) => tx.get('tokens', tokenId));
    return !row || (row.user_id === userId && row.revoked_at === null);
  }

  /** Drops a revoked token from the cache. */
  forget(tokenId: string): void {
    for (const [key, { caller }] of this.#known) if (caller.tokenId === tokenId) this.#known.delete(key);
  }

  async #verify(key: string, token: string, use: TokenUse): Promise<AuthenticatedCaller> {
    const verified = await this.#verifier.verify(token, use);
    const tokenId = verified.tokenId ?? `sha256-${hash('sha256', signedPart(token), 'base64url')}`;
    const { scope, name, projectId } = await this.#lookUp(tokenId, verified);
    const now = performance.now();
    const caller: AuthenticatedCaller = {
      userId: verified.userId,
      tokenId,
      scope,
      ...(projectId !== null && { projectId }),
      tokenName: name,
      use,
      expiresAt: verified.expiresAt,
      ...this.#bucketsOf(`${use} ${tokenId} ${verified.userId}`, now),
    };
    setNewest(this.#known, key, { caller, checkedAt: now }, MAX_KNOWN);
    return caller;
  }

  async #recheck(key: string, known: Known): Promise<AuthenticatedCaller> {
    try {
      await this.#lookUp(known.caller.tokenId, known.caller);
    } catch (error) {
      this.#known.delete(key);
      throw error;
    }
    known.checkedAt = performance.now();
    setNewest(this.#known, key, known, MAX_KNOWN);
    return known.caller;
  }

  /** Our own tokens are in the table; an issuer's token is there only if it was revoked. */
  async #lookUp(
    tokenId: string,
    { userId, scope }: Pick<VerifiedToken, 'userId' | 'scope'>,
  ): Promise<{ scope: Caller['scope']; name: string; projectId: string | null }> {
    const row = await this.#store.read((tx) => tx.get('tokens', tokenId));
    if (!row) return { scope, name: nameOf[scope], projectId: null };
    if (row.user_id !== userId || row.scope !== scope)
      throw new Refusal('UNAUTHENTICATED', { problem: 'it is not one of ours' });
    if (row.revoked_at !== null) throw new Refusal('UNAUTHENTICATED', { problem: 'it was revoked' });
    const now = this.#store.now();
    if (now - (row.last_used_at ?? 0) > LAST_USED_EVERY_MS) {
      this.#store
        .write(function* (tx) {
          yield* tx.update('tokens', tokenId, { last_used_at: now });
        })
        .catch(this.#onError);
    }
    return { scope: row.scope, name: row.name, projectId: row.project_id };
  }

  #bucketsOf(identity: string, now: number): Pick<AuthenticatedCaller, 'requests' | 'runnerRequests'> {
    const buckets = this.#buckets.get(identity) ?? {
      requests: new TokenBucket(this.#rates.ordinary, now),
      runnerRequests: new TokenBucket(this.#rates.runner, now),
    };
    setNewest(this.#buckets, identity, buckets, MAX_KNOWN);
    return buckets;
  }
}

/** Header and claims, without the signature: an elliptic-curve signature has a second valid form. */
const signedPart = (token: string): string => token.slice(0, token.lastIndexOf('.'));

/** Names for tokens that we did not make. */
const nameOf = {
  person: 'Person',
  front_end: 'Front end',
  runner: 'Runner',
  agent: 'Outside agent',
} as const;

const isPast = (expiresAt: number | undefined): boolean => expiresAt !== undefined && expiresAt <= Date.now();
