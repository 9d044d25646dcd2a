import { expect, it } from 'vitest';
import { SignInCodes } from './sign-in-codes.ts';

const secret = Buffer.alloc(32, 7);
const start = Date.UTC(2026, 10, 16);

it('[RE-5] is good once', () => {
  const codes = new SignInCodes(secret, 'ada', () => start);
  const code = codes.create();
  expect([codes.redeem(code), codes.redeem(code)]).toEqual(['ada', undefined]);
  // The same code in another spelling: base64 ignores characters outside its alphabet.
  const again = codes.create();
  expect([codes.redeem(again), codes.redeem(`${again}=`), codes.redeem(`${again}!`)]).toEqual([
    'ada',
    undefined,
    undefined,
  ]);
});

it('[RE-5] is good for 60 s', () => {
  let now = start;
  const codes = new SignInCodes(secret, 'ada', () => now);
  const [early, late] = [codes.create(), codes.create()];
  now += 59_999;
  expect(codes.redeem(early)).toBe('ada');
  now += 1;
  expect(codes.redeem(late)).toBeUndefined();
  expect(codes.redeem(early)).toBeUndefined();
});

it('[RE-5] is good once also to a clock that was set back since', () => {
  let now = start;
  const codes = new SignInCodes(secret, 'ada', () => now);
  const code = codes.create();
  now += 1_000;
  expect(codes.redeem(code)).toBe('ada');
  now += 120_000;
  expect(codes.redeem(codes.create())).toBe('ada');
  now -= 110_000;
  expect(codes.redeem(code)).toBeUndefined();
});

it('[RE-5] is valid even if the clock was set back after the server had started', () => {
  let now = start;
  const clock = () => now;
  const server = new SignInCodes(secret, 'ada', clock);
  now -= 3 * 3600 * 1000;
  const [own, beside] = [server.create(), new SignInCodes(secret, 'ada', clock).create()];
  now += 1_000;
  expect([own, beside, own].map((code) => server.redeem(code))).toEqual(['ada', 'ada', undefined]);
  now += 60_000;
  expect(server.redeem(new SignInCodes(secret, 'ada', () => now - 60_000).create())).toBeUndefined();
});

it('[RE-5] may be made by another process that has the secret, for the same person', () => {
  const server = new SignInCodes(secret, 'ada', () => start);
  const beside = (key: Uint8Array, user: string) => new SignInCodes(key, user, () => start).create();
  expect(server.redeem(beside(secret, 'ada'))).toBe('ada');
  expect(server.redeem(beside(secret, 'eve'))).toBeUndefined();
  expect(server.redeem(beside(Buffer.alloc(32, 8), 'ada'))).toBeUndefined();
});

it('[RE-5] does not outlive the server, is not from its future, and cannot be changed', () => {
  const code = new SignInCodes(secret, 'ada', () => start).create();
  expect(new SignInCodes(secret, 'ada', () => start + 1).redeem(code)).toBeUndefined();
  const later = new SignInCodes(secret, 'ada', () => start + 10).create();
  const codes = new SignInCodes(secret, 'ada', () => start);
  expect(codes.redeem(later)).toBeUndefined();
  const bytes = Buffer.from(codes.create(), 'base64url');
  for (let i = 0; i < bytes.length; i += 1) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(i) ^ 1, i);
    expect(codes.redeem(changed.toString('base64url'))).toBeUndefined();
  }
  for (const nonsense of ['', 'A', 'A'.repeat(200)]) expect(codes.redeem(nonsense)).toBeUndefined();
});
