import { codeOf, EngineFixture } from '@countersign/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../rows.ts';

let fixture: EngineFixture;
beforeEach(async () => {
  fixture = await EngineFixture.open();
});

const reject = (approvalId: string | null) =>
  codeOf(fixture.engine.approvals.rejectTool(fixture.person, String(approvalId), {}));
const agent = { requestedBy: 'agent-token', isOutsideAgent: true };

describe('[AG-3] a call that was rejected twice is not asked a third time', () => {
  it.each<[string, JsonObject]>([
    ['with its default written out', { path: 'c.md', content: 'x', mode: 'write' }],
    ['by ./', { path: './c.md', content: 'x' }],
    ['by a detour', { path: 'src/../c.md', content: 'x' }],
    ['by its absolute path', { path: '/workspace/c.md', content: 'x' }],
  ])('%s', async (_name, params) => {
    for (const first of [{ path: 'c.md', content: 'x' }, params])
      await reject((await fixture.submit('write_file', first)).approval_id);
    expect((await fixture.submit('write_file', params)).error_type).toBe('REJECTED_BEFORE');
    expect((await fixture.submit('write_file', { ...params, content: 'y' })).status).toBe(
      'awaiting_approval',
    );
  });

  it('nor by an agent that opens another session', async () => {
    const call = (sessionId: string, more = agent) =>
      fixture.submit('delete_file', { path: 'a.txt' }, { sessionId, ...more });
    await reject((await call('one')).approval_id);
    await reject((await call('two')).approval_id);
    expect((await call('three')).error_type).toBe('REJECTED_BEFORE');
    expect((await call('three', { ...agent, isOutsideAgent: false })).status).toBe('awaiting_approval');
  });
});

it('[AG-3] ten approvals of an agent wait, in however many sessions', async () => {
  const codes = [];
  for (let i = 0; i < 12; i++)
    codes.push(
      (await fixture.submit('delete_file', { path: `${i}` }, { sessionId: `s${i}`, ...agent })).error_type,
    );
  expect(codes).toEqual([...Array.from({ length: 10 }, () => null), 'TOO_MANY_PENDING', 'TOO_MANY_PENDING']);
});
