import { CountersignError } from '@countersign/protocol';
import { ManualClock, settle } from '@countersign/testing';
import { beforeEach, expect, it } from 'vitest';
import { RecordedApi, RecordedLogger } from './handler-fixture.test-data.ts';
import { type Delivery, ResultOutbox } from './result-outbox.ts';
import type { ResultReport } from './runner-api.ts';
import { RefusedByServer } from './runner-errors.ts';

let api: RecordedApi;
let clock: ManualClock;
let logger: RecordedLogger;
let outbox: ResultOutbox;
let delivered: [string, ResultReport['status'], Delivery][];

beforeEach(() => {
  api = new RecordedApi();
  clock = new ManualClock();
  logger = new RecordedLogger();
  delivered = [];
  outbox = new ResultOutbox({
    api,
    clock,
    logger,
    onDelivered: (toolId, { status }, delivery) => delivered.push([toolId, status, delivery]),
  });
});

const report: ResultReport = {
  status: 'completed',
  result: { success: true },
  attempt: 1,
  execution_time_ms: 1,
};
const offline = (times: number) => Array.from({ length: times }, () => new Error('offline'));

it('[EX-6] waits longer each time, half a minute at most, and never gives up', async () => {
  api.failures.result = offline(10);
  outbox.add('a', report);
  const waits = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000];
  for (const [i, ms] of waits.entries()) {
    await clock.advance(ms - 1);
    expect(api.of('failed result').length).toBe(i + 1);
    await clock.advance(1);
  }
  await clock.advance(30_000);
  expect(delivered).toEqual([['a', 'completed', {}]]);
});

it('sends the same report once, and tries at once when it is given again', async () => {
  api.failures.result = offline(1);
  outbox.add('a', report);
  outbox.add('a', report);
  outbox.add('a', { ...report, attempt: 2 });
  await settle();
  outbox.add('a', report);
  await settle();
  expect(api.reports.map(({ attempt }) => attempt).sort()).toEqual([1, 2]);
  expect(outbox.unacknowledged).toEqual([]);
});

it('names the calls that it owes, and no undos', async () => {
  api.failures.result = offline(3);
  outbox.add('a', report);
  outbox.add('a', { ...report, attempt: 2 });
  outbox.add('b', { ...report, undo_id: 'undo-1' });
  expect(outbox.unacknowledged).toEqual(['a']);
  await settle();
  outbox.acknowledge('a', { audit_head: '1:a' });
  outbox.acknowledge('b', {});
  expect(delivered).toEqual([
    ['a', 'completed', { audit_head: '1:a' }],
    ['a', 'completed', { audit_head: '1:a' }],
  ]);
  await clock.advance(500);
  expect(api.reports.map(({ undo_id }) => undo_id)).toEqual(['undo-1']);
});

it('a result that the server can never accept does not keep its call open: a failure is reported instead', async () => {
  api.failures.result = [
    new CountersignError('BODY_TOO_LARGE', { limit: 1 }),
    new CountersignError('INVALID_BODY'),
  ];
  outbox.add('a', report);
  outbox.add('b', { ...report, status: 'cancelled' });
  await clock.advance(500);
  expect(api.reports).toEqual([
    {
      status: 'failed',
      attempt: 1,
      execution_time_ms: 1,
      error: {
        code: 'EXECUTION_FAILED',
        message: 'The tool failed: it ended, but its result could not be delivered (BODY_TOO_LARGE).',
        recoverable: false,
      },
    },
    { status: 'cancelled', attempt: 1, execution_time_ms: 1 },
  ]);
});

it('a report that is too large is sent without its diffs first', async () => {
  api.failures.result = [new CountersignError('BODY_TOO_LARGE', { limit: 1 })];
  const change = { path: 'a.md', operation: 'modified', truncated: false, added: 1, removed: 0 } as const;
  outbox.add('a', { ...report, run_changes: [{ ...change, diff: '+x' }] });
  await clock.advance(500);
  expect(api.reports).toEqual([report]);
});

it('a refusal with a code that we do not know ends the sending where it is final', async () => {
  api.failures.result = [new RefusedByServer('INTERNAL', 'newer than you', true)];
  outbox.add('a', report);
  await clock.advance(60_000);
  expect(delivered).toEqual([['a', 'completed', { refused: 'INTERNAL: newer than you' }]]);
  expect([api.sent.length, outbox.unacknowledged, logger.lines]).toEqual([1, [], []]);
  api.failures.result = [new RefusedByServer('INTERNAL', 'an error page', false)];
  outbox.add('b', report);
  await clock.advance(120_000);
  expect(delivered[1]).toEqual(['b', 'completed', {}]);
});

it('when it is closed, reports that are being sent may arrive, and none is retried', async () => {
  api.failures.result = offline(1);
  outbox.add('a', report);
  outbox.add('b', report);
  await outbox.close();
  expect(delivered).toEqual([['b', 'completed', {}]]);
  await clock.advance(60_000);
  expect(api.sent.length).toBe(2);
});

it('when it is closed, a server that does not answer is not waited for', async () => {
  api.sendToolResult = () => new Promise(() => {});
  outbox.add('a', report);
  const closed = outbox.close();
  await clock.advance(2_000);
  await closed;
  expect(delivered).toEqual([]);
});

it('[EX-7] an acknowledgement by event and then by answer counts once', async () => {
  let answer = () => {};
  api.sendToolResult = () =>
    new Promise((resolve) => {
      answer = () => resolve({ audit_head: '2:b' });
    });
  outbox.add('a', report);
  outbox.acknowledge('a', { audit_head: '1:a' });
  answer();
  await settle();
  expect(delivered).toEqual([['a', 'completed', { audit_head: '1:a' }]]);
});
