import { expect, it } from 'vitest';
import { drawResults } from './picture.ts';
import { breaksPromise, type Results, type Row } from './results.ts';
import { table } from './table.ts';

const measured = (name: string, median: number, more: Partial<Row> = {}): Row => ({
  name,
  median,
  p10: median * 0.9,
  p90: median * 1.2,
  ...more,
});
const compared = { to: 'MCP', times: 1.9, p10: 1.7, p90: 2.1, atLeast: 1.5 };
const floor = { to: 'the floor', times: 0.25, p10: 0.2, p90: 0.3 };
const good = measured('Countersign', 800_000, {
  comparisons: [compared, floor],
  note: 'a remark of many words, which takes more than one line of the picture and is not cut off',
});
const slow = measured('Countersign, "asked" & <waiting>', 3_000_000, { limit: 2_000_000, note: 'too slow' });
const rate = measured('events, 3 nodes', 6_000, { unit: 'per second', limit: 5_000 });
const results: Results = {
  machine: { node: 'v24.0.0', cpu: 'A & B <processor>', cores: 2 },
  at: '2026-11-16T06:00:00.000Z',
  quick: true,
  benches: [
    { name: 'calls', rows: [measured('MCP', 1_500_000), good, slow] },
    { name: 'memory', rows: [measured('a stream', 12_345, { unit: 'bytes' }), rate] },
  ],
};

it('draws every row with its comparisons, in light and dark', () => {
  const svg = drawResults(results);
  expect(svg).toContain('prefers-color-scheme: dark');
  expect(svg).toContain('a quick run, worth little');
  expect(svg.match(/<rect class="(bar|ours|bad)"/g)?.length).toBe(5);
  expect(svg).toContain('1.90× MCP [1.70 – 2.10] (≥ 1.5 ✓)');
  // The whole remark, in lines that fit.
  const remarks = [...svg.matchAll(/<text class="quiet" x="780"[^>]*>([^<]*)</g)].map(([, words]) => words);
  expect(remarks.join(' ')).toContain('0.25× the floor [0.20 – 0.30] a remark of many words');
  expect(remarks.join(' ')).toContain('more than one line of the picture and is not cut off');
  expect(Math.max(...remarks.map((words = '') => words.length))).toBeLessThanOrEqual(54);
  expect(svg).toContain('Countersign, "asked" &amp; &lt;waiting&gt;');
  // The longest bar of a bench, with its spread, fills the width; none is longer.
  const lengths = [...svg.matchAll(/class="(?:bar|ours|bad)" x="\d+" y="\d+" width="([\d.]+)"/g)].map(
    ([, length]) => Number(length),
  );
  expect(lengths).toEqual([108.3, 57.8, 216.7, 216.7, 216.7]);
  // Every element is closed, and no name becomes markup.
  const names = [...svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)].map(([, closes, name, closed]) =>
    closed ? '' : `${closes}${name}`,
  );
  const open: string[] = [];
  for (const name of names.filter(Boolean)) {
    if (name.startsWith('/')) expect(`/${open.pop()}`).toBe(name);
    else open.push(name);
  }
  expect(open).toEqual([]);
});

it('prints one table, and marks broken promises', () => {
  const lines = table(results).split('\n');
  expect(lines[0]).toContain('a quick run, worth little');
  expect(lines.find((text) => text.includes('waiting'))).toMatch(/3\.00 ms.*2\.70 ms – 3\.60 ms.*2\.00 ms ✗/);
  expect(lines.find((text) => text.includes('events'))).toMatch(/6,000 \/s.*5,000 \/s ✓/);
  expect(lines.find((text) => text.includes('a stream'))).toContain('12.3 kB');
  expect([good, slow, rate].map(breaksPromise)).toEqual([false, true, false]);
  expect(breaksPromise({ ...rate, median: 4_000 })).toBe(true);
  expect(breaksPromise({ ...good, comparisons: [{ ...compared, times: 1.2 }] })).toBe(true);
});
