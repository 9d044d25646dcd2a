import { type ApprovalEntries, type ApprovalRequest, pendingOf, withCard } from '@countersign/approvals';
import type { Clock } from '@countersign/client';
import type { CheckedCard } from '@countersign/protocol';

/** A request that waits, and the folder whose runner or stream told of it. */
export interface PendingEntry<Folder> {
  /** Its preview is shown only if it is what the digest names (AP-8). */
  readonly request: CheckedCard<ApprovalRequest>;
  readonly folder: Folder;
  /** By the monotonic clock; it is only shown (AP-3). */
  readonly deadline: number;
}

export interface PendingListener<Folder> {
  onChange?(): void;
  /** For the first time in this window. */
  onNew?(entry: PendingEntry<Folder>): void;
  /** It is shown nowhere any more: decided, expired, or nobody asks. */
  onGone?(entry: PendingEntry<Folder>): void;
}

/** Everything that waits for the person in this window, oldest first. It decides nothing and sends nothing. */
export class PendingApprovals<Folder> {
  #entries: ApprovalEntries = new Map();
  readonly #folders = new Map<string, Folder>();
  readonly #seen = new Set<string>();
  readonly #clock: Clock;
  readonly #listeners = new Set<PendingListener<Folder>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get all(): readonly PendingEntry<Folder>[] {
    return pendingOf(this.#entries).flatMap(({ approval }) => this.find(approval.approval_id) ?? []);
  }

  find(approvalId: string): PendingEntry<Folder> | undefined {
    const entry = this.#entries.get(approvalId);
    const folder = this.#folders.get(approvalId);
    return entry && folder && { request: entry.approval, folder, deadline: entry.deadline };
  }

  remainingSeconds({ deadline }: PendingEntry<Folder>): number {
    return Math.max(0, deadline - this.#clock.monotonic()) / 1000;
  }

  listen(listener: PendingListener<Folder>): void {
    this.#listeners.add(listener);
  }

  /** New, or a newer version of what is known. */
  show(folder: Folder, request: ApprovalRequest): void {
    const { approval_id } = request;
    const entries = withCard(this.#entries, request, this.#clock.monotonic());
    if (entries === this.#entries) return;
    this.#entries = entries;
    this.#folders.set(approval_id, folder);
    const entry = this.find(approval_id);
    const isNew = !this.#seen.has(approval_id);
    this.#seen.add(approval_id);
    for (const listener of this.#listeners) {
      listener.onChange?.();
      if (isNew && entry) listener.onNew?.(entry);
    }
  }

  withdraw(approvalId: string): void {
    const entry = this.find(approvalId);
    if (!entry) return;
    this.#entries = new Map([...this.#entries].filter(([id]) => id !== approvalId));
    this.#folders.delete(approvalId);
    for (const listener of this.#listeners) {
      listener.onChange?.();
      listener.onGone?.(entry);
    }
  }

  /** The folder was closed, or its stream begins anew. */
  withdrawAll(folder: Folder): void {
    for (const { folder: of, request } of this.all) if (of === folder) this.withdraw(request.approval_id);
  }
}
