import { describe, expect, it } from 'vitest';
import { isToken, readServerAddress, readSignInLink, tokenEndOf, tokenIdOf } from './sign-in.ts';

const code = 'abcdefghijklmnop_1-2';

describe('[RE-5] what a person pastes', () => {
  it('is a link or the code alone', () => {
    expect(readSignInLink(code)).toEqual({ code });
    expect(readSignInLink(`http://127.0.0.1:4180/#sign-in=${code}`)).toEqual({
      server: 'http://127.0.0.1:4180/',
      code,
    });
  });

  it('may be a token, which is no link and no code', () => {
    const claims = Buffer.from('{"jti":"t1","exp":1893456000}').toString('base64url');
    const token = `eyJhbGciOiJIUzI1NiJ9.${claims}.c2lnbmF0dXJl`;
    expect([isToken(token), readSignInLink(token)]).toEqual([true, undefined]);
    expect([tokenIdOf(token), tokenEndOf(token)]).toEqual(['t1', '2030-01-01T00:00:00.000Z']);
    for (const text of ['a.b', `${token} x`, `${token}.x`, code]) expect(isToken(text)).toBe(false);
    expect(['a.bnVsbA.c', 'a.b.c', 'a.eyJleHAiOjFlOTl9.c'].map(tokenEndOf)).toEqual(Array(3).fill(undefined));
  });

  it.each([
    '',
    'short',
    'http://127.0.0.1:4180/',
    `http://127.0.0.1:4180/?sign-in=${code}`,
    'http://x/#sign-in=',
  ])('is not %j', (text) => {
    expect(readSignInLink(text)).toBeUndefined();
  });
});

describe('[RE-5] an address', () => {
  it.each([
    ['http://127.0.0.1:4180/', { address: 'http://127.0.0.1:4180' }],
    ['http://localhost:4180', { address: 'http://localhost:4180' }],
    ['https://example.org/countersign/', { address: 'https://example.org/countersign' }],
    ['http://example.org', { problem: 'plain', origin: 'http://example.org' }],
    ['http://127.0.0.1.example.org', { problem: 'plain', origin: 'http://127.0.0.1.example.org' }],
    ['https://me:word@example.org', { problem: 'secret', origin: 'https://example.org' }],
    ['https://example.org/?token=x', { problem: 'secret', origin: 'https://example.org' }],
    ['ftp://example.org', { problem: 'malformed', origin: 'ftp://example.org' }],
    ['nowhere', { problem: 'malformed', origin: 'nowhere' }],
  ])('%s', (text, expected) => {
    expect(readServerAddress(text)).toEqual(expected);
  });

  it('may be in the clear where the person says so', () => {
    expect(readServerAddress('http://example.org', { allowHttp: true })).toEqual({
      address: 'http://example.org',
    });
  });
});

describe('the id of a token', () => {
  it('is known of our own tokens only', () => {
    const token = (claims: object) => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
    expect([token({ jti: 'one' }), token({ jti: 1 }), token({}), 'opaque'].map(tokenIdOf)).toEqual([
      'one',
      undefined,
      undefined,
      undefined,
    ]);
  });
});
