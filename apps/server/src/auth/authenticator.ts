import { hash } from 'node:crypto';
import { type Caller, Refusal, type Store } from '@countersign/engine';
import { type Rate, TokenBucket } from './token-bucket.ts';
import type { TokenUse, TokenVerifier, VerifiedToken } from './token-verifier.ts';

/** A caller whose token was checked, and what the HTTP layer keeps about it. */
export interface AuthenticatedCaller extends Caller {
  /** What the person called the token; shown as the device of a decision that names none (AP-9). */
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
  /** Monotonic milliseconds of the last look at the tokens table. */
  checkedAt: number;
}

const MAX_KNOWN = 10_000;
/** Where no other node can revoke a token, the table is looked at again after this; where one can, each time. */
const RECHECK_MS = 5_000;
/** `last_used_at` is for people; it need not be exact. */
const LAST_USED_EVERY_MS = 60_000;

/**
 * Who is calling, from the token alone (RE-5). A verified token is remembered by the hash of its text until it expires or is
 * revoked, so that a known one costs a hash and a look-up (PF-1). Where several nodes share the database, the look-up is
 * in its table: what one node revokes is revoked on all of them at once.
 */
export class Authenticator {
  readonly #store: Store;
  readonly #verifier: TokenVerifier;
  readonly #rates: Rates;
  readonly #onError: (error: unknown) => void;
  /** By the text of the token: what was checked once, letter by letter. */
  readonly #known = new Map<string, Known>();
  /** By the identity of the token, so that no second spelling and no second verification gives a second limit. */
  readonly #buckets = new Map<string, Pick<AuthenticatedCaller, 'requests' | 'runnerRequests'>>();

  constructor(store: Store, verifier: TokenVerifier, rates: Rates, onError: (error: unknown) => void) {
    this.#store = store;
    this.#verifier = verifier;
    this.#rates = rates;
    this.#onError = onError;
  }

  /** Synchronously for a token that is known, which nearly all are. Throws UNAUTHENTICATED. */
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

  /** Whether a stream that was opened with this token may go on. */
  async isStillValid({ tokenId, userId, expiresAt }: AuthenticatedCaller): Promise<boolean> {
    if (isPast(expiresAt)) return false;
    const row = await this.#store.read((tx) => tx.get('tokens', tokenId));
    return !row || (row.user_id === userId && row.revoked_at === null);
  }

  /** The token was revoked: nobody gets in by it any more. */
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
    putLast(this.#known, key, { caller, checkedAt: now });
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
    putLast(this.#known, key, known);
    return known.caller;
  }

  /** A token that we made is in the table; one of an issuer is there only if it was revoked. */
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
    putLast(this.#buckets, identity, buckets);
    return buckets;
  }
}

/** At most MAX_KNOWN entries: the one that was put there the longest ago goes first. */
function putLast<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_KNOWN) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    break;
  }
}

/** Header and claims. An elliptic-curve signature has a second form that is valid as well; what it signs has not. */
const signedPart = (token: string): string => token.slice(0, token.lastIndexOf('.'));

/** Of a token that we did not make: it has no name of its own. */
const nameOf = {
  person: 'Person',
  front_end: 'Front end',
  runner: 'Runner',
  agent: 'Outside agent',
} as const;

const isPast = (expiresAt: number | undefined): boolean => expiresAt !== undefined && expiresAt <= Date.now();
