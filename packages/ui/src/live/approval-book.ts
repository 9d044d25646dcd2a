import { ApiError, type ApprovalDecision, type Client, type Clock, decide } from '@countersign/client';
import type { Approval, CountersignEvent, ErrorCode } from '@countersign/protocol';
import {
  type ApprovalEntries,
  type ApprovalEntry,
  approvalOfEvent,
  newEntry,
  resolvedEntry,
  settledAs,
  updatedEntry,
} from './approval-entry.ts';
import { Observable } from './observable.ts';

export type ApproveChoice = Omit<
  Extract<ApprovalDecision, { decision: 'approved' }>,
  'decision' | 'params'
>['body'];
export type RejectChoice = Omit<
  Extract<ApprovalDecision, { decision: 'rejected' }>,
  'decision' | 'params'
>['body'];

/** After these the standing request is read again, so that the card shows what would be decided now. */
const changedUnderneath: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'PREVIEW_CHANGED',
  'PREVIEW_PENDING',
  'RISK_ROSE',
  'APPROVAL_STALE',
  'ALREADY_DECIDED',
]);

/**
 * Every approval this page has seen: kept by events, decided by the person. A settled one stays readable. Time alone
 * settles nothing here: only the server expires (AP-3).
 */
export class ApprovalBook {
  readonly entries = new Observable<ApprovalEntries>(new Map());
  readonly #client: Client;
  readonly #clock: Clock;

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  receive(event: CountersignEvent): void {
    switch (event.event) {
      case 'tool.approval_request':
        this.#put(approvalOfEvent(event.data));
        break;
      case 'approval.updated': {
        const { approval_id } = event.data;
        this.#change(approval_id, (entry) => updatedEntry(entry, event.data, this.#clock.monotonic()));
        if (event.data.omitted?.length) void this.refresh(approval_id);
        break;
      }
      case 'approval.resolved':
        this.#change(event.data.approval_id, (entry) => resolvedEntry(entry, event.data));
        break;
      default:
    }
  }

  /** Compares what we show with what waits on the server: after a reset events were missed. */
  async reconcile(): Promise<void> {
    const { approvals } = await this.#client.listApprovals();
    const waiting = new Set(approvals.map(({ approval_id }) => approval_id));
    for (const approval of approvals) this.#put(approval);
    const gone = [...this.entries.get()].filter(([id, { resolution }]) => !resolution && !waiting.has(id));
    await Promise.all(gone.map(([id]) => this.refresh(id)));
  }

  /** Reads one approval in full. */
  async refresh(approvalId: string): Promise<void> {
    const params = { approval_id: approvalId };
    try {
      const { approval } = await this.#client.getApproval({ params }, { retry: { times: 3 } });
      this.#put(approval);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) {
        this.#change(approvalId, (entry) => ({ ...entry, resolution: settledAs('cancelled') }));
      }
    }
  }

  /** Approves what is displayed: the digest is that of the card (AP-8). */
  approve(approvalId: string, choice: ApproveChoice = {}): Promise<void> {
    const digest = this.entries.get().get(approvalId)?.approval.digest ?? undefined;
    const body = { ...(digest !== undefined && { digest }), ...choice };
    return this.#decide(approvalId, (params) => ({ decision: 'approved', params, body }));
  }

  reject(approvalId: string, choice: RejectChoice = {}): Promise<void> {
    return this.#decide(approvalId, (params) => ({ decision: 'rejected', params, body: choice }));
  }

  /** Settled ones that nobody needs to see any more. */
  forgetSettled(): void {
    this.entries.update((all) => new Map([...all].filter(([, { resolution }]) => resolution === null)));
  }

  async #decide(
    approvalId: string,
    make: (params: { project_id: string; approval_id: string }) => ApprovalDecision,
  ): Promise<void> {
    const entry = this.entries.get().get(approvalId);
    if (!entry || entry.sending || entry.resolution) return;
    const decision = make({ project_id: entry.approval.project_id, approval_id: approvalId });
    this.#change(approvalId, (known) => ({ ...known, sending: decision.decision, notice: null }));
    try {
      const answer = await decide(this.#client, decision);
      const standing =
        answer.outcome === 'recorded' ? { status: answer.response.status, device: null } : answer.standing;
      if (standing.status === 'pending') {
        this.#change(approvalId, (known) => ({ ...known, sending: null }));
        return await this.refresh(approvalId);
      }
      const { status, device } = standing;
      this.#change(approvalId, (known) => ({
        ...known,
        sending: null,
        // The event may have been quicker, and knows more.
        resolution: {
          ...(known.resolution ?? settledAs(status)),
          device: known.resolution?.device ?? device,
          here: answer.outcome === 'recorded',
        },
        notice: answer.outcome === 'overruled' ? { code: 'ALREADY_DECIDED', message: '' } : null,
      }));
    } catch (error) {
      await this.#notDecided(approvalId, error);
    }
  }

  async #notDecided(approvalId: string, error: unknown): Promise<void> {
    const notice =
      error instanceof ApiError
        ? { code: error.code, message: error.message }
        : { code: 'INTERNAL' as const, message: String(error) };
    this.#change(approvalId, (known) => ({ ...known, sending: null, notice }));
    if (changedUnderneath.has(notice.code)) await this.refresh(approvalId);
  }

  #put(approval: Approval): void {
    const id = approval.approval_id;
    const all = this.entries.get();
    const known = all.get(id);
    if (known && isOlder(approval, known.approval)) return;
    const stale = known ? [] : approvedBefore(all, approval);
    const entry = newEntry(approval, this.#clock.monotonic(), known);
    const next = new Map(all).set(id, entry);
    for (const old of stale) {
      next.set(old.approval.approval_id, { ...old, notice: { code: 'APPROVAL_STALE', message: '' } });
    }
    this.entries.set(next);
    if (entry.incomplete) void this.refresh(id);
  }

  #change(approvalId: string, change: (entry: ApprovalEntry) => ApprovalEntry): void {
    const all = this.entries.get();
    const entry = all.get(approvalId);
    if (entry) this.entries.set(new Map(all).set(approvalId, change(entry)));
  }
}

/** An answer that was on its way while an event told more. */
const isOlder = (read: Approval, known: Approval): boolean =>
  read.status === 'pending' &&
  (read.revision < known.revision ||
    (read.revision === known.revision && read.preview === null && known.preview !== null));

/** The same call under other approvals: what was approved had changed before it ran (AP-8). */
const approvedBefore = (all: ApprovalEntries, { approval_id, tool_id }: Approval): ApprovalEntry[] =>
  [...all.values()].filter(
    ({ approval, resolution }) =>
      approval.tool_id === tool_id &&
      approval.approval_id !== approval_id &&
      resolution?.status === 'approved',
  );
