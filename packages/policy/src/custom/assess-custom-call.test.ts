import type { CustomTool } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { grantCovers } from '../grant.test-data.ts';
import { readPolicyFile } from '../policy-rules.ts';
import { ToolCallPolicy } from '../tool-call-policy.ts';
import { customToolsOf } from './assess-custom-call.ts';

const tool = (more: Partial<CustomTool> = {}): CustomTool => ({
  name: 'deploy__staging',
  description: 'Deploys',
  input_schema: { type: 'object', properties: { path: { type: 'string' } }, additionalProperties: false },
  risk_level: 'MEDIUM',
  read_only: false,
  destructive: false,
  network: false,
  category: 'custom',
  requires_approval: false,
  ...more,
});

function policyWith(tools: readonly CustomTool[], rules: readonly object[] = []): ToolCallPolicy {
  const reading = readPolicyFile(JSON.stringify({ version: 1, rules }), 'person');
  if (!reading.ok) throw new Error(reading.problem);
  return new ToolCallPolicy({ root: '/work', policies: [reading.policy], customTools: customToolsOf(tools) });
}

describe('[RN-8] a call of a custom tool', () => {
  it('[TL-1] asks, as MEDIUM, and says that its own program decides', () => {
    const { verdict, assessed, call } = policyWith([tool()]).decide('deploy__staging', {
      path: '/etc/passwd',
    });
    expect(verdict).toMatchObject({ decision: 'MEDIUM', network: false });
    expect(verdict.reasons).toEqual([
      { rule: 'CUSTOM-1', why: expect.stringContaining('its own program decides what it touches') },
    ]);
    expect(assessed?.decision).toBe('MEDIUM');
    expect(call).toEqual({ tool: 'deploy__staging', params: { path: '/etc/passwd' } });
  });

  it('is refused if no such tool is registered, or if its parameters do not fit', () => {
    const policy = policyWith([tool()]);
    expect(policy.decide('deploy__moon', {}).verdict).toMatchObject({
      decision: 'REJECT',
      code: 'UNKNOWN_TOOL',
      message: expect.stringContaining('deploy__staging'),
    });
    for (const params of [{ path: 3 }, { other: 1 }, [], 'text'])
      expect(policy.decide('deploy__staging', params).verdict).toMatchObject({
        decision: 'REJECT',
        code: 'INVALID_PARAMS',
      });
    expect(policyWith([]).decide('deploy__staging', {}).verdict).toMatchObject({ code: 'UNKNOWN_TOOL' });
    expect(policy.decide('deploy__staging', undefined).verdict.decision).toBe('MEDIUM');
  });

  it('says that the tool itself wants approval (founding documents: tool-system)', () => {
    const { verdict } = policyWith([tool({ requires_approval: true })]).decide('deploy__staging', {});
    expect(verdict.decision).toBe('MEDIUM');
    expect(verdict.reasons.map(({ rule, why }) => [rule, why]).at(-1)).toEqual([
      'CUSTOM-4',
      'it says of itself that it needs your approval',
    ]);
  });

  it('is not made less risky by what the tool says of itself', () => {
    const reads = policyWith([tool({ read_only: true })]).decide('deploy__staging', {});
    expect(reads.verdict.decision).toBe('MEDIUM');
    expect(reads.verdict.reasons.map(({ rule }) => rule)).toEqual(['CUSTOM-1', 'CUSTOM-3']);
    const destroys = policyWith([tool({ destructive: true, risk_level: 'HIGH', network: true })]);
    const { verdict } = destroys.decide('deploy__staging', {});
    expect(verdict).toMatchObject({ decision: 'HIGH', network: true });
    expect(verdict.reasons.map(({ rule }) => rule)).toEqual(['CUSTOM-1', 'CUSTOM-2']);
  });

  it('runs unasked where the person’s own configuration says LOW, and stays one that is claimed and journalled', () => {
    const low = [tool({ risk_level: 'LOW' })];
    expect(policyWith(low).decide('deploy__staging', {})).toMatchObject({
      verdict: { decision: 'LOW' },
      assessed: { decision: 'MEDIUM' },
      allowedBy: { id: 'mcp.json', effect: 'allow', tool: 'deploy__staging' },
    });
    const ask = { id: 'ask', effect: 'ask', tool: 'deploy__*' };
    expect(policyWith(low, [ask]).decide('deploy__staging', {}).verdict.decision).toBe('MEDIUM');
  });

  it('[RK-5] obeys rules by its name, and no allow rule that means built-in tools', () => {
    const decide = (rule: object) =>
      policyWith([tool()], [{ id: 'r', ...rule }]).decide('deploy__staging', {});
    expect(decide({ effect: 'deny', tool: 'deploy__*' }).verdict).toMatchObject({ code: 'DENIED_BY_POLICY' });
    expect(decide({ effect: 'allow', tool: 'deploy__staging' })).toMatchObject({ allowedBy: { id: 'r' } });
    expect(decide({ effect: 'allow', tool: '*' })).toMatchObject({ allowedBy: { id: 'r' } });
    const git = (effect: string) =>
      policyWith([tool({ name: 'git__status' })], [{ id: 'r', effect, tool: 'git_*' }]).decide(
        'git__status',
        {},
      );
    expect(git('allow').verdict.decision).toBe('MEDIUM');
    expect(git('deny').verdict).toMatchObject({ code: 'DENIED_BY_POLICY' });
    const high = policyWith([tool({ risk_level: 'HIGH' })], [{ id: 'r', effect: 'allow', tool: '*' }]);
    expect(high.decide('deploy__staging', {}).verdict.decision).toBe('HIGH');
  });

  it.each([{ path: 'secrets/**' }, { command: 'rm *' }])('[RK-5] a rule on its %j is a mistake', (part) => {
    const file = (tool: string) =>
      readPolicyFile(
        JSON.stringify({ version: 1, rules: [{ id: 'r', effect: 'deny', tool, ...part }] }),
        'person',
      );
    expect(file('deploy__*')).toMatchObject({
      ok: false,
      problem: expect.stringContaining('name the tool alone'),
    });
    expect(file('*')).toMatchObject({ ok: true });
  });

  it('[RK-5] may be an example of a rule', () => {
    const matches = [{ tool: 'deploy__staging', args: {} }];
    const rule = (more: object) =>
      JSON.stringify({ version: 1, rules: [{ id: 'r', effect: 'deny', tool: 'deploy__*', ...more }] });
    expect(readPolicyFile(rule({ matches }), 'person').ok).toBe(true);
    expect(readPolicyFile(rule({ does_not_match: matches }), 'person')).toMatchObject({ ok: false });
  });

  it('[AP-4] is covered by a grant for this tool, up to its risk', () => {
    const grant = {
      tool: 'deploy__staging',
      pattern: null,
      max_risk: 'MEDIUM',
      session_id: 's',
      workspace: '/work',
      expires_at: null,
    } as const;
    const { call, details } = policyWith([tool()]).decide('deploy__staging', {});
    if (!call || !details) throw new Error('it was refused');
    const at = { sessionId: 's', workspace: '/work', risk: 'MEDIUM', now: 0 } as const;
    expect(grantCovers(grant, call, details, at)).toBe(true);
    expect(grantCovers(grant, call, details, { ...at, risk: 'HIGH' })).toBe(false);
    expect(grantCovers({ ...grant, tool: 'deploy__other' }, call, details, at)).toBe(false);
  });
});
