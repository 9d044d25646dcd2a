import { expect, it } from 'vitest';
import { countResults } from './vitest-run.ts';

const passed = { status: 'passed', fullName: 'reads', failureMessages: [] };
const failed = {
  status: 'failed',
  fullName: 'store > writes',
  failureMessages: ['Error: disk full\n    at write.ts:1\n    at more'],
};
const file = { name: 'a.test.ts', status: 'failed', message: '', assertionResults: [passed, failed] };

it('names the tests that failed, and why', () => {
  const report = { numPassedTests: 3, testResults: [file] };
  expect(countResults(report, 1)).toEqual({
    passed: 3,
    failures: ['a.test.ts > store > writes\n    Error: disk full'],
  });
});

it('counts a file that did not load as one failure', () => {
  const broken = { name: 'b.test.ts', status: 'failed', message: 'no such module', assertionResults: [] };
  const { failures } = countResults({ numPassedTests: 3, testResults: [file, broken] }, 1);
  expect(failures).toHaveLength(2);
  expect(failures[1]).toBe('b.test.ts\n    no such module');
});

it('counts low coverage and errors outside of tests as one failure', () => {
  const report = {
    numPassedTests: 3,
    testResults: [{ ...file, status: 'passed', assertionResults: [passed] }],
  };
  expect(countResults(report, 1)).toEqual({
    passed: 3,
    failures: [expect.stringContaining('outside of tests')],
  });
});

it('counts a missing report as one failure', () => {
  expect(countResults(undefined, 1).failures).toHaveLength(1);
});
