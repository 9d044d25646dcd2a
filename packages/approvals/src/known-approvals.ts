import { ApiError, type ApprovalDecision, type Clock, type DecisionOutcome } from '@countersign/client';
import type { Approval, CountersignEvent } from '@countersign/protocol';
import {
  type ApprovalEntries,
  type ApprovalEntry,
  type ApprovalRequest,
  pendingOf,
  settledAs,
  withApproval,
  withCard,
  withEntry,
  withEvent,
} from './approval-entries.ts';
import {
  type ApproveChoice,
  answerOf,
  approvalOf,
  type DecidedCard,
  type DecisionAnswer,
  type RejectChoice,
  rejectionOf,
} from './decision.ts';
import { Observable } from './observable.ts';

export interface KnownApprovalsDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Reads the newest version in full (EV-2). Undefined: another program shows this approval. */
  fetch(approvalId: string): Promise<Approval | undefined>;
  decide(decision: ApprovalDecision): Promise<DecisionOutcome>;
  /** An approval could not be fetched. */
  onProblem?(error: unknown): void;
}

/** So many settled approvals stay readable. */
const MOST_SETTLED = 200;

/** Every approval that one front end has heard of: kept by events, decided by the person. */
export class KnownApprovals {
  readonly entries = new Observable<ApprovalEntries>(new Map());
  readonly #deps: KnownApprovalsDeps;
  /** Ids settled before they were known here: a fetch that is under way must not add them. */
  readonly #settledUnknown = new Set<string>();

  constructor(deps: KnownApprovalsDeps) {
    this.#deps = deps;
  }

  /** Pending and complete entries, oldest first, and that of `shownId` also while its newer version is fetched. */
  pending(shownId?: string): readonly ApprovalEntry[] {
    return pendingOf(this.entries.get()).filter(
      ({ incomplete, approval }) => !incomplete || approval.approval_id === shownId,
    );
  }

  /** The pending and complete entry with this id. */
  find(approvalId: string): ApprovalEntry | undefined {
    const entry = this.entries.get().get(approvalId);
    return entry?.resolution || entry?.incomplete ? undefined : entry;
  }

  /** The time until the server's timer ends it. */
  remainingMs({ deadline }: Pick<ApprovalEntry, 'deadline'>): number {
    return Math.max(deadline - this.#deps.clock.monotonic(), 0);
  }

  receive(event: CountersignEvent): void {
    if (!('approval_id' in event.data)) return;
    const { approval_id } = event.data;
    if (typeof approval_id !== 'string') return;
    const isKnown = this.entries.get().has(approval_id);
    if (event.event === 'approval.resolved' && !isKnown) this.#settledUnknown.add(approval_id);
    this.#update((all, now) => withEvent(all, event, now));
    if (event.event === 'approval.resolved') this.#forgetLongSettled();
    if (event.event === 'approval.updated' && !isKnown) void this.refresh(approval_id);
    this.#complete(approval_id);
  }

  /** A card as the runner beside us drew it; the same approval again is a newer version. */
  show(request: ApprovalRequest): void {
    if (this.#settledUnknown.has(request.approval_id)) return;
    this.#update((all, now) => withCard(all, request, now));
    this.#complete(request.approval_id);
  }

  /** Takes the list of pending approvals from REST. Returns the ids of known pending ones that it lacks. */
  replace(approvals: readonly Approval[]): string[] {
    const waiting = new Set(approvals.map(({ approval_id }) => approval_id));
    const gone = pendingOf(this.entries.get()).flatMap(({ approval: { approval_id } }) =>
      waiting.has(approval_id) ? [] : [approval_id],
    );
    // One that was settled while the list was on its way is not pending.
    const listed = approvals.filter(({ approval_id }) => !this.#settledUnknown.has(approval_id));
    this.#update((all, now) => listed.reduce((known, each) => withApproval(known, each, now), all));
    for (const id of waiting) this.#complete(id);
    return gone;
  }

  /** Reads one approval in full. One that was withdrawn meanwhile stays away. */
  async refresh(approvalId: string): Promise<void> {
    const wasKnown = this.entries.get().has(approvalId);
    try {
      const approval = await this.#deps.fetch(approvalId);
      const isWithdrawn = wasKnown && !this.entries.get().has(approvalId);
      if (approval && !isWithdrawn && !this.#settledUnknown.has(approvalId))
        this.#update((all, now) => withApproval(all, approval, now));
    } catch (error) {
      if (error instanceof ApiError && error.status === 404)
        this.#change(approvalId, (entry) => ({ ...entry, resolution: settledAs('cancelled') }));
      else this.#deps.onProblem?.(error);
    }
  }

  /** Removes an approval without a decision; it may be shown again. */
  withdraw(approvalId: string): void {
    this.#keep((id) => id !== approvalId);
  }

  /** Removes the settled ones. */
  forgetSettled(): void {
    this.#keep((_, { resolution }) => resolution === null);
  }

  approve(shown: DecidedCard, choice: ApproveChoice = {}): Promise<DecisionAnswer | undefined> {
    return this.#decide(approvalOf(shown, choice));
  }

  reject(shown: DecidedCard, choice: RejectChoice = {}): Promise<DecisionAnswer | undefined> {
    return this.#decide(rejectionOf(shown, choice));
  }

  /** Returns undefined when an event has told the outcome already, or when another decision is on its way. */
  async #decide(decision: ApprovalDecision): Promise<DecisionAnswer | undefined> {
    const { approval_id } = decision.params;
    const entry = this.entries.get().get(approval_id);
    if (entry?.sending || entry?.resolution) return undefined;
    this.#change(approval_id, (known) => ({ ...known, sending: decision.decision, notice: null }));
    const answer = await answerOf(this.#deps.decide(decision));
    if (entry && !this.entries.get().has(approval_id)) return undefined; // settled and withdrawn meanwhile
    const wasTold = this.entries.get().get(approval_id)?.resolution;
    this.#change(approval_id, (known) => answeredEntry(known, answer));
    if (answer.kind === 'look-again') await this.refresh(approval_id);
    return wasTold && answer.kind === 'settled' ? undefined : answer;
  }

  /** A program that runs for weeks must not keep every card of its life. */
  #forgetLongSettled(): void {
    const settled = [...this.entries.get().values()].filter(({ resolution }) => resolution !== null);
    const old = settled.slice(0, Math.max(0, settled.length - MOST_SETTLED));
    if (old.length > 0) {
      const ids = new Set(old.map(({ approval }) => approval.approval_id));
      this.#keep((id) => !ids.has(id));
      for (const id of ids) this.#settledUnknown.add(id);
    }
    const [first] = this.#settledUnknown;
    if (first !== undefined && this.#settledUnknown.size > 10 * MOST_SETTLED)
      this.#settledUnknown.delete(first);
  }

  /** Fetches the parts that were left out for their size. */
  #complete(approvalId: string): void {
    if (this.entries.get().get(approvalId)?.incomplete) void this.refresh(approvalId);
  }

  #update(change: (all: ApprovalEntries, now: number) => ApprovalEntries): void {
    this.entries.update((all) => change(all, this.#deps.clock.monotonic()));
  }

  #change(approvalId: string, change: (entry: ApprovalEntry) => ApprovalEntry): void {
    this.entries.update((all) => withEntry(all, approvalId, change));
  }

  #keep(isKept: (approvalId: string, entry: ApprovalEntry) => boolean): void {
    this.entries.update((all) => {
      const kept = [...all].filter(([id, entry]) => isKept(id, entry));
      return kept.length === all.size ? all : new Map(kept);
    });
  }
}

function answeredEntry(entry: ApprovalEntry, answer: DecisionAnswer): ApprovalEntry {
  if (answer.kind !== 'settled') return { ...entry, sending: null, notice: answer.notice };
  const { status, device, outcome } = answer;
  return {
    ...entry,
    sending: null,
    // The event may have been quicker, and knows more.
    resolution: {
      ...(entry.resolution ?? settledAs(status)),
      device: entry.resolution?.device ?? device,
      here: outcome === 'recorded',
    },
    notice: outcome === 'overruled' ? { code: 'ALREADY_DECIDED', message: '' } : null,
  };
}
