import { expect, it } from 'vitest';
import { RateLimiter, TokenBucket } from './token-bucket.ts';

it('lets a burst through, then so many a second, and says when to come again', () => {
  const rate = { perSecond: 2, burst: 3 };
  const bucket = new TokenBucket(rate, 0);
  const takes = [0, 0, 0, 0, 100, 500, 500].map((at) => bucket.take(at));
  expect(takes).toEqual([0, 0, 0, 1, 1, 0, 1]);
});

it('never saves up more than a burst', () => {
  const rate = { perSecond: 2, burst: 3 };
  const bucket = new TokenBucket(rate, 0);
  const takes = [60_000, 60_000, 60_000, 60_000].map((at) => bucket.take(at));
  expect(takes).toEqual([0, 0, 0, 1]);
});

it('counts each address for itself, and forgets the longest unused', () => {
  const limiter = new RateLimiter({ perSecond: 1, burst: 1 }, 2);
  expect(['a', 'a', 'b', 'a', 'c', 'a', 'b'].map((address) => limiter.take(address, 0))).toEqual([
    0, 1, 0, 1, 0, 1, 0,
  ]);
});
