import type { PolicyFile, PolicyRule } from '@countersign/protocol';
import { codeOf, EngineFixture } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { storeRunnerReport } from '../dispatch/runners.ts';
import { Refusal } from '../refusal.ts';
import type { KeptPolicyFile, PolicyOnDisk } from './policy-file.ts';

/** A policy file in memory, which another program may change. */
class FileInMemory implements KeptPolicyFile {
  readonly userId = 'ada';
  readonly path = '/config/policy.json';
  content: PolicyOnDisk = { ok: true, policy: { version: 1, rules: [] } };
  #changes = 0;
  stamp = (): string => String(this.#changes);
  read = (): PolicyOnDisk => this.content;
  edit(content: PolicyOnDisk): void {
    this.content = content;
    this.#changes++;
  }
  update(change: (policy: PolicyFile) => PolicyFile): PolicyFile {
    if (!this.content.ok) throw new Refusal('POLICY_INVALID', { problem: this.content.problem });
    const policy = change(this.content.policy);
    this.edit({ ok: true, policy });
    return policy;
  }
}

let file: FileInMemory;
let fixture: EngineFixture;
beforeEach(async () => {
  file = new FileInMemory();
  fixture = await EngineFixture.open();
  fixture.policyFile = file;
  await fixture.restart();
});

const rule = (id: string, effect: PolicyRule['effect'], path: string): PolicyRule => ({
  id,
  effect,
  tool: 'write_file',
  path,
});
const saved = (...rules: PolicyRule[]): PolicyOnDisk => ({ ok: true, policy: { version: 1, rules } });
const write = async (path: string) => {
  const { status, approved_by, error_type } = await fixture.submit('write_file', { path, content: 'x' });
  return error_type ?? approved_by ?? status;
};
const idsInFile = () => (file.content.ok ? file.content.policy.rules.map(({ id }) => id) : []);

describe("[RK-5] a server on the person's own machine keeps their rules in their policy file", () => {
  it('what another program saves there counts at the next call', async () => {
    expect(await write('a.md')).toBe('awaiting_approval');
    file.edit(saved(rule('docs', 'allow', '*.md')));
    expect(await write('a.md')).toBe('config');
    file.edit(saved(rule('docs', 'allow', '*.md'), rule('no-b', 'deny', 'b.md')));
    expect(await write('b.md')).toBe('DENIED_BY_POLICY');
    file.edit(saved());
    expect(await write('a.md')).toBe('awaiting_approval');
  });

  it('"always" saves its rule there, beside what another program has just saved', async () => {
    const page = await fixture.listen();
    const { approval_id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
    const { offered_scopes } = await page.last('tool.approval_request');
    const pattern = offered_scopes.find(({ scope }) => scope === 'always')?.pattern ?? '';
    file.edit(saved(rule('mine', 'deny', 'private/**')));
    await fixture.approve(approval_id, { scope: 'always', pattern });
    expect(idsInFile()).toEqual(['mine', expect.any(String)]);
    expect(await write('a.md')).toBe('config');
    expect(await write('private/x.md')).toBe('DENIED_BY_POLICY');
  });

  it('the page replaces it, unless another program has changed it meanwhile', async () => {
    const { policies } = fixture.engine;
    const before = await policies.policyFile('ada');
    file.edit(saved(rule('mine', 'deny', 'private/**')));
    const mine = { version: 1 as const, rules: [rule('docs', 'allow', '*.md')] };
    expect(await codeOf(policies.replace('ada', mine, before))).toBe('POLICY_CHANGED');
    expect(idsInFile()).toEqual(['mine']);
    await policies.replace('ada', mine, await policies.policyFile('ada'));
    expect(idsInFile()).toEqual(['docs']);
    expect(await policies.fileOf('ada')).toEqual({ path: file.path });
    expect(await policies.fileOf('ben')).toBeUndefined();
  });

  it('a file that cannot be used allows nothing, and is not overwritten', async () => {
    file.edit(saved(rule('docs', 'allow', '*.md'), rule('no-b', 'deny', 'b.md')));
    expect(await write('a.md')).toBe('config');
    file.edit({ ok: false, problem: 'it is not JSON' });
    expect(await write('a.md')).toBe('awaiting_approval');
    expect(await write('b.md')).toBe('DENIED_BY_POLICY');
    const { policies } = fixture.engine;
    expect(await policies.fileOf('ada')).toEqual({ path: file.path, problem: 'it is not JSON' });
    expect(await codeOf(policies.replace('ada', { version: 1, rules: [] }))).toBe('POLICY_INVALID');
    file.edit(saved(rule('docs', 'allow', '*.md')));
    expect(await write('a.md')).toBe('config');
    expect(await policies.fileOf('ada')).toEqual({ path: file.path });
  });

  it('rules that were kept in the database until now move to the file, once', async () => {
    fixture = await EngineFixture.open();
    await fixture.engine.policies.replace('ada', {
      version: 1,
      rules: [rule('old', 'deny', 'old/**'), rule('mine', 'allow', 'b.md')],
      programs: [{ name: 'make', risk: 'MEDIUM' }],
    });
    file.edit(saved(rule('mine', 'deny', 'b.md')));
    fixture.policyFile = file;
    await fixture.restart();
    expect(await write('old/a.md')).toBe('DENIED_BY_POLICY');
    expect(file.content).toEqual({
      ok: true,
      policy: {
        version: 1,
        rules: [rule('mine', 'deny', 'b.md'), rule('old', 'deny', 'old/**')],
        programs: [{ name: 'make', risk: 'MEDIUM' }],
      },
    });
    file.edit(saved()); // the person has removed them: they do not come back
    expect(await write('old/a.md')).toBe('awaiting_approval');
    expect(idsInFile()).toEqual([]);
  });
});

describe("[RK-5] the policy file of a runner's machine", () => {
  const told = async (policy: object) => {
    const report = { policy: { policy: { version: 1 as const, rules: [], ...policy } } };
    const { store, engine } = fixture;
    await store.write((tx) => storeRunnerReport(tx, 'ada', 'runner-1', report, store.now()));
    engine.policies.forget('ada');
  };
  beforeEach(async () => {
    fixture = await EngineFixture.open();
    await fixture.listen({ runnerId: 'runner-1' });
  });

  it('allows, asks and denies in its workspace, and adds programs', async () => {
    expect(await write('a.md')).toBe('awaiting_approval');
    await told({
      rules: [rule('docs', 'allow', '*.md'), rule('no-b', 'deny', 'b.md')],
      programs: [{ name: 'make' }],
    });
    expect(await write('a.md')).toBe('config');
    expect(await write('b.md')).toBe('DENIED_BY_POLICY');
    const { status } = await fixture.submit('execute_command', { command: 'make', args: ['test'] });
    expect(status).toBe('awaiting_approval');
  });

  it('is named to the runner, and a rule that is gone there does not count at the claim', async () => {
    await told({ rules: [rule('docs', 'allow', '*.md')] });
    const { id, allowed_by } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
    expect(allowed_by).toEqual([{ ...rule('docs', 'allow', '*.md'), id: 'policy.json: docs' }]);
    await told({ rules: [] });
    expect(await codeOf(fixture.claim(id, { digest: null }))).toBe('GRANT_REVOKED');
  });

  it("never beats a deny of the person's rules at the server", async () => {
    await fixture.engine.policies.replace('ada', { version: 1, rules: [rule('no', 'deny', '*.md')] });
    await told({ rules: [rule('docs', 'allow', '*.md')] });
    expect(await write('a.md')).toBe('DENIED_BY_POLICY');
  });
});
