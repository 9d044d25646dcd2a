import { ApiError, type ApprovalDecision, type Clock } from '@countersign/client';
import { type Approval, type CountersignEvent, runnerCapabilities } from '@countersign/protocol';
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
  withPreviewers,
} from './approval-entries.ts';
import type { ApprovalsServer } from './approvals-server.ts';
import {
  type ApproveChoice,
  approvalOf,
  type DecidedCard,
  type DecisionAnswer,
  decisionAnswer,
  type RejectChoice,
  rejectionOf,
} from './decision.ts';
import { Observable } from './observable.ts';

export interface KnownApprovalsDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly server: ApprovalsServer;
  /**
   * While true, cards come from the runner in this process (`show`), and of the server's events only
   * `approval.resolved` counts: a server that lies must not change what is shown (RN-2).
   */
  isBesideRunner?(): boolean;
  /** Which listed approvals belong here; all of them if left out. */
  isShown?(approval: Approval): boolean;
  /** An approval or the list could not be read. */
  onProblem?(error: unknown): void;
}

/** How many settled approvals are kept. */
const MAX_SETTLED = 200;

/** The approvals of one front end: kept up to date by events, and decided by the person. */
export class KnownApprovals {
  readonly entries = new Observable<ApprovalEntries>(new Map());
  readonly #deps: KnownApprovalsDeps;
  /** Ids settled before they were known here: a fetch that is under way must not add them. */
  readonly #settledUnknown = new Set<string>();
  /** Projects with a connected runner that makes previews; undefined until a card needs it. */
  #previewers: ReadonlySet<string> | undefined;
  #readingPreviewers: object | undefined;

  constructor(deps: KnownApprovalsDeps) {
    this.#deps = deps;
  }

  /** Pending and complete entries, oldest first. Includes `shownId` even while its newer version is being fetched. */
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

  /** Milliseconds until the server expires it. */
  remainingMs({ deadline }: Pick<ApprovalEntry, 'deadline'>): number {
    return Math.max(deadline - this.#deps.clock.monotonic(), 0);
  }

  receive(event: CountersignEvent): void {
    if (this.#isBesideRunner() && event.event !== 'approval.resolved') return;
    if (event.event === 'runner.changed') this.#readPreviewers();
    if (event.event === 'stream.reset') {
      this.#readPreviewers();
      void this.readAgain();
    }
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

  /** Shows a card as the runner in this process drew it. The same approval again is a newer version. */
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

  /** Compares what is shown with what waits on the server: events may have been missed. */
  async readAgain(): Promise<void> {
    const { server, isShown = () => true, onProblem } = this.#deps;
    try {
      const listed = (await server.list()).filter((approval) => isShown(approval));
      if (this.#isBesideRunner()) return;
      await Promise.all(this.replace(listed).map((id) => this.refresh(id)));
    } catch (error) {
      onProblem?.(error);
    }
  }

  /** Reads one approval in full. One that was withdrawn meanwhile, or that a runner draws now, stays as it is. */
  async refresh(approvalId: string): Promise<void> {
    if (this.#isBesideRunner()) return;
    const wasKnown = this.entries.get().has(approvalId);
    try {
      const approval = await this.#deps.server.fetch(approvalId);
      const isWithdrawn = wasKnown && !this.entries.get().has(approvalId);
      if (!isWithdrawn && !this.#isBesideRunner() && !this.#settledUnknown.has(approvalId))
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

  /** Removes every approval, as if this front end had just started. */
  withdrawAll(): void {
    this.#keep(() => false);
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
    const answer = await decisionAnswer(this.#deps.server.decide(decision));
    if (entry && !this.entries.get().has(approval_id)) return undefined; // settled and withdrawn meanwhile
    const wasTold = this.entries.get().get(approval_id)?.resolution;
    this.#change(approval_id, (known) => answeredEntry(known, answer));
    if (answer.kind === 'look-again') await this.refresh(approval_id);
    return wasTold && answer.kind === 'settled' ? undefined : answer;
  }

  /** A program that runs for weeks must not keep every settled card. */
  #forgetLongSettled(): void {
    const settled = [...this.entries.get().values()].filter(({ resolution }) => resolution !== null);
    const old = settled.slice(0, Math.max(0, settled.length - MAX_SETTLED));
    if (old.length > 0) {
      const ids = new Set(old.map(({ approval }) => approval.approval_id));
      this.#keep((id) => !ids.has(id));
      for (const id of ids) this.#settledUnknown.add(id);
    }
    const [first] = this.#settledUnknown;
    if (first !== undefined && this.#settledUnknown.size > 10 * MAX_SETTLED)
      this.#settledUnknown.delete(first);
  }

  /** Fetches the parts that were left out for their size. */
  #complete(approvalId: string): void {
    if (this.entries.get().get(approvalId)?.incomplete) void this.refresh(approvalId);
  }

  /**
   * Asks once which projects have a runner that makes previews, as soon as an approval without one waits, and again
   * after a runner came or went. While that is unknown, the server's refusal is what stops an approval (AP-7).
   */
  #readPreviewers(): void {
    const isWaitedFor = pendingOf(this.entries.get()).some(({ approval }) => approval.preview === null);
    if (!isWaitedFor) {
      this.#previewers = undefined;
      this.#readingPreviewers = undefined;
      return;
    }
    const reading = {};
    this.#readingPreviewers = reading;
    this.#deps.server.runners().then(
      (runners) => {
        if (this.#readingPreviewers !== reading) return; // a runner came or went meanwhile
        this.#previewers = projectsWithPreviews(runners);
        this.#update((all) => all);
      },
      () => {
        if (this.#readingPreviewers !== reading) return;
        // Unknown again: no card may wait for a runner that left. The next event about a card reads once more.
        this.#readingPreviewers = undefined;
        this.#previewers = undefined;
        this.entries.update((all) => withPreviewers(all, undefined));
      },
    );
  }

  #isBesideRunner(): boolean {
    return this.#deps.isBesideRunner?.() ?? false;
  }

  #update(change: (all: ApprovalEntries, now: number) => ApprovalEntries): void {
    const now = this.#deps.clock.monotonic();
    this.entries.update((all) => withPreviewers(change(all, now), this.#previewers));
    const isUnknown = this.#previewers === undefined && this.#readingPreviewers === undefined;
    if (isUnknown && !this.#isBesideRunner()) this.#readPreviewers();
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
    // If the event came first, keep what it told.
    resolution: {
      ...(entry.resolution ?? settledAs(status)),
      device: entry.resolution?.device ?? device,
      here: outcome === 'recorded',
    },
    notice: outcome === 'overruled' ? { code: 'ALREADY_DECIDED', message: '' } : null,
  };
}

type Runners = Awaited<ReturnType<ApprovalsServer['runners']>>;

/** The projects where a runner that makes previews is connected: there nothing is approved before its preview (AP-7). */
export function projectsWithPreviews(runners: Runners): ReadonlySet<string> {
  const previewing = runners.filter(
    ({ connected, capabilities }) => connected && capabilities.includes(runnerCapabilities.preview),
  );
  return new Set(previewing.map(({ project_id }) => project_id));
}
