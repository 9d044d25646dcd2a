import type { Clock } from '@countersign/client';
import { type CheckedCard, checkedCard } from '@countersign/protocol';
import type { ApprovalRequest } from '@countersign/tool-runner';

/** A request that waits, and the folder whose runner or stream told of it. */
export interface PendingEntry<Folder> {
  /** Its preview is shown only if it is what the digest names (AP-8). */
  readonly request: CheckedCard<ApprovalRequest>;
  readonly folder: Folder;
  /** By the monotonic clock; it is only shown (AP-3). */
  readonly deadline: number;
}

export interface PendingListener<Folder> {
  onChange(): void;
  /** For the first time in this window. */
  onNew(entry: PendingEntry<Folder>): void;
  /** It is shown nowhere any more: decided, expired, or nobody asks. */
  onGone(entry: PendingEntry<Folder>): void;
}

/** Everything that waits for the person in this window, oldest first. It decides nothing and sends nothing. */
export class PendingApprovals<Folder> {
  readonly #byId = new Map<string, PendingEntry<Folder>>();
  readonly #seen = new Set<string>();
  readonly #clock: Clock;
  readonly #listeners = new Set<PendingListener<Folder>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get all(): readonly PendingEntry<Folder>[] {
    return [...this.#byId.values()];
  }

  find(approvalId: string): PendingEntry<Folder> | undefined {
    return this.#byId.get(approvalId);
  }

  remainingSeconds({ deadline }: PendingEntry<Folder>): number {
    return Math.max(0, deadline - this.#clock.monotonic()) / 1000;
  }

  listen(listener: PendingListener<Folder>): void {
    this.#listeners.add(listener);
  }

  /** New, or a newer version of what is known. */
  show(folder: Folder, request: ApprovalRequest): void {
    const { approval_id, revision, remaining_ms } = request;
    const known = this.#byId.get(approval_id);
    if (known && known.request.revision > revision) return;
    const entry = { request: checkedCard(request), folder, deadline: this.#clock.monotonic() + remaining_ms };
    this.#byId.set(approval_id, entry);
    const isNew = !this.#seen.has(approval_id);
    this.#seen.add(approval_id);
    for (const listener of this.#listeners) {
      listener.onChange();
      if (isNew) listener.onNew(entry);
    }
  }

  withdraw(approvalId: string): void {
    const entry = this.#byId.get(approvalId);
    if (!entry) return;
    this.#byId.delete(approvalId);
    for (const listener of this.#listeners) {
      listener.onChange();
      listener.onGone(entry);
    }
  }

  /** The folder was closed, or its stream begins anew. */
  withdrawAll(folder: Folder): void {
    for (const { folder: of, request } of this.all) if (of === folder) this.withdraw(request.approval_id);
  }
}
