import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Progress } from '../executor.ts';
import { KeptOutput, OutputProgress } from './command-output.ts';

function keep(limit: number, chunks: readonly (string | Buffer)[]): KeptOutput {
  const kept = new KeptOutput(limit);
  for (const chunk of chunks) kept.push(Buffer.from(chunk));
  return kept;
}

describe('KeptOutput', () => {
  it('[TL-3] keeps everything up to the limit, however it comes', () => {
    const text = 'абв€😀xyz';
    const bytes = Buffer.from(text);
    for (const size of [1, 2, 3, 7, bytes.length]) {
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
      const kept = keep(bytes.length, chunks);
      expect({ size, text: kept.text(), isCut: kept.isCut }).toEqual({ size, text, isCut: false });
    }
  });

  it('[TL-3] keeps head and tail beyond it, and says what was cut', () => {
    const kept = keep(10, ['0123', '456789abc', 'defghij']);
    expect(kept.text()).toBe('01234\n[10 bytes of output were cut here]\nfghij');
    expect(kept.isCut).toBe(true);
  });

  it('[TL-3] splits no character where it cuts', () => {
    for (let limit = 8; limit < 20; limit += 1) {
      const text = keep(limit, ['€'.repeat(20)]).text();
      expect(text).not.toContain('\ufffd');
      const cut = Number(/\[(\d+) bytes/.exec(text)?.[1]);
      const left = text.replace(/\n\[.*\]\n/, '');
      expect(left.length * 3 + cut).toBe(60);
      expect(left.length * 3).toBeLessThanOrEqual(limit);
    }
  });

  it('[TL-3] keeps bytes that are no text as marks, without losing count', () => {
    expect(keep(8, [Buffer.alloc(20, 0x80)]).text()).toMatch(
      /^\ufffd+\n\[\d+ bytes of output were cut here\]\n\ufffd*$/,
    );
  });

  it('[TL-3] uses no more memory than its limit, also for many small pieces', () => {
    const kept = new KeptOutput(4_096);
    for (let i = 0; i < 100_000; i += 1) kept.push(Buffer.from(`${i % 10}`));
    const [head, tail] = kept.text().split(/\n\[.*\]\n/);
    expect([head?.length, tail?.length, tail?.slice(-10)]).toEqual([2_048, 2_048, '0123456789']);
  });

  it('[TL-3] lets go of the chunks that it does not need any more', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const kept = new KeptOutput(4_096);
    collect();
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 64; i += 1) kept.push(Buffer.alloc(1024 * 1024, 'x'));
    // Poll, because a thread frees collected buffers and may have to wait for a core.
    const grown = () => {
      collect();
      return process.memoryUsage().arrayBuffers - before;
    };
    await expect.poll(grown).toBeLessThan(8 * 1024 * 1024);
    expect(kept.text()).toContain('[67104768 bytes of output were cut here]');
  });
});

describe('OutputProgress', () => {
  it('reports nothing of a command that ends at once: its result says it', () => {
    const reports: Progress[] = [];
    const progress = new OutputProgress((report) => reports.push(report));
    progress.push('stdout', Buffer.from('done\n'));
    progress.end();
    expect(reports).toEqual([]);
  });

  it('reports the rest at the end of a command that takes a while', async () => {
    const reports: Progress[] = [];
    const progress = new OutputProgress((report) => reports.push(report));
    progress.push('stdout', Buffer.from('one\n'));
    await expect.poll(() => reports.length).toBe(1);
    progress.push('stdout', Buffer.from('two\n'));
    progress.end();
    expect(reports.map(({ output }) => output?.chunk)).toEqual(['one\n', 'two\n']);
  });

  it('[EV-2] leaves out the older part of what does not fit into one event, and says how much', async () => {
    const reports: Progress[] = [];
    const progress = new OutputProgress((report) => reports.push(report));
    progress.push('stdout', Buffer.from(`first${'x'.repeat(40_000)}`));
    progress.push('stdout', Buffer.from('last'));
    await expect.poll(() => reports.length).toBe(1);
    const [note, text = ''] = reports[0]?.output?.chunk.split('\n') ?? [];
    expect(note).toBe(`[${40_009 - text.length} bytes left out here]`);
    expect(text).toMatch(/^x+last$/);
    expect(Buffer.byteLength(reports[0]?.output?.chunk ?? '')).toBeLessThanOrEqual(32 * 1024);
    progress.push('stdout', Buffer.from('more'));
    progress.end();
    expect(reports[1]?.output?.chunk).toBe('more');
  });
});
