import { Refusal } from '@countersign/engine';
import type { TokenScope } from '@countersign/protocol';
import { createRemoteJWKSet, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';

/** The claims of a token whose signature and times were checked. */
export interface VerifiedToken {
  readonly userId: string;
  /** The `jti`; undefined for a token that has none. */
  readonly tokenId: string | undefined;
  readonly scope: TokenScope;
  /** Milliseconds since 1970; undefined if it does not expire. */
  readonly expiresAt: number | undefined;
}

export interface TrustedIssuer {
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUrl: string;
}

/** A bearer token speaks for its person; a stream token is in a cookie and only reads streams (RE-5). */
export type TokenUse = 'bearer' | 'stream';

export const ownIssuer = 'countersign';
export const audienceOf = (use: TokenUse): string =>
  use === 'bearer' ? 'countersign' : 'countersign:stream';

/** Accepted with an issuer's keys. Never HMAC algorithms, because the issuer's keys are public. */
const publicKeyAlgorithms = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'];
/** Headers that name a key; a token signed with our secret must not have them. */
const keyHeaders = ['kid', 'jku', 'jwk', 'x5u', 'x5c', 'x5t'];
const tokenScopes: readonly TokenScope[] = ['person', 'front_end', 'runner', 'agent'];
const CLOCK_TOLERANCE_SECONDS = 5;

/**
 * Checks bearer tokens (RE-5). HS256 is checked only with the configured secret, every other algorithm only with the
 * issuer's published keys, so that no token can choose the wrong kind of key.
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
    // A bearer token may leave audience and issuer out. If they are there, they must be ours.
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
 * Accepts one spelling of each signature. Decoding is lenient (padding, `+` for `-`, unused bits), so one token would have
 * many spellings. Header and claims have only one, because their text is signed.
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

/** No scope means person. A list may contain scopes of other services beside exactly one of ours. */
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
  // All other errors of jose are the token's fault, such as a key that the issuer does not publish.
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
