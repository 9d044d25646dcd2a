import { Refusal } from '@countersign/engine';
import type { TokenScope } from '@countersign/protocol';
import { createRemoteJWKSet, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';

/** What a token says, once its signature and times have been checked. */
export interface VerifiedToken {
  readonly userId: string;
  /** The `jti`; undefined for a token that has none. */
  readonly tokenId: string | undefined;
  readonly scope: TokenScope;
  /** Milliseconds since 1970; undefined: it does not expire. */
  readonly expiresAt: number | undefined;
}

export interface TrustedIssuer {
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUrl: string;
}

/** A bearer token speaks for its person; a stream token stands in a cookie and only reads streams (RE-5). */
export type TokenUse = 'bearer' | 'stream';

export const ownIssuer = 'countersign';
export const audienceOf = (use: TokenUse): string =>
  use === 'bearer' ? 'countersign' : 'countersign:stream';

/** Of an issuer's keys. The HMAC algorithms are not among them, and never will be: its keys are public. */
const publicKeyAlgorithms = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'];
/** Headers that name a key. With a shared secret there is nothing to name. */
const keyHeaders = ['kid', 'jku', 'jwk', 'x5u', 'x5c', 'x5t'];
const tokenScopes: readonly TokenScope[] = ['person', 'front_end', 'runner', 'agent'];
const CLOCK_TOLERANCE_SECONDS = 5;

/**
 * Checks bearer tokens (RE-5). The algorithm chooses the family of keys, and the families never meet: HS256 is
 * checked with the configured secret only, everything else with the issuer's published keys only.
 */
export class TokenVerifier {
  readonly #secret: Uint8Array;
  readonly #issuer: TrustedIssuer | undefined;
  readonly #issuerKeys: ReturnType<typeof createRemoteJWKSet> | undefined;

  constructor(secret: Uint8Array, issuer: TrustedIssuer | undefined) {
    this.#secret = secret;
    this.#issuer = issuer;
    this.#issuerKeys = issuer && createRemoteJWKSet(new URL(issuer.jwksUrl), { timeoutDuration: 5_000 });
  }

  async verify(token: string, use: TokenUse): Promise<VerifiedToken> {
    try {
      const header = decodeProtectedHeader(token);
      requireCanonicalSignature(token);
      const claims =
        header.alg === 'HS256'
          ? await this.#verifyOwn(token, header, use)
          : await this.#verifyIssued(token, use);
      return readClaims(claims);
    } catch (error) {
      throw asRefusal(error);
    }
  }

  async #verifyOwn(token: string, header: object, use: TokenUse): Promise<JWTPayload> {
    if (keyHeaders.some((name) => Object.hasOwn(header, name))) throw invalid('it names a key');
    const { payload } = await jwtVerify(token, this.#secret, {
      algorithms: ['HS256'],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['sub'],
    });
    // Whoever shares the secret may leave them out in a bearer token; what is there must be meant for us.
    const audiences = payload.aud === undefined ? [] : [payload.aud].flat();
    const isForUs = audiences.length === 0 ? use === 'bearer' : audiences.includes(audienceOf(use));
    const isFromUs =
      payload.iss === undefined || payload.iss === ownIssuer || payload.iss === this.#issuer?.issuer;
    if (!isForUs || !isFromUs) throw invalid('it was made for another purpose');
    return payload;
  }

  async #verifyIssued(token: string, use: TokenUse): Promise<JWTPayload> {
    if (!this.#issuer || !this.#issuerKeys || use !== 'bearer')
      throw invalid('its algorithm is not accepted here');
    const { payload } = await jwtVerify(token, this.#issuerKeys, {
      algorithms: publicKeyAlgorithms,
      issuer: this.#issuer.issuer,
      audience: this.#issuer.audience,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['sub', 'exp'],
    });
    return payload;
  }
}

/**
 * A signature is read leniently: padding, `+` for `-` and the unused bits of its last character do not count, so one
 * token has many spellings. Header and claims have one: it is their text that is signed.
 */
function requireCanonicalSignature(token: string): void {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  if (Buffer.from(signature, 'base64url').toString('base64url') !== signature)
    throw invalid('its signature is not written as it was made');
}

function readClaims({ sub, jti, exp, scope }: JWTPayload): VerifiedToken {
  if (typeof sub !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(sub))
    throw invalid('its subject is not usable');
  return {
    userId: sub,
    tokenId: typeof jti === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(jti) ? jti : undefined,
    scope: readScope(scope),
    expiresAt: exp === undefined ? undefined : exp * 1000,
  };
}

/** None is a person; a list may hold others' words beside one of ours; a word we do not know gives nothing. */
function readScope(claim: unknown): TokenScope {
  if (claim === undefined) return 'person';
  const words = typeof claim === 'string' ? claim.split(' ') : [];
  const ours = tokenScopes.filter((scope) => words.includes(scope));
  if (ours.length !== 1) throw invalid(`its scope must be one of ${tokenScopes.join(', ')}`);
  return ours[0] as TokenScope;
}

const invalid = (problem: string): Refusal => new Refusal('UNAUTHENTICATED', { problem });

function asRefusal(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  if (error instanceof errors.JWTExpired) return invalid('it has expired');
  if (error instanceof errors.JWKSTimeout) return unreachable();
  // A key that the issuer does not publish is the token's fault; everything else that jose throws, too.
  if (error instanceof errors.JOSEError || error instanceof TypeError) {
    return isFetchFailure(error) ? unreachable() : invalid('it is not one of ours');
  }
  return error;
}

const isFetchFailure = (error: Error): boolean =>
  error.message === 'fetch failed' ||
  ('cause' in error &&
    error.cause instanceof Error &&
    /ECONN|ENOTFOUND|EAI_AGAIN/.test(String((error.cause as NodeJS.ErrnoException).code)));
const unreachable = (): Refusal =>
  new Refusal('UNAVAILABLE', { problem: "the token issuer's keys cannot be fetched" });
