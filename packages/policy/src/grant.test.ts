import { describe, expect, it } from 'vitest';
import { type GrantedCall, type GrantPredicate, grantCovers, ruleOfGrant } from './grant.ts';
import { ToolCallPolicy } from './tool-call-policy.ts';

const policy = new ToolCallPolicy({ root: '/work' });
const grant: GrantPredicate = {
  tool: 'write_file',
  pattern: 'src/**',
  max_risk: 'MEDIUM',
  session_id: 'session',
  workspace: '/work',
  expires_at: 1_000,
};
const here: GrantedCall = { sessionId: 'session', workspace: '/work', risk: 'MEDIUM', now: 999 };

function covers(path: string, over: Partial<GrantPredicate> = {}, at: Partial<GrantedCall> = {}): boolean {
  const { call, details } = policy.decide('write_file', { path, content: 'x' });
  if (!call || !details) throw new Error('not a call');
  return grantCovers({ ...grant, ...over }, call, details, { ...here, ...at });
}

describe('[AP-4] a grant', () => {
  it('covers what its predicate says', () => {
    expect([covers('src/a.ts'), covers('src/deep/a.ts'), covers('docs/a.md', { pattern: null })]).toEqual([
      true,
      true,
      true,
    ]);
  });

  it.each<[string, string, Partial<GrantPredicate>, Partial<GrantedCall>]>([
    ['another path', 'docs/a.md', {}, {}],
    ['another tool', 'src/a.ts', { tool: 'edit_file' }, {}],
    ['another session', 'src/a.ts', {}, { sessionId: 'other' }],
    ['another workspace', 'src/a.ts', {}, { workspace: '/work/sub' }],
    ['more risk than it was made for', 'src/a.ts', {}, { risk: 'HIGH' }],
    ['anything after its time', 'src/a.ts', {}, { now: 1_000 }],
    [
      'a place that executes later',
      '.vscode/tasks.json',
      { pattern: null, max_risk: 'HIGH' },
      { risk: 'HIGH' },
    ],
    ['what is refused', '../outside.ts', { pattern: null }, {}],
    ['anything by a pattern that does not compile', 'src/a.ts', { pattern: '{a,b}'.repeat(9) }, {}],
  ])('does not cover %s', (_, path, over, at) => {
    expect(covers(path, over, at)).toBe(false);
  });

  it('is a rule of commands for tools that run them, and of paths for all others', () => {
    expect(ruleOfGrant('x', { tool: 'shell_exec', pattern: 'npm test *' })).toMatchObject({
      command: 'npm test *',
    });
    expect(ruleOfGrant('x', { tool: 'write_file', pattern: 'a' })).toMatchObject({ path: 'a' });
    expect(ruleOfGrant('x', { tool: '*', pattern: null })).toEqual({ id: 'x', effect: 'allow', tool: '*' });
  });
});
