import { expect, it } from 'vitest';
import { countResults } from './vitest-run.ts';

const file = { status: 'passed', assertionResults: [{}] };

it('counts the tests of the report', () => {
  const report = { numPassedTests: 3, numFailedTests: 2, testResults: [file] };
  expect(countResults(report, 1)).toEqual({ passed: 3, failed: 2 });
});

it('counts a file that did not load as one failure', () => {
  const broken = { status: 'failed', assertionResults: [] };
  const report = { numPassedTests: 3, numFailedTests: 1, testResults: [file, broken] };
  expect(countResults(report, 1)).toEqual({ passed: 3, failed: 2 });
});

it('counts low coverage and errors outside of tests as one failure', () => {
  const report = { numPassedTests: 3, numFailedTests: 0, testResults: [file] };
  expect(countResults(report, 1)).toEqual({ passed: 3, failed: 1 });
});

it('counts a missing report as one failure', () => {
  expect(countResults(undefined, 1)).toEqual({ passed: 0, failed: 1 });
});
