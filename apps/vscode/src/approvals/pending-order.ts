import type { PendingEntry } from './pending-approvals.ts';

type Listed = Pick<PendingEntry<unknown>, 'request' | 'isPreviewComing'>;

/** The entry after (1) or before (-1) the one with this id, wrapping around. Without such an entry, the first or the last. */
export function neighbourOf<Entry extends Listed>(
  all: readonly Entry[],
  approvalId: string | undefined,
  by: 1 | -1,
): Entry | undefined {
  const at = all.findIndex(({ request }) => request.approval_id === approvalId);
  if (at < 0) return by > 0 ? all[0] : all.at(-1);
  return all[(at + by + all.length) % all.length];
}

/** The entries to look at after a decision, in order: those that can be decided now. */
export function laterThan<Entry extends Listed>(all: readonly Entry[], approvalId: string): readonly Entry[] {
  const at = all.findIndex(({ request }) => request.approval_id === approvalId);
  const inOrder = [...all.slice(at + 1), ...all.slice(0, Math.max(0, at))];
  return inOrder.filter(({ request, isPreviewComing }) => request.preview !== null && !isPreviewComing);
}
