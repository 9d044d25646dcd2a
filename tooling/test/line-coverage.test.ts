import { expect, it } from 'vitest';
import { addLines, checkLineCoverage, coveredFile } from './line-coverage.ts';

const file = (lines: number, missed: number[]) => ({ path: 'a.el', lines, missed });

it('[QA-1] accepts coverage that reaches the threshold over all files', () => {
  expect(checkLineCoverage('a', [file(10, [1, 2]), file(10, [])], 90)).toEqual([]);
});

it('[QA-1] says what is missing below the threshold', () => {
  expect(checkLineCoverage('a', [file(10, [1, 2, 3]), file(10, [])], 90)).toEqual([
    'coverage of a: 85.00 % of its lines, which is less than 90 %',
  ]);
});

it('[QA-1] fails when no lines were counted', () => {
  expect(checkLineCoverage('a', [], 90)).toEqual([
    'coverage of a: none of its lines, which is less than 90 %',
  ]);
});

it('[QA-1] counts a line once, as reached if any report or statement reached it', () => {
  const at = (line: number) => ({ start: { line } });
  const statementMap = { 0: at(3), 1: at(3), 2: at(1), 3: at(2) };
  const lines = addLines(new Map(), { statementMap, s: { 0: 0, 1: 2, 2: 0, 3: 0 } });
  addLines(lines, { statementMap, s: { 0: 0, 1: 0, 2: 1, 3: 0 } });
  expect(coveredFile('a.ts', lines)).toEqual({ path: 'a.ts', lines: 3, missed: [2] });
});
