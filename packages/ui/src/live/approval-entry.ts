import {
  type Approval,
  type ApprovalStatus,
  type ApprovedBy,
  type CheckedCard,
  checkedCard,
  type ErrorCode,
  type EventPayload,
  type ToolErrorValue,
} from '@countersign/protocol';

/** How an approval was settled, as its card tells it. */
export interface Resolution {
  readonly status: Exclude<ApprovalStatus, 'pending'>;
  readonly device: string | null;
  /** Decided by this very page. */
  readonly here: boolean;
  readonly approvedBy: ApprovedBy | null;
  readonly reason: string | null;
  readonly message: string | null;
  /** Why the call failed before anybody decided: its preview could not be made. */
  readonly error: ToolErrorValue | null;
}

/** What the person must know before deciding (again): the answer of a decision that did not count. */
export interface Notice {
  readonly code: ErrorCode;
  /** The server's own words. */
  readonly message: string;
}

/** One approval as its card shows it. */
export interface ApprovalEntry {
  /** Its preview is shown only if it is what the digest names (AP-8). */
  readonly approval: CheckedCard<Approval>;
  /** When its time is over, by this page's monotonic clock (AP-3: it is only shown). */
  readonly deadline: number;
  readonly resolution: Resolution | null;
  /** The decision that is on its way. Until it is answered, nobody knows whether an equal one is ours. */
  readonly sending: 'approved' | 'rejected' | null;
  readonly notice: Notice | null;
  /** Parts that did not fit into the event are being fetched (EV-2). */
  readonly incomplete: boolean;
}

export type ApprovalEntries = ReadonlyMap<string, ApprovalEntry>;

export function newEntry(approval: Approval, now: number, known: ApprovalEntry | undefined): ApprovalEntry {
  return {
    approval: checkedCard(approval),
    deadline: now + approval.remaining_ms,
    // What was settled stays so: an answer that says otherwise was on its way when it happened.
    resolution: known?.resolution ?? (approval.status === 'pending' ? null : settledAs(approval.status)),
    sending: known?.sending ?? null,
    notice: known?.notice ?? null,
    incomplete: (approval.omitted?.length ?? 0) > 0,
  };
}

/** A request as its event tells it, in the shape of the REST answer. */
export function approvalOfEvent(data: EventPayload<'tool.approval_request'>): Approval {
  const { timestamp, ...rest } = data;
  return { ...rest, status: 'pending', created_at: timestamp };
}

/** A new revision or preview replaces what was shown; what the person has begun to type is kept by the card. */
export function updatedEntry(
  entry: ApprovalEntry,
  data: EventPayload<'approval.updated'>,
  now: number,
): ApprovalEntry {
  const { timestamp: _, omitted, ...changed } = data;
  const { omitted: _before, unfit: _unfit, ...approval } = entry.approval;
  return {
    ...entry,
    approval: checkedCard({ ...approval, ...changed, ...(omitted && { omitted }) }),
    deadline: now + data.remaining_ms,
    incomplete: (omitted?.length ?? 0) > 0,
  };
}

export function resolvedEntry(entry: ApprovalEntry, data: EventPayload<'approval.resolved'>): ApprovalEntry {
  const resolution: Resolution = {
    status: data.status,
    device: data.device,
    here: entry.resolution?.here ?? false,
    approvedBy: data.approved_by,
    reason: data.reason,
    message: data.message,
    error: data.error ?? null,
  };
  // What the person was told about a decision that stands already stays.
  const sending = entry.sending === data.status ? entry.sending : null;
  return { ...entry, sending, notice: entry.resolution && entry.notice, resolution };
}

/** Where only the status is known: the decision was made while we were not listening. */
export const settledAs = (status: Exclude<ApprovalStatus, 'pending'>): Resolution => ({
  status,
  device: null,
  here: false,
  approvedBy: null,
  reason: null,
  message: null,
  error: null,
});

/** Those that wait for a decision, oldest first. */
export function pendingOf(entries: ApprovalEntries): readonly ApprovalEntry[] {
  return [...entries.values()]
    .filter(({ resolution }) => resolution === null)
    .sort((a, b) => (a.approval.created_at < b.approval.created_at ? -1 : 1));
}
