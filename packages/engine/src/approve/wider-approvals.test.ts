import type { PolicyFile } from '@countersign/protocol';
import { codeOf, digest, EngineFixture, type Listener } from '@countersign/testing';
import { beforeEach, describe, expect, it, vi } from 'vitest';

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

it.each([
  ['write_file', { path: 'src/a.ts', content: 'x' }],
  ['delete_file', { path: 'src/a.ts' }],
  ['execute_command', { command: 'npm', args: ['test'] }],
] as const)('[AP-4] [RK-5] the rule that %s offers is the one that "always" saves', async (tool, params) => {
  const { approval_id } = await fixture.submit(tool, params);
  await fixture.preview(approval_id);
  const { offered_scopes } = await runner.last('approval.updated');
  const offer = offered_scopes.find(({ scope }) => scope === 'always');
  if (!offer) throw new Error('nothing was offered');
  const pattern = offer.pattern ?? undefined;
  await fixture.approve(approval_id, { digest: digest('a'), scope: 'always', ...(pattern && { pattern }) });
  const { rules } = await fixture.engine.policies.policyFile('ada');
  const { id: _, ...covered } = offer.rules[0] ?? { id: '' };
  expect(rules).toEqual([{ ...covered, id: expect.any(String), why: expect.any(String) }]);
});

describe('[RK-5] the deny rules of a person stand', () => {
  const deny = { id: 'deny', effect: 'deny', tool: '*', path: 'private/**' } as const;

  it('for any file name that "always" was chosen for', async () => {
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
      yield* tx.insert('policies', {
        id: 'ada',
        user_id: 'ada',
        policy,
        file: null,
        version: 1,
        updated_at: 0,
      });
    });
    fixture.engine.policies.forget('ada');
    expect(await read('private/x.txt')).toBe('DENIED_BY_POLICY');
    expect((await write('a.md')).status).toBe('awaiting_approval');
  });
});

describe('[AP-4] "changes under src/"', () => {
  const changes: readonly [string, Record<string, string>][] = [
    ['write_file', { path: 'src/new.ts', content: 'x' }],
    ['edit_file', { path: 'src/app.ts', old: 'a', new: 'b' }],
    ['copy_file', { source: 'docs/a.md', dest: 'src/a.md' }],
    ['create_directory', { path: 'src/lib' }],
  ];
  const approveUnderSrc = async (approvalId: string | null) => {
    const { offered_scopes } = await runner.last('tool.approval_request');
    const offer = offered_scopes.find(({ label }) => label === 'Changes under src/ in this session');
    return codeOf(fixture.approve(approvalId, { scope: 'class', pattern: offer?.pattern ?? 'not offered' }));
  };

  it.each(changes)(
    'is offered on %s, covers it and every other tool that changes files there',
    async (tool, params) => {
      expect(await approveUnderSrc((await fixture.submit(tool, params)).approval_id)).toBe('ok');
      for (const each of changes) expect((await fixture.submit(...each)).approved_by).toBe('config');
      expect((await write('lib/a.ts')).status).toBe('awaiting_approval');
    },
  );

  it('covers neither deleting nor moving nor what executes later', async () => {
    expect(await approveUnderSrc((await write('src/a.ts')).approval_id)).toBe('ok');
    for (const { status } of [
      await fixture.submit('delete_file', { path: 'src/a.ts' }),
      await fixture.submit('move_file', { source: 'src/a.ts', dest: 'src/b.ts' }),
      await fixture.submit('write_file', { path: 'src/.envrc', content: 'x' }),
    ])
      expect(status).toBe('awaiting_approval');
  });

  it('is not offered on move_file, which has a class of its own and covers nothing else', async () => {
    const { approval_id } = await fixture.submit('move_file', { source: 'src/a.ts', dest: 'src/b.ts' });
    const { offered_scopes } = await runner.last('tool.approval_request');
    expect(offered_scopes.map(({ label }) => label)).toEqual([
      'All calls of move_file in this session',
      'Always: all calls of move_file',
      'Everything in this session',
    ]);
    await fixture.preview(approval_id);
    expect(await codeOf(fixture.approve(approval_id, { scope: 'class' }))).toBe('ok');
    expect((await fixture.submit('move_file', { source: 'c.md', dest: 'd.md' })).approved_by).toBe('config');
    expect((await fixture.submit('delete_file', { path: 'c.md' })).status).toBe('awaiting_approval');
    expect((await write('src/a.ts')).status).toBe('awaiting_approval');
  });

  it('is "deleting files under src/" for a call that deletes, and covers nothing else', async () => {
    const { approval_id } = await fixture.submit('delete_file', { path: 'src/a.ts' });
    const { offered_scopes } = await runner.last('tool.approval_request');
    const offer = offered_scopes.find(({ label }) => label === 'Deleting files under src/ in this session');
    expect(offer?.rules[0]).toMatchObject({ tool: 'delete_file', path: 'src/**' });
    await fixture.preview(approval_id);
    expect(await codeOf(fixture.approve(approval_id, { scope: 'class', pattern: 'src/**' }))).toBe('ok');
    expect((await fixture.submit('delete_file', { path: 'src/b.ts' })).approved_by).toBe('config');
    expect((await fixture.submit('write_file', { path: 'src/Makefile', content: 'x' })).status).toBe(
      'awaiting_approval',
    );
  });
});

describe('[AP-4] git commands, in one session (founding documents: tools-specification)', () => {
  const label = 'Harmless git commands, commits and new branches in this session';
  const calls: readonly [string, Parameters<EngineFixture['submit']>[1]][] = [
    ['execute_command', { command: 'git', args: ['commit', '-m', 'x'] }],
    ['git_commit', { message: 'x', files: ['src/a.ts'] }],
    ['git_branch', { name: 'next', create: true }],
  ];

  it.each(calls)('are offered on %s, and cover each other', async (tool, params) => {
    const waiting = await fixture.submit('git_branch', { name: 'waits', create: true });
    const { approval_id } = await fixture.submit(tool, params);
    const { offered_scopes } = await runner.last('tool.approval_request');
    const offer = offered_scopes.find((each) => each.label === label);
    const chosen = { scope: 'class', pattern: offer?.pattern ?? 'not offered' } as const;
    expect(await codeOf(fixture.approve(approval_id, chosen))).toBe('ok');
    // A waiting call that the grant covers is released at once.
    expect((await fixture.execution(waiting.id)).approved_by).toBe('config');
    for (const each of calls) expect((await fixture.submit(...each)).approved_by).toBe('config');
    // The runner is told what it has to check.
    expect((await runner.last('tool.execution_signal')).grant).toMatchObject({
      tool: '{execute_command,shell_exec,git_branch,git_commit}',
      pattern: 'git *',
      max_risk: 'MEDIUM',
    });
    for (const [other, more] of [
      ['git_push', {}],
      ['execute_command', { command: 'git', args: ['push'] }],
      ['execute_command', { command: 'git', args: ['config', 'core.hooksPath', 'x'] }],
      ['git_commit', { message: 'x', files: ['.husky/pre-commit'] }],
      ['write_file', { path: '.git/hooks/pre-commit', content: 'x' }],
    ] as const)
      expect([other, (await fixture.submit(other, more)).status]).toEqual([other, 'awaiting_approval']);
  });

  it('are not offered on a push', async () => {
    await fixture.submit('git_push', {});
    const { offered_scopes } = await runner.last('tool.approval_request');
    expect(offered_scopes.map((each) => each.label)).not.toContain(label);
  });
});

it('[AP-4] an offer says up to which risk it grants, also where the runner has raised it', async () => {
  const { approval_id } = await write('src/a.ts');
  await fixture.preview(approval_id, { risk_level: 'HIGH' });
  const { offered_scopes } = await runner.last('approval.updated');
  const shown = new Map(
    offered_scopes.map(({ scope, pattern, max_risk, rules }) => [
      `${scope} ${pattern}`,
      max_risk === rules[0]?.max_risk ? max_risk : 'another risk than its rule',
    ]),
  );
  expect(shown.get('session null')).toBe('MEDIUM');
  const chosen = { scope: 'class', pattern: 'src/**' } as const;
  await fixture.approve(approval_id, { digest: digest('a'), ...chosen });
  const [grant] = await fixture.store.read((tx) => tx.liveGrants('ada', 'project-1', 0));
  expect([grant?.max_risk, shown.get('class src/**'), shown.get('always src/**')]).toEqual([
    'HIGH',
    'HIGH',
    'HIGH',
  ]);
});

describe('[AP-4] a grant releases what already waits and is covered', () => {
  const statuses = (ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await fixture.execution(id)).status));

  it.each(['class', 'always'] as const)(
    '%s: in the same transaction, each announced and signalled',
    async (scope) => {
      const [first, second, other, high] = [
        await write('src/a.ts'),
        await fixture.submit('edit_file', { path: 'src/b.ts', old: 'a', new: 'b' }),
        await write('lib/a.ts'),
        await fixture.submit('write_file', { path: 'src/Makefile', content: 'x' }),
      ];
      const units = vi.spyOn(fixture.store, 'write');
      expect(await codeOf(fixture.approve(first.approval_id, { scope, pattern: 'src/**' }))).toBe('ok');
      expect(units).toHaveBeenCalledTimes(1);
      expect(await statuses([first.id, second.id, other.id, high.id])).toEqual([
        'approved',
        'approved',
        'awaiting_approval',
        'awaiting_approval',
      ]);
      const released = await fixture.execution(second.id);
      expect(released).toMatchObject({ approved_by: 'config', digest: null, risk_level: 'MEDIUM' });
      expect(scope === 'class' ? released.grant_id : released.allowed_by?.[0]?.id).toBeTruthy();
      await runner.last('tool.execution_signal');
      expect(runner.all('tool.execution_signal').map(({ tool_id }) => tool_id)).toEqual([
        first.id,
        second.id,
      ]);
      expect(runner.all('approval.resolved')).toMatchObject([
        { tool_id: first.id, status: 'approved', approved_by: 'user', scope },
        { tool_id: second.id, status: 'approved', approved_by: 'config', scope },
      ]);
    },
  );

  it.each(['class', 'always'] as const)('%s: a call that nobody is asked about says so', async (scope) => {
    const first = await write('src/a.ts');
    await fixture.approve(first.approval_id, { scope, pattern: 'src/**' });
    await write('src/b.ts');
    await fixture.submit('read_file', { path: 'src/a.ts' });
    const calls = runner.all('tool.call').filter(({ status }) => status === 'pending');
    expect(calls.map((call) => [call.approved_by, call.scope])).toEqual([
      [undefined, undefined],
      ['config', scope === 'class' ? 'class' : null],
      [undefined, undefined],
    ]);
  });

  it('not what waits in another session, nor what is above the risk that the runner found', async () => {
    const first = await write('src/a.ts');
    const raised = await write('src/b.ts');
    await fixture.preview(raised.approval_id, { risk_level: 'HIGH' });
    const elsewhere = await fixture.submit(
      'write_file',
      { path: 'src/c.ts', content: 'x' },
      { sessionId: 'another' },
    );
    expect(await codeOf(fixture.approve(first.approval_id, { scope: 'session' }))).toBe('ok');
    expect(await statuses([raised.id, elsewhere.id])).toEqual(['awaiting_approval', 'awaiting_approval']);
  });

  it('"always" does not release what an ask or a deny rule covers', async () => {
    const first = await write('src/a.ts');
    const asked = await write('src/private/b.ts');
    await fixture.engine.policies.replace('ada', {
      version: 1,
      rules: [{ id: 'ask', effect: 'ask', tool: '*', path: 'src/private/**' }],
    });
    expect(await codeOf(fixture.approve(first.approval_id, { scope: 'always', pattern: 'src/**' }))).toBe(
      'ok',
    );
    expect(await statuses([asked.id])).toEqual(['awaiting_approval']);
  });
});
