import { digest, EngineFixture, settle } from '@countersign/testing';
import { beforeEach, expect, it } from 'vitest';

let fixture: EngineFixture;
beforeEach(async () => {
  fixture = await EngineFixture.open();
});

const able = { runnerId: 'runner-1', instance: 'journal', capabilities: ['path_rules'] };
const protectPrivateFiles = () =>
  fixture.engine.policies.replace('ada', {
    version: 1,
    rules: [{ id: 'private', effect: 'deny', tool: '*_file', path: 'private/**' }],
  });
/** A write that was previewed by runner-1 and approved. */
async function approved(): Promise<string> {
  const { id, approval_id } = await fixture.submit('write_file', { path: 'a.md', content: 'x' });
  await fixture.preview(approval_id);
  await fixture.approve(approval_id, { digest: digest('a') });
  return id;
}

it('[EX-7] a runner that reconnects keeps its calls, without a new attempt', async () => {
  const first = await fixture.listen(able);
  await protectPrivateFiles();
  const id = await approved();
  first.close();
  await fixture.listen(able);
  await settle();
  expect(await fixture.execution(id)).toMatchObject({
    status: 'approved',
    runner_id: 'runner-1',
    attempt: 1,
  });
});

it('[EX-7] a call that a runner has begun stays with it, even if it can do less after it reconnects', async () => {
  const first = await fixture.listen(able);
  await protectPrivateFiles();
  const id = await approved();
  await fixture.claim(id, { instance: 'journal' });
  first.close();
  await fixture.listen({ ...able, capabilities: [] });
  await settle();
  expect(await fixture.execution(id)).toMatchObject({
    status: 'executing',
    runner_id: 'runner-1',
    attempt: 1,
  });
});

it('[EX-10] a runner of another workspace is not given a call that waits', async () => {
  const { id } = await fixture.submit('read_file', { path: 'a.md' });
  await fixture.listen({ runnerId: 'runner-2', workspace: '/elsewhere' });
  await settle();
  expect(await fixture.execution(id)).toMatchObject({ status: 'approved', runner_id: null });
});

it('[EX-10] [RK-5] a runner that does not know path rules does not prolong the time of a call that waits', async () => {
  await protectPrivateFiles();
  const { id, due_at } = await fixture.submit('read_file', { path: 'a.md' });
  await fixture.clock.advance(20_000);
  await fixture.listen({ runnerId: 'runner-1' });
  await settle();
  expect(await fixture.execution(id)).toMatchObject({ status: 'approved', runner_id: null, due_at });
});

it('[EX-7] a runner that is back, on whichever node, keeps the calls that were to be taken from it', async () => {
  await fixture.listen({ runnerId: 'runner-1', instance: 'journal' });
  const id = await approved();
  const runner = { id: 'runner-1', userId: 'ada', workspace: '/workspace', capabilities: [] };
  await fixture.engine.assignments.lost(runner); // its row says that it is connected
  expect(await fixture.execution(id)).toMatchObject({
    status: 'approved',
    runner_id: 'runner-1',
    attempt: 1,
  });
});
