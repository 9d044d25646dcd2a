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

/** How an approval was settled, with the facts that its card shows. */
export interface Resolution {
  readonly status: Exclude<ApprovalStatus, 'pending'>;
  readonly device: string | null;
  /** True if this front end decided it. */
  readonly here: boolean;
  readonly approvedBy: ApprovedBy | null;
  readonly reason: string | null;
  readonly message: string | null;
  /** Set if the call failed before a decision, because its preview could not be made. */
  readonly error: ToolErrorValue | null;
}

/** One approval as its card shows it. */
export interface ApprovalEntry {
  /** The request. A preview that does not match the digest has been removed (AP-8). */
  readonly approval: CheckedCard<ApprovalRequest>;
  /** When the approval expires, by this front end's monotonic clock. Only for display: the server expires it (AP-3). */
  readonly deadline: number;
  readonly resolution: Resolution | null;
  /** The decision that is being sent. Until the response, an equal decision in an event may be another device's. */
  readonly sending: 'approved' | 'rejected' | null;
  readonly notice: Notice | null;
  /** True while parts that did not fit into the event are being fetched (EV-2). */
  readonly incomplete: boolean;
  /** True while a connected runner makes the preview. The call cannot be approved before that (AP-7). */
  readonly isPreviewComing: boolean;
}

/** Approvals by id, including settled ones: their cards stay readable. */
export type ApprovalEntries = ReadonlyMap<string, ApprovalEntry>;

/** Returns the entries after an event. Only the server expires an approval, never the local clock (AP-3). */
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

/** Returns the entries after an approval was read by REST. */
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
    known.preview !== null; // an event has brought the preview since
  return isOlder ? all : withCard(all, request, now, status);
}

/** Returns the entries with this card, unless a newer revision is known. The same revision is replaced. */
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
    // A settled approval stays settled: a response that says "pending" is older.
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

/** Sets `isPreviewComing`. `projects` are those with a runner that makes previews; undefined if that is not known. */
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

/** The pending entries, oldest first. */
export function pendingOf(all: ApprovalEntries): readonly ApprovalEntry[] {
  return oldestFirst([...all.values()].filter(({ resolution }) => resolution === null));
}

export const oldestFirst = (entries: readonly ApprovalEntry[]): readonly ApprovalEntry[] =>
  entries.toSorted(({ approval: a }, { approval: b }) =>
    a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0,
  );

/** A resolution of which only the status is known, because its event was missed. */
export const settledAs = (status: Resolution['status']): Resolution => ({
  status,
  device: null,
  here: false,
  approvedBy: null,
  reason: null,
  message: null,
  error: null,
});

/** Replaces the request by its new revision or preview. */
function updatedEntry(
  entry: ApprovalEntry,
  data: EventPayload<'approval.updated'>,
  now: number,
): ApprovalEntry {
  if (data.revision < entry.approval.revision) return entry; // a REST response has brought a newer revision
  const { timestamp: _, omitted, ...changed } = data;
  const { omitted: _before, unfit: _unfit, trying: _trying, ...approval } = entry.approval;
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
  const sending = entry.sending === data.status ? entry.sending : null;
  // If the approval was settled before this event, its notice is about that decision: keep it.
  return { ...entry, sending, notice: entry.resolution && entry.notice, resolution };
}

/** Approved approvals of the same call. A new request makes them stale: the call changed before it ran (AP-8). */
const approvedBefore = (all: ApprovalEntries, { approval_id, tool_id }: ApprovalRequest): ApprovalEntry[] =>
  [...all.values()].filter(
    ({ approval, resolution }) =>
      approval.tool_id === tool_id &&
      approval.approval_id !== approval_id &&
      resolution?.status === 'approved',
  );
