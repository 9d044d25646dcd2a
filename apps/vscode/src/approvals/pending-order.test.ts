import { describe, expect, it } from 'vitest';
import type { PendingEntry } from './pending-approvals.ts';
import { neighbourOf, nextAfter } from './pending-order.ts';

const entry = (approval_id: string, preview: object | null = {}) =>
  ({ request: { approval_id, preview }, isPreviewComing: preview === null }) as unknown as PendingEntry<null>;
const idOf = (found: PendingEntry<null> | undefined) => found?.request.approval_id;
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
    expect([neighbourOf([], 'a', 1), nextAfter([], 'a')]).toEqual([undefined, undefined]);
  });

  it('the next after a decision is the one below, then those above, never the decided one', () => {
    expect([
      idOf(nextAfter(all, 'a')),
      idOf(nextAfter(all, 'c')),
      idOf(nextAfter([entry('a')], 'a')),
    ]).toEqual(['b', 'a', undefined]);
  });

  it('[AP-7] what has no preview yet is left out', () => {
    expect(idOf(nextAfter([entry('a'), entry('b', null), entry('c')], 'a'))).toBe('c');
  });
});
