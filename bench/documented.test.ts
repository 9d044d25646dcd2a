/** The documents say and show the measured results. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { drawResults } from './picture.ts';
import type { Results } from './results.ts';

const read = (path: string): string => readFileSync(new URL(`../docs/${path}`, import.meta.url), 'utf8');
const results = JSON.parse(read('bench/results.json')) as Results;
const rows = results.benches.flatMap((bench) => bench.rows);
const median = (name: string): number => rows.find((row) => row.name === name)?.median ?? Number.NaN;

it('docs/bench has the picture of its numbers, from a complete run', () => {
  expect(results.quick).toBe(false);
  expect(read('bench/results.svg')).toBe(drawResults(results));
});

it('docs/deployment.md says the measured numbers', () => {
  const said = (about: string): number[] => {
    const [, one = '', three = ''] =
      new RegExp(`^\\| ${about} \\| ([\\d,]+) a second \\| ([\\d,]+) a second \\|$`, 'm').exec(
        read('deployment.md'),
      ) ?? [];
    return [one, three].map((text) => Number(text.replaceAll(',', '')));
  };
  const lines = {
    'calls with their results, 64 in flight': 'calls, 64 in flight',
    'events stored and brought to 16 people, one in a commit': 'events, one in a commit',
    'the same, ten in a commit': 'events, ten in a commit',
  };
  for (const [about, name] of Object.entries(lines)) {
    const measured = ['1 node', '3 nodes'].map((nodes) => median(`${name}, ${nodes}`));
    for (const [place, number] of said(about).entries())
      expect(Math.abs(number / (measured[place] ?? 0) - 1), `${about}: ${measured}`).toBeLessThan(0.05);
  }
  const held = rows.find(({ name }) => name === 'streams opened, 3 nodes')?.note?.split('then ')[1] ?? '?';
  expect(read('deployment.md')).toContain(held.replace(' resident', ''));
});
