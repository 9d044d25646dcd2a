import { type ApprovalEntry, type KnownApprovals, oldestFirst, pendingOf } from '@countersign/approvals';
import type { Clock } from '@countersign/client';

/** A folder of the window with its approvals. */
interface ApprovingFolder {
  readonly approvals: KnownApprovals;
}

/** A pending request and its folder. */
export interface PendingEntry<Folder>
  extends Pick<ApprovalEntry, 'deadline' | 'isPreviewComing' | 'isTryable'> {
  /** The request. A preview that does not match the digest has been removed (AP-8). */
  readonly request: ApprovalEntry['approval'];
  readonly folder: Folder;
}

export interface PendingListener<Folder> {
  onChange?(): void;
  /** Called once for each request in this window. */
  onNew?(entry: PendingEntry<Folder>): void;
  /** Called when a request was decided, has expired or was withdrawn. */
  onGone?(entry: PendingEntry<Folder>): void;
}

/** The pending approvals of all folders of this window, oldest first. */
export class PendingApprovals<Folder extends ApprovingFolder> {
  readonly #clock: Clock;
  readonly #folders = new Map<Folder, () => void>();
  #shown: ReadonlyMap<string, PendingEntry<Folder>> = new Map();
  readonly #seen = new Set<string>();
  readonly #listeners = new Set<PendingListener<Folder>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get all(): readonly PendingEntry<Folder>[] {
    return [...this.#shown.values()];
  }

  find(approvalId: string): PendingEntry<Folder> | undefined {
    return this.#shown.get(approvalId);
  }

  remainingSeconds({ deadline }: PendingEntry<Folder>): number {
    return Math.max(0, deadline - this.#clock.monotonic()) / 1000;
  }

  listen(listener: PendingListener<Folder>): void {
    this.#listeners.add(listener);
  }

  /** Waits for a condition, which is checked again with each change. */
  until(isMet: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const onChange = () => {
        if (!isMet()) return;
        this.#listeners.delete(listener);
        resolve();
      };
      const listener = { onChange };
      this.#listeners.add(listener);
      onChange();
    });
  }

  add(folder: Folder): void {
    this.#folders.set(
      folder,
      folder.approvals.entries.subscribe(() => this.#update()),
    );
    this.#update();
  }

  remove(folder: Folder): void {
    this.#folders.get(folder)?.();
    this.#folders.delete(folder);
    this.#update();
  }

  #update(): void {
    const before = this.#shown;
    const folders = [...this.#folders.keys()];
    const owners = new Map(
      folders.flatMap((folder) => pendingOf(folder.approvals.entries.get()).map((entry) => [entry, folder])),
    );
    const shown = oldestFirst([...owners.keys()]).flatMap((entry): PendingEntry<Folder>[] => {
      const { approval: request, deadline, isPreviewComing, isTryable, incomplete } = entry;
      const known = before.get(request.approval_id);
      // Keep the old version until the new one is complete. The server refuses a decision on the old one (AP-8).
      if (incomplete) return known ? [known] : [];
      const isSame =
        known?.request === request &&
        known.isPreviewComing === isPreviewComing &&
        known.isTryable === isTryable;
      const folder = owners.get(entry);
      return isSame ? [known] : folder ? [{ request, folder, deadline, isPreviewComing, isTryable }] : [];
    });
    this.#shown = new Map(shown.map((entry) => [entry.request.approval_id, entry]));
    if (shown.length === before.size && shown.every((entry) => before.get(idOf(entry)) === entry)) return;
    const isNew = shown.filter((entry) => !this.#seen.has(idOf(entry)));
    const isGone = [...before.values()].filter((entry) => !this.#shown.has(idOf(entry)));
    for (const entry of isNew) this.#seen.add(idOf(entry));
    for (const listener of this.#listeners) {
      listener.onChange?.();
      for (const entry of isNew) listener.onNew?.(entry);
      for (const entry of isGone) listener.onGone?.(entry);
    }
  }
}

const idOf = ({ request }: Pick<PendingEntry<unknown>, 'request'>): string => request.approval_id;
