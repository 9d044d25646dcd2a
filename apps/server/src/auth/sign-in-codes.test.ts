import { expect, it } from 'vitest';
import { SignInCodes } from './sign-in-codes.ts';

it('[RE-5] is good once', () => {
  const codes = new SignInCodes(() => 0);
  const code = codes.create('ada');
  expect([codes.redeem(code), codes.redeem(code)]).toEqual(['ada', undefined]);
});

it('[RE-5] is good for 60 s', () => {
  let now = 0;
  const codes = new SignInCodes(() => now);
  const [early, late] = [codes.create('ada'), codes.create('ada')];
  now = 59_999;
  expect(codes.redeem(early)).toBe('ada');
  now = 60_000;
  expect(codes.redeem(late)).toBeUndefined();
});

it('does not pile up', () => {
  const codes = new SignInCodes(() => 0);
  const first = codes.create('ada');
  for (let i = 0; i < 200; i++) codes.create('ada');
  expect(codes.redeem(first)).toBeUndefined();
});
