import { settle } from '@countersign/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Progress } from './executor.ts';
import { RecordedApi, RecordedLogger } from './handler-fixture.test-data.ts';
import { BytesDone, ProgressSender, reportProgress } from './work-progress.ts';

describe('reportProgress and BytesDone', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('[EV-1] tells nothing of work that ends soon, then twice a second what is new (founding documents: tool-system)', async () => {
    const told: Progress[] = [];
    let message: string | undefined;
    let end = (): void => {};
    const describe = (): Progress | undefined => (message === undefined ? undefined : { message });
    const work = new Promise<void>((resolve) => {
      end = resolve;
    });
    const done = reportProgress({ report: (progress) => told.push(progress), describe }, () => work);
    vi.advanceTimersByTime(500);
    message = 'one';
    vi.advanceTimersByTime(499);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(told).toEqual([{ message: 'one' }]);
    vi.advanceTimersByTime(5_000);
    message = 'two';
    vi.advanceTimersByTime(500);
    expect(told).toEqual([{ message: 'one' }, { message: 'two' }]);
    message = 'three';
    end();
    await done;
    vi.advanceTimersByTime(5_000);
    expect([told.length, vi.getTimerCount()]).toEqual([2, 0]);
  });

  it('stops telling when the work fails', async () => {
    const failing = reportProgress({ report: () => {}, describe: () => undefined }, async () => {
      throw new Error('broken');
    });
    await expect(failing).rejects.toThrow('broken');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('counts bytes', () => {
    const read = new BytesDone('read');
    expect([read.isBegun, read.part]).toEqual([false, 0]);
    read.note(2_500_000, 10_000_000);
    expect([read.isBegun, read.part, read.message]).toEqual([true, 0.25, '2.5 of 10.0 MB read']);
  });
});

describe('ProgressSender', () => {
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

  it('ignores progress reports that fail', async () => {
    api.failures.progress = [new Error('offline')];
    sender.report({ message: 'one' });
    await settle();
    sender.report({ message: 'two' });
    await settle();
    expect(api.of('progress')).toEqual([{ progress: null, message: 'two', output: null }]);
    expect(logger.messages('debug')).toEqual(['Sending progress failed']);
  });

  it('sends nothing after the end, and works without a listener', async () => {
    sender.close();
    sender.report({ percent: 100 });
    const silent = new ProgressSender({}, 'tool-2', logger);
    silent.report({ percent: 1 });
    await settle();
    expect([api.sent, logger.lines]).toEqual([[], []]);
  });
});
