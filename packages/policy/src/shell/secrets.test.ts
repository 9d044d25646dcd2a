import { describe, expect, it } from 'vitest';
import { ToolCallPolicy } from '../tool-call-policy.ts';
import { CHANGES_RIGHTS, HANDED, NAMED, SECRETS, STILL_REFUSED } from './secrets.test-data.ts';

const policy = new ToolCallPolicy({ root: '/home/ann/code/work/project', home: '/home/ann' });
const decide = (command: string) => policy.decide('shell_exec', { command });

describe('[VA-2] sensitive files', () => {
  it.each([...SECRETS, ...STILL_REFUSED])('are refused in: %s', (line) => {
    const { verdict } = decide(line);
    expect({
      line,
      decision: verdict.decision,
      code: verdict.decision === 'REJECT' ? verdict.code : '',
    }).toEqual({ line, decision: 'REJECT', code: 'PATH_SENSITIVE' });
  });

  it.each(NAMED)('may be named: %s', (line) => {
    expect({ line, decision: decide(line).verdict.decision }).toEqual({ line, decision: 'LOW' });
  });

  it.each(CHANGES_RIGHTS)('may have its rights changed, at HIGH: %s', (line) => {
    expect(decide(line).verdict.decision).toBe('HIGH');
  });

  it.each(HANDED)('may be made or handed on, when a person says so: %s', (line) => {
    const { verdict, details } = decide(line);
    expect({ line, decision: verdict.decision, needsPerson: details?.needsPerson }).toEqual({
      line,
      decision: 'HIGH',
      needsPerson: true,
    });
    expect(verdict.reasons.map(({ rule }) => rule).join()).toMatch(/SHW-2[23]/);
    expect(details?.operands.map(({ path }) => path).join()).toContain('.env');
  });
});
