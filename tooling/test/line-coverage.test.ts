import { expect, it } from 'vitest';
import { checkLineCoverage } from './line-coverage.ts';

const file = (lines: number, missed: number[]) => ({ path: 'a.el', lines, missed });

it('[QA-1] takes what reaches the threshold over all files', () => {
  expect(checkLineCoverage('a', [file(10, [1, 2]), file(10, [])], 90)).toEqual([]);
});

it('[QA-1] says what is missing below it', () => {
  expect(checkLineCoverage('a', [file(10, [1, 2, 3]), file(10, [])], 90)).toEqual([
    'coverage of a: 85.00 % of its lines, which is less than 90 %',
  ]);
});

it('[QA-1] does not take nothing for everything', () => {
  expect(checkLineCoverage('a', [], 90)).toEqual([
    'coverage of a: none of its lines, which is less than 90 %',
  ]);
});
