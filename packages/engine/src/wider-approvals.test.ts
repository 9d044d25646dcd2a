import type { PolicyFile } from '@countersign/protocol';
import { codeOf, EngineFixture, type Listener } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';

let fixture: EngineFixture;
let runner: Listener;
beforeEach(async () => {
  fixture = await EngineFixture.open();
  runner = await fixture.listen({ runnerId: 'runner-1' });
});

const write = (path: string) => fixture.submit('write_file', { path, content: 'x' });
const read = async (path: string) => (await fixture.submit('read_file', { path })).error_type;
/** Approves a write with the scope whose label says "Changes to …". */
async function approveWider(path: string, scope: 'class' | 'always'): Promise<string> {
  const { approval_id } = await write(path);
  const { offered_scopes } = await runner.last('tool.approval_request');
  const offer = offered_scopes.find(
    (each) => each.scope === scope && each.label.includes(`hanges to ${path}`),
  );
  return codeOf(fixture.approve(approval_id, { scope, pattern: offer?.pattern ?? 'not offered' }));
}

describe.each(['class', 'always'] as const)('[AP-4] scope %s covers what its label says', (scope) => {
  it.each([
    ['config.json', 'deploy/production/config.json'],
    ['src/[a-z]*.ts', 'src/index.ts'],
    ['{a,b}.md', 'a.md'],
    ['**.md', 'b.md'],
  ])('%s, and not %s', async (path, other) => {
    expect(await approveWider(path, scope)).toBe('ok');
    expect((await write(path)).approved_by).toBe('config');
    expect((await write(other)).status).toBe('awaiting_approval');
  });
});

describe('[RK-5] the deny rules of a person stand', () => {
  const deny = { id: 'deny', effect: 'deny', tool: '*', path: 'private/**' } as const;

  it('whatever file name "always" was said of', async () => {
    await fixture.engine.policies.replace('ada', { version: 1, rules: [deny] });
    expect(await approveWider('{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}.md', 'always')).toBe('ok');
    expect(await read('private/x.txt')).toBe('DENIED_BY_POLICY');
    expect((await write('aaaaaaa.md')).status).toBe('awaiting_approval');
  });

  it('when one more rule is too many: it is refused, and the request stays', async () => {
    const rules = Array.from({ length: 999 }, (_, i) => ({ ...deny, id: `deny-${i}` }));
    await fixture.engine.policies.replace('ada', { version: 1, rules: [...rules, deny] });
    expect(await approveWider('a.md', 'always')).toBe('POLICY_INVALID');
    expect(await read('private/x.txt')).toBe('DENIED_BY_POLICY');
    const { approval_id } = await runner.last('tool.approval_request');
    expect(await codeOf(fixture.approve(approval_id))).toBe('ok');
  });

  it('when what is stored is not valid', async () => {
    const allow = { id: 'allow', effect: 'allow', tool: 'write_file' } as const;
    const policy = { version: 1, rules: [deny, allow, { ...allow, id: 'deny' }] } as PolicyFile;
    await fixture.store.write(function* (tx) {
      yield* tx.insert('policies', { id: 'ada', user_id: 'ada', policy, version: 1, updated_at: 0 });
    });
    fixture.engine.policies.forget('ada');
    expect(await read('private/x.txt')).toBe('DENIED_BY_POLICY');
    expect((await write('a.md')).status).toBe('awaiting_approval');
  });
});
