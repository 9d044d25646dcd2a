import type { Clock } from '@countersign/client';
import type { ApprovalRequest } from '@countersign/tool-runner';
import { describe, expect, it } from 'vitest';
import { PendingApprovals } from './pending-approvals.ts';

function setUp() {
  let now = 0;
  const clock: Clock = { monotonic: () => now, after: () => () => {} };
  const pending = new PendingApprovals<string>(clock);
  const seen: string[] = [];
  pending.listen({
    onChange: () => seen.push('change'),
    onNew: ({ request }) => seen.push(`new ${request.approval_id}`),
    onGone: ({ request }) => seen.push(`gone ${request.approval_id}`),
  });
  const request = (approval_id: string, revision = 1) =>
    ({ approval_id, revision, remaining_ms: 300_000 }) as ApprovalRequest;
  return { pending, seen, request, tick: (ms: number) => (now += ms) };
}

describe('what waits in this window', () => {
  it('is told once when it is new, and when it goes', () => {
    const { pending, seen, request } = setUp();
    pending.show('here', request('a'));
    pending.show('here', request('a', 2));
    pending.show('here', request('a', 1)); // overtaken
    expect(pending.find('a')?.request.revision).toBe(2);
    pending.withdraw('a');
    pending.withdraw('a');
    pending.show('here', request('a', 2)); // again, after a reset of the stream: nobody is told twice
    expect(seen).toEqual(['change', 'new a', 'change', 'change', 'gone a', 'change']);
  });

  it('goes with its folder', () => {
    const { pending, request } = setUp();
    pending.show('one', request('a'));
    pending.show('two', request('b'));
    pending.withdrawAll('one');
    expect(pending.all.map(({ request: { approval_id } }) => approval_id)).toEqual(['b']);
  });

  it('[AP-3] counts the time that is left, and does nothing when it is over', () => {
    const { pending, request, tick } = setUp();
    pending.show('one', request('a'));
    tick(100_000);
    const entry = pending.find('a');
    expect(entry && pending.remainingSeconds(entry)).toBe(200);
    tick(1_000_000);
    expect(entry && pending.remainingSeconds(entry)).toBe(0);
    expect(pending.all).toHaveLength(1);
  });
});
