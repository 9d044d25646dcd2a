import { describe, expect, it } from 'vitest';
import { readServerAddress } from './server-address.ts';
import { readSignInLink } from './sign-in-link.ts';
import { tokenIdOf } from './token-id.ts';

const code = 'abcdefghijklmnop_1-2';

describe('[RE-5] what a person pastes', () => {
  it('is a link or the code alone', () => {
    expect(readSignInLink(code)).toEqual({ code });
    expect(readSignInLink(`http://127.0.0.1:4180/#sign-in=${code}`)).toEqual({
      server: 'http://127.0.0.1:4180/',
      code,
    });
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
