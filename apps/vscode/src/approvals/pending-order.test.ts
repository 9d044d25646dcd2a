import { describe, expect, it } from 'vitest';
import type { PendingEntry } from './pending-approvals.ts';
import { laterThan, neighbourOf } from './pending-order.ts';

const entry = (approval_id: string, preview: object | null = {}) =>
  ({ request: { approval_id, preview }, isPreviewComing: preview === null }) as unknown as PendingEntry<null>;
const idOf = (found: PendingEntry<null> | undefined) => found?.request.approval_id;
const idsOf = (found: readonly PendingEntry<null>[]) => found.map(({ request }) => request.approval_id);
const all = [entry('a'), entry('b'), entry('c')];

describe('among the pending requests', () => {
  it.each([
    ['a', 1, 'b'],
    ['c', 1, 'a'],
    ['a', -1, 'c'],
    [undefined, 1, 'a'],
    [undefined, -1, 'c'],
    ['gone', 1, 'a'],
  ] as const)('from %s by %i one comes to %s', (from, by, to) => {
    expect(idOf(neighbourOf(all, from, by))).toBe(to);
  });

  it('there is none beside none', () => {
    expect([neighbourOf([], 'a', 1), laterThan([], 'a')]).toEqual([undefined, []]);
  });

  it('after a decision come those below, then those above, never the decided one', () => {
    expect(['a', 'b', 'c'].map((id) => idsOf(laterThan(all, id)))).toEqual([
      ['b', 'c'],
      ['c', 'a'],
      ['a', 'b'],
    ]);
    expect(laterThan([entry('a')], 'a')).toEqual([]);
  });

  it('[AP-7] what has no preview yet is left out', () => {
    expect(idsOf(laterThan([entry('a'), entry('b', null), entry('c')], 'a'))).toEqual(['c']);
  });
});
