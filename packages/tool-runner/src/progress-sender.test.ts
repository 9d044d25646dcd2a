import { settle } from '@countersign/testing';
import { beforeEach, expect, it } from 'vitest';
import { RecordedApi, RecordedLogger } from './handler-fixture.test-data.ts';
import { ProgressSender } from './progress-sender.ts';

let api: RecordedApi;
let logger: RecordedLogger;
let sender: ProgressSender;

beforeEach(() => {
  api = new RecordedApi();
  logger = new RecordedLogger();
  sender = new ProgressSender(api, 'tool-1', logger);
});

it('sends one report at a time, and joins what comes meanwhile', async () => {
  sender.report({ output: { stream: 'stdout', chunk: 'a' } });
  sender.report({ output: { stream: 'stdout', chunk: 'b' } });
  sender.report({ output: { stream: 'stderr', chunk: 'e' } });
  sender.report({ output: { stream: 'stdout', chunk: 'c' }, percent: 10 });
  sender.report({ percent: 20, message: 'm'.repeat(2_000) });
  await settle();
  expect(api.of('progress')).toEqual([
    { progress: null, message: null, output: { stream: 'stdout', chunk: 'a' } },
    { progress: 20, message: 'm'.repeat(1_000), output: { stream: 'stdout', chunk: 'bc' } },
    { progress: null, message: null, output: { stream: 'stderr', chunk: 'e' } },
  ]);
});

it('[EV-1] tells a percentage of 0 to 100 that never goes back (founding documents: tool-system)', async () => {
  for (const percent of [-5, 30, 20, 120]) {
    sender.report({ percent });
    await settle();
  }
  sender.report({ message: 'unknown' });
  await settle();
  expect(api.of<{ progress: number | null }>('progress').map(({ progress }) => progress)).toEqual([
    0,
    30,
    30,
    100,
    null,
  ]);
});

it('keeps the newest of more than it can hold', async () => {
  sender.report({ output: { stream: 'stdout', chunk: 'first' } });
  for (let i = 0; i < 20; i++) sender.report({ output: { stream: 'stdout', chunk: 'x'.repeat(1024) } });
  sender.report({ output: { stream: 'stdout', chunk: 'last' } });
  await settle();
  const [, second] = api.of<{ output: { chunk: string } }>('progress');
  expect([second?.output.chunk.length, second?.output.chunk.endsWith('last')]).toEqual([16 * 1024, true]);
});

it('what is lost on the way is no harm', async () => {
  api.failures.progress = [new Error('offline')];
  sender.report({ message: 'one' });
  await settle();
  sender.report({ message: 'two' });
  await settle();
  expect(api.of('progress')).toEqual([{ progress: null, message: 'two', output: null }]);
  expect(logger.messages('debug')).toEqual(['Sending progress failed']);
});

it('sends nothing after the end, and needs nobody who listens', async () => {
  sender.close();
  sender.report({ percent: 100 });
  const silent = new ProgressSender({}, 'tool-2', logger);
  silent.report({ percent: 1 });
  await settle();
  expect([api.sent, logger.lines]).toEqual([[], []]);
});
