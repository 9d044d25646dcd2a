import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { BoundedLines } from './child-transport.ts';

function reader() {
  const input = new PassThrough();
  const lines: string[] = [];
  const errors: string[] = [];
  const bounded = new BoundedLines(input, {
    onLine: (line) => lines.push(line),
    onError: (problem) => errors.push(problem),
  });
  return { input, lines, errors, bounded };
}

const settle = async () => {
  for (let i = 0; i < 50; i += 1) await turn();
};

it('cuts lines wherever chunks end, and keeps their order however many come at once', async () => {
  const { input, lines } = reader();
  const wanted = Array.from({ length: 1_500 }, (_, i) => `line ${i} ü`);
  const bytes = Buffer.from(`${wanted.join('\n')}\n`);
  for (let at = 0; at < bytes.length; at += 5_000) input.write(bytes.subarray(at, at + 5_000));
  await settle();
  expect(lines).toEqual(wanted);
});

it('fails on an endless line and on a flood, and discards further output', async () => {
  const long = reader();
  for (let i = 0; i < 9; i += 1) long.input.write(Buffer.alloc(1024 * 1024, 120));
  await settle();
  expect([long.lines, long.errors]).toEqual([[], ['it wrote a line of more than 8388608 bytes']]);
  long.input.write('later\n');
  await settle();
  expect(long.lines).toEqual([]);

  const flood = reader();
  flood.input.write('x\n'.repeat(1_000));
  await settle();
  expect(flood.lines).toHaveLength(1_000);
  flood.input.write('x\n'.repeat(5_000));
  await settle();
  expect(flood.errors).toEqual(['it floods us with messages']);
  expect(flood.input.readableLength).toBe(0);
});
