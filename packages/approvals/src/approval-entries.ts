import {
  type Approval,
  type ApprovalStatus,
  type ApprovedBy,
  type CheckedCard,
  type CountersignEvent,
  checkedCard,
  type EventPayload,
  type ToolErrorValue,
} from '@countersign/protocol';
import type { Notice } from './decision.ts';

export type ApprovalRequest = EventPayload<'tool.approval_request'>;

/** How an approval was settled, as its card tells it. */
export interface Resolution {
  readonly status: Exclude<ApprovalStatus, 'pending'>;
  readonly device: string | null;
  /** True if this front end decided it. */
  readonly here: boolean;
  readonly approvedBy: ApprovedBy | null;
  readonly reason: string | null;
  readonly message: string | null;
  /** Why the call failed before anybody decided: its preview could not be made. */
  readonly error: ToolErrorValue | null;
}

/** One approval as its card shows it. */
export interface ApprovalEntry {
  /** Its preview is shown only if it is what the digest names (AP-8). */
  readonly approval: CheckedCard<ApprovalRequest>;
  /** When it expires, by this front end's monotonic clock. Only for display: the server expires it (AP-3). */
  readonly deadline: number;
  readonly resolution: Resolution | null;
  /** The decision that is being sent. Until the response, an equal decision may be ours or another device's. */
  readonly sending: 'approved' | 'rejected' | null;
  readonly notice: Notice | null;
  /** Parts that did not fit into the event are being fetched (EV-2). */
  readonly incomplete: boolean;
  /** Its preview is being made: a runner that does so is connected, and nothing is approved before (AP-7). */
  readonly isPreviewComing: boolean;
}

/** Every approval that a front end knows, by id. A settled one stays readable. */
export type ApprovalEntries = ReadonlyMap<string, ApprovalEntry>;

/** The entries after an event. Time alone settles nothing: only the server expires (AP-3). */
export function withEvent(
  all: ApprovalEntries,
  { event, data }: CountersignEvent,
  now: number,
): ApprovalEntries {
  switch (event) {
    case 'tool.approval_request':
      return withRequest(all, data, now);
    case 'approval.updated':
      return withEntry(all, data.approval_id, (entry) => updatedEntry(entry, data, now));
    case 'approval.resolved':
      return withEntry(all, data.approval_id, (entry) => resolvedEntry(entry, data));
    default:
      return all;
  }
}

/** The entries after an approval was read by REST. */
export function withApproval(all: ApprovalEntries, approval: Approval, now: number): ApprovalEntries {
  const { created_at: timestamp, status, ...rest } = approval;
  return withRequest(all, { ...rest, timestamp }, now, status);
}

function withRequest(
  all: ApprovalEntries,
  request: ApprovalRequest,
  now: number,
  status: ApprovalStatus = 'pending',
): ApprovalEntries {
  const known = all.get(request.approval_id)?.approval;
  const isOlder =
    status === 'pending' &&
    known?.revision === request.revision &&
    request.preview === null &&
    known.preview !== null; // an event that came meanwhile had the preview
  return isOlder ? all : withCard(all, request, now, status);
}

/** The entries after a runner has drawn a card. The same revision replaces the card, even without a preview. */
export function withCard(
  all: ApprovalEntries,
  request: ApprovalRequest,
  now: number,
  status: ApprovalStatus = 'pending',
): ApprovalEntries {
  const id = request.approval_id;
  const known = all.get(id);
  if (known && status === 'pending' && known.approval.revision > request.revision) return all;
  const next = new Map(all).set(id, {
    approval: checkedCard(request),
    deadline: now + request.remaining_ms,
    // A settled approval stays settled: a response that says otherwise is older.
    resolution: known?.resolution ?? (status === 'pending' ? null : settledAs(status)),
    sending: known?.sending ?? null,
    notice: known?.notice ?? null,
    incomplete: (request.omitted?.length ?? 0) > 0,
    isPreviewComing: known?.isPreviewComing ?? false,
  });
  for (const old of known ? [] : approvedBefore(all, request))
    next.set(old.approval.approval_id, { ...old, notice: { code: 'APPROVAL_STALE', message: '' } });
  return next;
}

export function withEntry(
  all: ApprovalEntries,
  approvalId: string,
  change: (entry: ApprovalEntry) => ApprovalEntry,
): ApprovalEntries {
  const entry = all.get(approvalId);
  return entry ? new Map(all).set(approvalId, change(entry)) : all;
}

/** The entries, marked by which projects have a runner that makes previews. Undefined: not known. */
export function withPreviewers(
  all: ApprovalEntries,
  projects: ReadonlySet<string> | undefined,
): ApprovalEntries {
  const isComing = ({ approval: { preview, project_id } }: ApprovalEntry) =>
    preview === null && (projects?.has(project_id) ?? false);
  const changed = [...all.values()].filter((entry) => entry.isPreviewComing !== isComing(entry));
  return changed.reduce(
    (entries, entry) =>
      withEntry(entries, entry.approval.approval_id, () => ({ ...entry, isPreviewComing: isComing(entry) })),
    all,
  );
}

/** The entries that wait for a decision, oldest first. */
export function pendingOf(all: ApprovalEntries): readonly ApprovalEntry[] {
  return oldestFirst([...all.values()].filter(({ resolution }) => resolution === null));
}

export const oldestFirst = (entries: readonly ApprovalEntry[]): readonly ApprovalEntry[] =>
  entries.toSorted(({ approval: a }, { approval: b }) =>
    a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0,
  );

/** For a decision whose event was missed: only its status is known. */
export const settledAs = (status: Resolution['status']): Resolution => ({
  status,
  device: null,
  here: false,
  approvedBy: null,
  reason: null,
  message: null,
  error: null,
});

/** A new revision or preview replaces what was shown. The card keeps what the person has begun to type. */
function updatedEntry(
  entry: ApprovalEntry,
  data: EventPayload<'approval.updated'>,
  now: number,
): ApprovalEntry {
  if (data.revision < entry.approval.revision) return entry; // REST was quicker than this event
  const { timestamp: _, omitted, ...changed } = data;
  const { omitted: _before, unfit: _unfit, ...approval } = entry.approval;
  return {
    ...entry,
    approval: checkedCard({ ...approval, ...changed, ...(omitted && { omitted }) }),
    deadline: now + data.remaining_ms,
    incomplete: (omitted?.length ?? 0) > 0,
  };
}

function resolvedEntry(entry: ApprovalEntry, data: EventPayload<'approval.resolved'>): ApprovalEntry {
  const resolution: Resolution = {
    status: data.status,
    device: data.device,
    here: entry.resolution?.here ?? false,
    approvedBy: data.approved_by,
    reason: data.reason,
    message: data.message,
    error: data.error ?? null,
  };
  // Keep a notice about a decision that already stands.
  const sending = entry.sending === data.status ? entry.sending : null;
  return { ...entry, sending, notice: entry.resolution && entry.notice, resolution };
}

/** Earlier approved approvals of the same call: what was approved changed before it ran (AP-8). */
const approvedBefore = (all: ApprovalEntries, { approval_id, tool_id }: ApprovalRequest): ApprovalEntry[] =>
  [...all.values()].filter(
    ({ approval, resolution }) =>
      approval.tool_id === tool_id &&
      approval.approval_id !== approval_id &&
      resolution?.status === 'approved',
  );
