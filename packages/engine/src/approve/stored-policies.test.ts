import { EngineFixture } from '@countersign/testing';
import { expect, it } from 'vitest';

it('[RK-5] remembers the policies of some workspaces, and reads the others again', async () => {
  const { engine } = await EngineFixture.open();
  const policies = engine.policies;
  await policies.replace('ada', { version: 1, rules: [{ id: 'no', effect: 'deny', tool: 'read_file' }] });
  const decide = async (workspace: string) =>
    (await policies.policyFor('ada', workspace, 'read_file')).decide('read_file', { path: 'a.md' }).verdict;
  expect(await decide('/w/first')).toMatchObject({ decision: 'REJECT' });
  expect(policies.policyFor('ada', '/w/first', 'read_file')).not.toBeInstanceOf(Promise);
  for (let i = 0; i < 150; i += 1) await decide(`/w/${i}`);
  expect(policies.policyFor('ada', '/w/149', 'read_file')).not.toBeInstanceOf(Promise);
  expect(policies.policyFor('ada', '/w/first', 'read_file')).toBeInstanceOf(Promise);
  expect(await decide('/w/first')).toMatchObject({ decision: 'REJECT' });
  engine.close();
});
