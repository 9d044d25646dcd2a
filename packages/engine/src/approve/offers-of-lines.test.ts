import { codeOf, digest, EngineFixture, type Listener } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';

let fixture: EngineFixture;
let runner: Listener;
beforeEach(async () => {
  fixture = await EngineFixture.open();
  runner = await fixture.listen({ runnerId: 'runner-1' });
});

const run = (command: string) => fixture.submit('shell_exec', { command });
/** Asks about a line, shows its preview and returns what was offered for it. */
async function ask(command: string) {
  const { approval_id } = await run(command);
  await fixture.preview(approval_id);
  const { offered_scopes } = await runner.last('approval.updated');
  return {
    offered: offered_scopes.flatMap(({ scope, pattern }) => (scope === 'class' ? [pattern] : [])),
    approve: (pattern: string, also: object = { scope: 'class' }) =>
      codeOf(fixture.approve(approval_id, { digest: digest('a'), pattern, ...also } as never)),
  };
}

describe('[AP-4] a line of several commands', () => {
  const line = 'npm run build && node --test';

  it('is offered from narrow to wide, with a pattern for each command', async () => {
    expect((await ask(line)).offered).toEqual([
      'npm run build\nnode --test',
      'npm run build *\nnode *',
      'npm *\nnode *',
    ]);
  });

  it('a command that only reads needs no pattern', async () => {
    expect((await ask('npm test | head -20')).offered[0]).toBe('npm test');
  });

  it.each([
    'npm run build && npm publish $TAG',
    'X=$(npm run build) npm test',
    'eval "npm test"',
    'npm test > build.log',
  ])(
    'offers no class on %s: it is computed, or writes a file that no command pattern covers',
    async (text) => {
      expect((await ask(text)).offered).toEqual([]);
    },
  );

  it('takes a narrow pattern for one command and a wide one for another, each a grant of its own', async () => {
    const { approve } = await ask(line);
    expect(await approve('npm run build *\nnode --test')).toBe('ok');
    expect((await run('npm run build -- --watch && node --test')).approved_by).toBe('config');
    expect((await run('node --test')).approved_by).toBe('config');
    expect((await run('npm run build && node --test src/a.test.js')).status).toBe('awaiting_approval');
    const grants = await fixture.store.read((tx) => tx.liveGrants('ada', 'project-1', 0));
    expect(grants.map(({ pattern }) => pattern).toSorted()).toEqual(['node --test', 'npm run build *']);
  });

  it.each([
    ['npm *', 'a pattern is missing'],
    ['node *\nnpm *', 'another order'],
    ['npm run build *\nnode *\nrm *', 'one more'],
    ['npm run build *\n*', 'one that was not offered'],
    ['', 'nothing'],
  ])('refuses %j: %s', async (pattern) => {
    expect(await (await ask(line)).approve(pattern)).toBe('GRANT_NOT_ALLOWED');
  });

  it('grants and rules unite: what was granted on two lines covers a third', async () => {
    expect(await (await ask('npm run build && npm test')).approve('npm run build\nnpm test')).toBe('ok');
    const rules = [
      { id: 'lint', effect: 'allow', tool: 'shell_exec', command: 'npm run lint *', max_risk: 'HIGH' },
    ] as const;
    await fixture.engine.policies.replace('ada', { version: 1, rules: [...rules] });
    const { id } = await run('npm test && npm run lint -- --fix');
    const execution = await fixture.execution(id);
    expect(execution).toMatchObject({ approved_by: 'config', allowed_by: [{ id: 'lint' }] });
    const signal = await runner.last('tool.execution_signal');
    expect(signal).toMatchObject({ grant: { pattern: 'npm test' }, rule: { id: 'lint' } });
  });

  it('a claim is refused once one of its grants is revoked', async () => {
    expect(await (await ask(line)).approve('npm run build *\nnode *')).toBe('ok');
    const { id } = await run('npm run build && node --test');
    expect((await runner.last('tool.execution_signal')).further_grants).toMatchObject([
      { pattern: 'node *' },
    ]);
    const [, second] = await fixture.store.read((tx) => tx.liveGrants('ada', 'project-1', 0));
    await fixture.store.write((tx) => tx.update('grants', second?.id ?? '', { revoked_at: 1 }));
    expect(await codeOf(fixture.claim(id, { digest: null }))).toBe('GRANT_REVOKED');
  });

  it('a use counts for each grant', async () => {
    expect(await (await ask(line)).approve('npm run build *\nnode *')).toBe('ok');
    const { id } = await run('npm run build && node --test');
    expect(await codeOf(fixture.claim(id, { digest: digest('b') }))).toBe('ok');
    const grants = await fixture.store.read((tx) => tx.liveGrants('ada', 'project-1', 0));
    expect(grants.map(({ uses }) => uses)).toEqual([1, 1]);
  });

  it('releases what waits and is covered by the new grant together with an earlier one', async () => {
    expect(await (await ask('npm test')).approve('npm test *')).toBe('ok');
    const waiting = await run('npm test && npm run lint');
    expect(waiting.status).toBe('awaiting_approval');
    expect(await (await ask('npm run lint')).approve('npm run lint')).toBe('ok');
    expect((await fixture.execution(waiting.id)).approved_by).toBe('config');
  });
});

describe('[AP-4] "always" in this project', () => {
  it('is a grant without an end, seen and revoked like any other, and saves no rule', async () => {
    const { approve } = await ask('npm test');
    expect(await approve('npm test *', { scope: 'always', only_here: true })).toBe('ok');
    const [grant] = await fixture.store.read((tx) => tx.liveGrants('ada', 'project-1', 0));
    expect(grant).toMatchObject({
      scope: 'always',
      session_id: null,
      expires_at: null,
      pattern: 'npm test *',
    });
    expect((await fixture.engine.policies.policyFile('ada')).rules).toEqual([]);
    const other = await fixture.submit('shell_exec', { command: 'npm test' }, { sessionId: 'session-2' });
    expect(other.approved_by).toBe('config');
  });
});
