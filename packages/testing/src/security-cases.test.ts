import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { meetsExpectation, securityCases, securityFolder } from './security-cases.ts';

const shared = new URL('../../../../shared/security/', import.meta.url);

describe('the security cases', () => {
  it('are complete', () => {
    expect([
      securityCases('commands').length,
      securityCases('shell').length,
      securityCases('paths').length,
    ]).toEqual([160, 75, 67]);
  });

  it('equal those in the shared folder, if there is one', () => {
    for (const name of existsSync(shared) ? readdirSync(shared) : []) {
      expect([name, readFileSync(new URL(name, securityFolder), 'utf8')]).toEqual([
        name,
        readFileSync(new URL(name, shared), 'utf8'),
      ]);
    }
  });
});

describe('meetsExpectation', () => {
  it.each([
    ['LOW', 'LOW', true],
    ['MEDIUM', 'LOW', false],
    ['REJECT', 'NOT_LOW', true],
    ['LOW', 'NOT_LOW', false],
    ['REJECT', 'NOT_REJECT', false],
    ['HIGH', 'NOT_REJECT', true],
    ['HIGH', 'ALLOW', true],
    ['REJECT', 'ALLOW', false],
  ] as const)('%s meets %s: %s', (decision, expected, outcome) => {
    expect(meetsExpectation(decision, expected)).toBe(outcome);
  });
});
