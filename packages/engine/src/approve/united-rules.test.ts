import type { PolicyRule } from '@countersign/protocol';
import { codeOf, EngineFixture, type Listener } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';

let fixture: EngineFixture;
let runner: Listener;
beforeEach(async () => {
  fixture = await EngineFixture.open();
  runner = await fixture.listen({ runnerId: 'runner-1' });
});

const allow = (id: string, command: string): PolicyRule => ({
  id,
  effect: 'allow',
  tool: 'shell_exec',
  command,
  max_risk: 'HIGH',
});
const save = (...rules: PolicyRule[]) => fixture.engine.policies.replace('ada', { version: 1, rules });
const line = { command: 'npm test && npm run build' };

describe('[RK-5] rules that cover a line together', () => {
  it('let it run unasked, and the runner is told all of them', async () => {
    await save(allow('test', 'npm test *'), { ...allow('build', 'npm run build'), why: 'it is quick' });
    expect(await fixture.submit('shell_exec', line)).toMatchObject({ approved_by: 'config' });
    expect(await runner.last('tool.execution_signal')).toMatchObject({
      rule: { id: 'test' },
      further_rules: [{ id: 'build', command: 'npm run build' }],
    });
  });

  it('no longer do when one of them is gone at the claim', async () => {
    await save(allow('test', 'npm test *'), allow('build', 'npm run build'));
    const { id } = await fixture.submit('shell_exec', line);
    await save(allow('test', 'npm test *'));
    expect(await codeOf(fixture.claim(id, { digest: null }))).toBe('GRANT_REVOKED');
    expect((await fixture.execution(id)).status).toBe('awaiting_approval');
  });
});
