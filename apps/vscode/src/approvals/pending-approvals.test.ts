import { type ApprovalRequest, KnownApprovals } from '@countersign/approvals';
import type { CountersignEvent } from '@countersign/protocol';
import { ManualClock } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import { PendingApprovals } from './pending-approvals.ts';

const server = {
  fetch: () => new Promise<never>(() => {}),
  list: async () => [],
  runners: async () => [],
  decide: () => Promise.reject(new Error('nobody decides')),
  tryFirst: () => Promise.reject(new Error('nobody tries')),
};
const request = (approval_id: string, revision = 1, more: object = {}) =>
  ({ approval_id, revision, remaining_ms: 300_000, timestamp: '', ...more }) as unknown as ApprovalRequest;
const resolved = (approval_id: string) =>
  ({ event: 'approval.resolved', data: { approval_id, status: 'approved' } }) as unknown as CountersignEvent;

function setUp() {
  const clock = new ManualClock();
  const pending = new PendingApprovals<{ approvals: KnownApprovals }>(clock);
  const seen: string[] = [];
  pending.listen({
    onChange: () => seen.push('change'),
    onNew: ({ request: { approval_id } }) => seen.push(`new ${approval_id}`),
    onGone: ({ request: { approval_id } }) => seen.push(`gone ${approval_id}`),
  });
  const open = () => {
    const folder = { approvals: new KnownApprovals({ clock, server }) };
    pending.add(folder);
    return folder;
  };
  const ids = () => pending.all.map(({ request: { approval_id } }) => approval_id);
  return { pending, clock, seen, open, ids };
}

describe('what waits in this window', () => {
  it('notifies its listeners once when a request is new, and once when it is gone', () => {
    const { pending, seen, open } = setUp();
    const { approvals } = open();
    approvals.show(request('a'));
    approvals.show(request('a', 2));
    approvals.show(request('a', 1)); // an older version that arrives late
    expect(pending.find('a')?.request.revision).toBe(2);
    approvals.withdraw('a');
    approvals.withdraw('a');
    approvals.show(request('a', 2)); // the same version again, after a reset of the stream: not announced twice
    expect(seen).toEqual(['change', 'new a', 'change', 'change', 'gone a', 'change']);
  });

  it('is removed when it is settled on any device', () => {
    const { seen, open, ids } = setUp();
    const { approvals } = open();
    approvals.show(request('a'));
    approvals.receive(resolved('a'));
    expect([ids(), seen.at(-1)]).toEqual([[], 'gone a']);
  });

  it('goes with its folder, and is the oldest first among several', () => {
    const { pending, seen, open, ids } = setUp();
    const one = open();
    open().approvals.show(request('b', 1, { timestamp: '2' }));
    one.approvals.show(request('a', 1, { timestamp: '1' }));
    expect(ids()).toEqual(['a', 'b']);
    pending.remove(one);
    one.approvals.show(request('c'));
    expect([ids(), seen.at(-1)]).toEqual([['b'], 'gone a']);
  });

  it('[UI-6] stays as it was until its newer version is here in full', () => {
    const { pending, open, ids } = setUp();
    const { approvals } = open();
    approvals.show(request('new', 1, { omitted: ['tool_params'] }));
    expect(ids()).toEqual([]);
    approvals.show(request('a'));
    approvals.show(request('a', 2, { omitted: ['tool_params'] }));
    expect(pending.find('a')?.request.revision).toBe(1);
    approvals.show(request('a', 3));
    expect(pending.find('a')?.request.revision).toBe(3);
  });

  it('[AP-3] counts the time that is left, and does nothing when it is over', async () => {
    const { pending, clock, open } = setUp();
    open().approvals.show(request('a'));
    await clock.advance(100_000);
    const entry = pending.find('a');
    expect(entry && pending.remainingSeconds(entry)).toBe(200);
    await clock.advance(1_000_000);
    expect(entry && pending.remainingSeconds(entry)).toBe(0);
    expect(pending.all).toHaveLength(1);
  });
});
