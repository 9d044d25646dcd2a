import { describe, expect, it } from 'vitest';
import { readDamagedPolicy } from './policy-rules.ts';
import { ToolCallPolicy } from './tool-call-policy.ts';
import { isRefused } from './verdict.ts';

const tooManyAlternatives = '{a,b}'.repeat(7);

function decisions(file: unknown): Record<string, string> {
  const policy = new ToolCallPolicy({
    root: '/workspace',
    policies: [readDamagedPolicy(file, 'person', 'it is broken')],
  });
  const decide = (tool: string, params: object): string => {
    const { verdict } = policy.decide(tool, params);
    return isRefused(verdict) ? verdict.code : verdict.decision;
  };
  return {
    private: decide('read_file', { path: 'private/x' }),
    read: decide('read_file', { path: 'a.md' }),
    write: decide('write_file', { path: 'a.md', content: '' }),
    program: decide('execute_command', { command: 'make', args: [] }),
  };
}

const untouched = { private: 'LOW', read: 'LOW', write: 'MEDIUM', program: 'COMMAND_NOT_ALLOWED' };

describe('[RK-5] a policy that is not valid as a whole', () => {
  const deny = { id: 'd', effect: 'deny', tool: '*', path: 'private/**' };

  it('keeps its deny and ask rules, and loosens nothing', () => {
    const allow = { id: 'a', effect: 'allow', tool: 'write_file' };
    const broken = { id: 'b', effect: 'allow', tool: 'write_file', path: tooManyAlternatives };
    expect(decisions({ version: 1, rules: [deny, allow, broken], programs: [{ name: 'make' }] })).toEqual({
      ...untouched,
      private: 'DENIED_BY_POLICY',
    });
    const ask = { id: 'q', effect: 'ask', tool: 'read_file' };
    expect(decisions({ version: 1, rules: [ask, broken] })).toEqual({
      ...untouched,
      private: 'MEDIUM',
      read: 'MEDIUM',
    });
  });

  it('lets a deny rule that cannot be read count for all calls of its tool', () => {
    const rules = [{ id: 'b', effect: 'deny', tool: 'write_*', path: tooManyAlternatives }];
    expect(decisions({ version: 1, rules })).toEqual({ ...untouched, write: 'DENIED_BY_POLICY' });
  });

  it('and one whose tool cannot be read for all calls', () => {
    const denied = {
      private: 'DENIED_BY_POLICY',
      read: 'DENIED_BY_POLICY',
      write: 'DENIED_BY_POLICY',
      program: 'COMMAND_NOT_ALLOWED',
    };
    expect(decisions({ version: 1, rules: [{ effect: 'deny', tool: 7 }] })).toEqual(denied);
    expect(decisions({ version: 1, rules: [null] })).toEqual(denied);
    expect(decisions({ version: 1, rules: 'none' })).toEqual(denied);
    expect(decisions(null)).toEqual(denied);
  });
});
