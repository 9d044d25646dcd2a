import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, type JWTHeaderParameters, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TokenVerifier } from './token-verifier.ts';

const secret = new TextEncoder().encode('a secret for tests only, long enough');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });

let keysServer: Server;
let issuer: string;
let verifier: TokenVerifier;

beforeAll(async () => {
  const keys = await Promise.all(
    Object.entries({ rsa, ec, ed }).map(async ([kid, { publicKey }]) => ({
      ...(await exportJWK(publicKey)),
      kid,
    })),
  );
  keysServer = createServer((_request, response) => response.end(JSON.stringify({ keys }))).listen(
    0,
    '127.0.0.1',
  );
  await new Promise((resolve) => keysServer.once('listening', resolve));
  issuer = `http://127.0.0.1:${(keysServer.address() as AddressInfo).port}`;
  verifier = new TokenVerifier(secret, { issuer, audience: 'countersign', jwksUrl: `${issuer}/keys` });
});
afterAll(() => keysServer.close());

const now = () => Math.floor(Date.now() / 1000);
const claimsOf = (more: object) => ({
  sub: 'ada',
  iss: issuer,
  aud: 'countersign',
  exp: now() + 600,
  ...more,
});
const issued = (more: object = {}, header: Partial<JWTHeaderParameters> = {}, key = rsa.privateKey) =>
  new SignJWT(claimsOf(more)).setProtectedHeader({ alg: 'RS256', kid: 'rsa', ...header }).sign(key);
const shared = (claims: object, header: object = {}, key: Uint8Array = secret) =>
  new SignJWT({ sub: 'ada', ...claims }).setProtectedHeader({ alg: 'HS256', ...header }).sign(key);

describe('[RE-5] tokens of the issuer', () => {
  it.each([
    ['RS256', 'rsa', rsa],
    ['PS256', 'rsa', rsa],
    ['ES256', 'ec', ec],
    ['EdDSA', 'ed', ed],
  ] as const)('are accepted with %s', async (alg, kid, { privateKey }) => {
    const token = await issued({ jti: 'token-1', scope: 'openid runner' }, { alg, kid }, privateKey);
    expect(await verifier.verify(token, 'bearer')).toEqual({
      userId: 'ada',
      tokenId: 'token-1',
      scope: 'runner',
      expiresAt: expect.any(Number),
    });
  });

  it.each<[string, () => Promise<string>]>([
    ['another audience', () => issued({ aud: 'another service' })],
    ['no audience', () => issued({ aud: undefined })],
    ['another issuer', () => issued({ iss: 'https://elsewhere.example' })],
    ['no expiry', () => issued({ exp: undefined })],
    ['an expiry that has passed', () => issued({ exp: now() - 60 })],
    ['a time before it counts', () => issued({ nbf: now() + 600 })],
    ['no subject', () => issued({ sub: undefined })],
    ['a subject with a line break', () => issued({ sub: 'a\nb' })],
    ['a scope that is none of ours', () => issued({ scope: 'openid profile' })],
    ['two scopes of ours', () => issued({ scope: 'agent person' })],
    ['a scope that is no text', () => issued({ scope: ['person'] })],
    ['a key that is not published', () => issued({}, { kid: 'another' }, stranger.privateKey)],
    ['the name of a published key and another one', () => issued({}, { kid: 'rsa' }, stranger.privateKey)],
    [
      'a key that it brings along',
      () => issued({}, { kid: 'x', jku: 'http://127.0.0.1:1/' }, stranger.privateKey),
    ],
    [
      'an extension that must be understood',
      () => issued({}, { crit: ['x'], x: 1 } as never).catch(() => 'a.b.c'),
    ],
  ])('are refused with %s', async (_what, make) => {
    await expect(verifier.verify(await make(), 'bearer')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('are not taken for a cookie', async () => {
    await expect(verifier.verify(await issued(), 'stream')).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
  });

  it('wait for the issuer when its keys cannot be fetched', async () => {
    const unreachable = new TokenVerifier(secret, {
      issuer,
      audience: 'countersign',
      jwksUrl: 'http://127.0.0.1:1/',
    });
    await expect(unreachable.verify(await issued(), 'bearer')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('are refused where no issuer is configured', async () => {
    const alone = new TokenVerifier(secret, undefined);
    await expect(alone.verify(await issued(), 'bearer')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});

describe('[RE-5] tokens with the shared secret', () => {
  it('are accepted, as a person unless they say otherwise', async () => {
    const token = await shared({});
    expect(await verifier.verify(token, 'bearer')).toEqual({
      userId: 'ada',
      tokenId: undefined,
      scope: 'person',
      expiresAt: undefined,
    });
    expect(await verifier.verify(await shared({ scope: 'agent' }), 'bearer')).toMatchObject({
      scope: 'agent',
    });
  });

  it.each<[string, () => string | Promise<string>]>([
    [
      'another secret',
      () => shared({}, {}, new TextEncoder().encode('a secret of somebody else, long enough')),
    ],
    ["the issuer's public key as secret", () => shared({}, {}, pem(rsa.publicKey))],
    ['an empty secret', () => shared({}, { kid: '/dev/null' }, new Uint8Array([0]))],
    ['the name of a key, even with the right secret', () => shared({}, { kid: '/dev/null' })],
    ['a key that it brings along', () => shared({}, { jwk: { kty: 'oct', k: 'AA' } })],
    ['no algorithm', () => new UnsecuredJWT({ sub: 'ada' }).encode()],
    ['another purpose', () => shared({ aud: 'countersign:stream' })],
    ['another maker', () => shared({ iss: 'https://elsewhere.example' })],
    ['an expiry that has passed', () => shared({ exp: now() - 60 })],
    ['a time before it counts', () => shared({ nbf: now() + 600 })],
    ['a scope that nobody knows', () => shared({ scope: 'admin' })],
    ['no subject', () => shared({ sub: undefined })],
    ['nothing in it', () => ''],
    ['no structure', () => 'not a token'],
    ['parts that are no JSON', () => 'e30.e30.e30'],
  ])('are refused with %s', async (_what, make) => {
    await expect(verifier.verify(await make(), 'bearer')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('are accepted in a cookie only if they were made for one', async () => {
    expect(await verifier.verify(await shared({ aud: 'countersign:stream' }), 'stream')).toMatchObject({
      userId: 'ada',
    });
    await expect(verifier.verify(await shared({}), 'stream')).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
  });
});

const pem = (key: typeof rsa.publicKey): Uint8Array =>
  new TextEncoder().encode(key.export({ type: 'spki', format: 'pem' }).toString());
