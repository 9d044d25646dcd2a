import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InProcessBus, openSqliteStore } from '@countersign/store';
import { tokenRow } from '@countersign/testing';
import { exportJWK, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Authenticator } from './authenticator.ts';
import { TokenIssuer } from './token-issuer.ts';
import { TokenVerifier } from './token-verifier.ts';

const secret = new TextEncoder().encode('a secret for tests only, long enough');
const rate = { perSecond: 1, burst: 1 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function open() {
  const store = await openSqliteStore({ path: ':memory:', bus: new InProcessBus() });
  const verifier = new TokenVerifier(secret, undefined);
  const verify = vi.spyOn(verifier, 'verify');
  const errors: unknown[] = [];
  const authenticator = new Authenticator(store, verifier, { ordinary: rate, runner: rate }, (error) =>
    errors.push(error),
  );
  return { store, authenticator, tokens: new TokenIssuer(store, secret), verify, errors };
}
const about = { name: 'phone', scope: 'front_end', expiresInSeconds: 3600 } as const;

describe('[PF-1] a token', () => {
  it('is verified once, and then found in the cache synchronously', async () => {
    const { authenticator, tokens, verify } = await open();
    const { token, row } = await tokens.create('ada', about);
    const first = await authenticator.authenticate(token, 'bearer');
    expect(first).toMatchObject({ userId: 'ada', tokenId: row.id, scope: 'front_end', tokenName: 'phone' });
    expect(authenticator.authenticate(token, 'bearer')).toBe(first); // synchronous: not a promise
    expect(verify).toHaveBeenCalledTimes(1);
  });

  it('is cached until it expires', async () => {
    const { authenticator, tokens } = await open();
    const { token } = await tokens.create('ada', about);
    await authenticator.authenticate(token, 'bearer');
    vi.advanceTimersByTime(3600_000);
    expect(() => authenticator.authenticate(token, 'bearer')).toThrow(/expired/);
  });

  it('is forgotten when it is revoked here', async () => {
    const { authenticator, tokens } = await open();
    const { token, row } = await tokens.create('ada', about);
    const caller = await authenticator.authenticate(token, 'bearer');
    await tokens.revoke('ada', row.id);
    authenticator.forget(row.id);
    await expect(async () => authenticator.authenticate(token, 'bearer')).rejects.toThrow(/revoked/);
    expect(await authenticator.isStillValid(caller)).toBe(false);
  });

  it('is refused within seconds after it was revoked on another node', async () => {
    const { authenticator, tokens, verify } = await open();
    const { token, row } = await tokens.create('ada', about);
    await authenticator.authenticate(token, 'bearer');
    vi.advanceTimersByTime(6_000);
    await authenticator.authenticate(token, 'bearer');
    await tokens.revoke('ada', row.id);
    vi.advanceTimersByTime(6_000);
    await expect(async () => authenticator.authenticate(token, 'bearer')).rejects.toThrow(/revoked/);
    expect(verify).toHaveBeenCalledTimes(1); // the tokens table was read, but the signature was not verified again
  });

  it('is refused when the table says something else about its id', async () => {
    const { authenticator, store } = await open();
    await store.write(function* (tx) {
      yield* tx.insert(
        'tokens',
        tokenRow({ id: 'token-1', user_id: 'ada', scope: 'agent', revoked_at: null }),
      );
    });
    const sign = (claims: object) =>
      new SignJWT({ jti: 'token-1', ...claims }).setProtectedHeader({ alg: 'HS256' }).sign(secret);
    const forged = [
      { sub: 'ada', scope: 'person' },
      { sub: 'bob', scope: 'agent' },
    ];
    for (const claims of forged) {
      const token = await sign(claims);
      await expect(async () => authenticator.authenticate(token, 'bearer')).rejects.toThrow(
        /not one of ours/,
      );
    }
  });

  it('without an id gets one derived from its text', async () => {
    const { authenticator } = await open();
    const token = await new SignJWT({ sub: 'ada' }).setProtectedHeader({ alg: 'HS256' }).sign(secret);
    const caller = await authenticator.authenticate(token, 'bearer');
    expect(caller.tokenId).toMatch(/^sha256-[\w-]{43}$/);
    expect([caller.scope, caller.tokenName]).toEqual(['person', 'Person']);
    expect(await authenticator.isStillValid(caller)).toBe(true);
  });

  /**
   * Other spellings of the same bytes: 43 base64 characters have two unused bits at the end, and padding is optional.
   */
  const spellings = (token: string): string[] => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = alphabet.indexOf(token.at(-1) as string);
    return [1, 2, 3]
      .map((bits) => token.slice(0, -1) + alphabet[last + bits])
      .flatMap((text) => [text, `${text}=`])
      .concat(`${token}=`);
  };

  it('[RE-5] is valid in one spelling only', async () => {
    const { authenticator, tokens } = await open();
    const { token } = await tokens.create('ada', about);
    await authenticator.authenticate(token, 'bearer');
    for (const other of spellings(token))
      await expect(async () => authenticator.authenticate(other, 'bearer')).rejects.toThrow(/not written as/);
  });

  it('[RE-5] has one rate limit, even if its signature has a second valid form', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const keys = [{ ...(await exportJWK(publicKey)), kid: 'ec' }];
    const keysServer = createServer((_request, response) => response.end(JSON.stringify({ keys })));
    await new Promise<void>((resolve) => keysServer.listen(0, '127.0.0.1', resolve));
    const issuer = `http://127.0.0.1:${(keysServer.address() as AddressInfo).port}`;
    const trusted = { issuer, audience: 'countersign', jwksUrl: `${issuer}/keys` };
    const rates = { ordinary: rate, runner: rate };
    const authenticator = new Authenticator(
      await openSqliteStore({ path: ':memory:', bus: new InProcessBus() }),
      new TokenVerifier(secret, trusted),
      rates,
      () => {},
    );
    try {
      const token = await new SignJWT({ sub: 'ada', iss: issuer, aud: 'countersign' })
        .setProtectedHeader({ alg: 'ES256', kid: 'ec' })
        .setExpirationTime('1h')
        .sign(privateKey);
      const first = await authenticator.authenticate(token, 'bearer');
      const second = await authenticator.authenticate(withOtherSignature(token), 'bearer');
      expect(second.tokenId).toBe(first.tokenId); // limits and the right to cancel depend on it
      expect([first.requests.take(0), second.requests.take(0)]).toEqual([0, 1]);
    } finally {
      keysServer.close();
    }
  });

  /** (r, n - s) is as valid as (r, s). */
  function withOtherSignature(token: string): string {
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
    const at = token.lastIndexOf('.') + 1;
    const signature = Buffer.from(token.slice(at), 'base64url');
    const s = order - BigInt(`0x${signature.toString('hex', 32)}`);
    signature.write(s.toString(16).padStart(64, '0'), 32, 'hex');
    return token.slice(0, at) + signature.toString('base64url');
  }

  it('[RE-5] keeps its rate limit when it leaves the cache and is verified again', async () => {
    const { authenticator, tokens } = await open();
    const { token, row } = await tokens.create('ada', about);
    const first = await authenticator.authenticate(token, 'bearer');
    authenticator.forget(row.id);
    const second = await authenticator.authenticate(token, 'bearer');
    expect([first.requests.take(0), second.requests.take(0)]).toEqual([0, 1]);
  });

  it('says when it was last used, about', async () => {
    const { authenticator, tokens } = await open();
    const { token } = await tokens.create('ada', about);
    await authenticator.authenticate(token, 'bearer');
    await vi.waitFor(async () => expect((await tokens.list('ada'))[0]?.last_used_at).not.toBeNull());
  });

  it('is cached among a limited number of tokens', async () => {
    const { authenticator, verify } = await open();
    const tokens: string[] = [];
    for (let i = 0; i <= 10_000; i += 1) {
      tokens.push(await new SignJWT({ sub: `user-${i}` }).setProtectedHeader({ alg: 'HS256' }).sign(secret));
    }
    for (const token of tokens) await authenticator.authenticate(token, 'bearer');
    verify.mockClear();
    expect(authenticator.authenticate(tokens.at(-1) as string, 'bearer')).not.toBeInstanceOf(Promise);
    await authenticator.authenticate(tokens[0] as string, 'bearer');
    expect(verify).toHaveBeenCalledTimes(1);
  });
});
