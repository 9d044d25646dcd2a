import { CountersignError } from '@countersign/protocol';
import { ManualClock, settle } from '@countersign/testing';
import { beforeEach, expect, it } from 'vitest';
import { RecordedLogger } from './handler-fixture.test-data.ts';
import { type RetryOptions, retry } from './retry.ts';

let clock: ManualClock;
let logger: RecordedLogger;
let stop: AbortController;
let tries: number;

beforeEach(() => {
  clock = new ManualClock();
  logger = new RecordedLogger();
  stop = new AbortController();
  tries = 0;
});

/** Fails with these errors, one after the other, then succeeds. */
function start(failures: unknown[], options: Partial<RetryOptions> = {}): Promise<unknown> {
  const send = async () => {
    tries += 1;
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return 'done';
  };
  const outcome = retry(send, {
    clock,
    logger,
    failureMessage: 'It failed',
    signal: stop.signal,
    ...options,
  });
  return outcome.catch((error: Error) => error.message);
}

const offline = (times: number) => Array.from({ length: times }, (_, i) => new Error(`offline ${i + 1}`));

it.each([
  [200, 500],
  [7_000, 7_000],
  [3_600_000, 60_000],
])('waits as long as the server asks: %s ms are %s', async (retryAfterMs, ms) => {
  const busy = new CountersignError(
    'RATE_LIMITED',
    {},
    { cause: Object.assign(new Error(), { retryAfterMs }) },
  );
  const outcome = start([busy]);
  await clock.advance(ms - 1);
  expect(tries).toBe(1);
  await clock.advance(1);
  expect(await outcome).toBe('done');
});

it('[EX-6] tries again after 0.5 s, then twice as long each time, and says so', async () => {
  const outcome = start(offline(3));
  for (const [i, ms] of [500, 1_000, 2_000].entries()) {
    await clock.advance(ms - 1);
    expect(tries).toBe(i + 1);
    await clock.advance(1);
  }
  expect(await outcome).toBe('done');
  expect(logger.messages('error')).toEqual(['It failed, try 1', 'It failed, try 2', 'It failed, try 3']);
});

it('[RN-1] gives up after as many times as it was told', async () => {
  const outcome = start(offline(9), { times: 3 });
  await clock.advance(3_500);
  expect([await outcome, tries]).toEqual(['offline 4', 4]);
});

it('does not repeat what the server refuses, and does repeat what it asks to repeat', async () => {
  const refused = start([new CountersignError('NOT_FOUND', { what: 'call' })]);
  expect([await refused, tries, logger.lines]).toEqual([expect.stringContaining('no call'), 1, []]);
  const outcome = start([new CountersignError('UNAVAILABLE', { problem: 'x' })]);
  await clock.advance(500);
  expect(await outcome).toBe('done');
});

it('stops when its signal is aborted, even between two tries', async () => {
  const outcome = start(offline(9));
  await settle();
  stop.abort();
  expect([await outcome, tries]).toEqual(['offline 1', 1]);
});

it('tries at once when it is told to retry now', async () => {
  const retryNow = new AbortController();
  const outcome = start(offline(1), { retryNow: () => retryNow.signal });
  await settle();
  retryNow.abort();
  expect(await outcome).toBe('done');
});
