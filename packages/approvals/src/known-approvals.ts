import { ApiError, type ApprovalDecision, type Clock } from '@countersign/client';
import { type Approval, type CountersignEvent, runnerCapabilities } from '@countersign/protocol';
import {
  type ApprovalEntries,
  type ApprovalEntry,
  type ApprovalRequest,
  pendingOf,
  type RunnerAbilities,
  settledAs,
  withAbilities,
  withApproval,
  withCard,
  withEntry,
  withEvent,
  withTrying,
} from './approval-entries.ts';
import type { ApprovalsServer } from './approvals-server.ts';
import {
  type ApproveChoice,
  approvalOf,
  type DecidedCard,
  type DecisionAnswer,
  decisionAnswer,
  type Notice,
  noticeOf,
  type RejectChoice,
  rejectionOf,
} from './decision.ts';
import { Observable } from './observable.ts';
import { mayBeTried } from './trial-lines.ts';

export interface KnownApprovalsDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly server: ApprovalsServer;
  /**
   * While true, cards come from the runner in this process (`show`), and the only server event that counts is
   * `approval.resolved`: a malicious server must not change what is shown (RN-2).
   */
  isBesideRunner?(): boolean;
  /** Selects the listed approvals to show; all of them if left out. */
  isShown?(approval: Approval): boolean;
  /** Called when an approval or the list could not be read. */
  onProblem?(error: unknown): void;
}

/** How many settled approvals are kept. */
const MAX_SETTLED = 200;

/** The approvals of one front end: kept up to date by events, and decided by the person. */
export class KnownApprovals {
  readonly entries = new Observable<ApprovalEntries>(new Map());
  readonly #deps: KnownApprovalsDeps;
  /** Ids of settled approvals that have no entry. A response that is older than the decision must not add one. */
  readonly #settledUnknown = new Set<string>();
  /** What the connected runners can do; undefined while unknown. */
  #abilities: RunnerAbilities | undefined;
  /** Identifies the newest request for the runners: responses to older ones are ignored. */
  #abilitiesRequest: object | undefined;

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

  /** Milliseconds until the server expires the approval. */
  remainingMs({ deadline }: Pick<ApprovalEntry, 'deadline'>): number {
    return Math.max(deadline - this.#deps.clock.monotonic(), 0);
  }

  receive(event: CountersignEvent): void {
    if (event.event === 'runner.changed') this.#readAbilities();
    if (this.#isBesideRunner() && event.event !== 'approval.resolved') return;
    if (event.event === 'stream.reset') {
      this.#readAbilities();
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

  /** Adds or replaces a card that the runner in this process has drawn. */
  show(request: ApprovalRequest): void {
    if (this.#settledUnknown.has(request.approval_id)) return;
    this.#update((all, now) => withCard(all, request, now));
    this.#complete(request.approval_id);
  }

  /** Merges the server's list of pending approvals. Returns the ids of pending entries that the list lacks. */
  replace(approvals: readonly Approval[]): string[] {
    const waiting = new Set(approvals.map(({ approval_id }) => approval_id));
    const gone = pendingOf(this.entries.get()).flatMap(({ approval: { approval_id } }) =>
      waiting.has(approval_id) ? [] : [approval_id],
    );
    // Leave out approvals that were settled while the list was on its way.
    const listed = approvals.filter(({ approval_id }) => !this.#settledUnknown.has(approval_id));
    this.#update((all, now) => listed.reduce((known, each) => withApproval(known, each, now), all));
    for (const id of waiting) this.#complete(id);
    return gone;
  }

  /** Reads the pending approvals from the server again, because events may have been missed. */
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

  /** Reads one approval in full. Drops the response if the approval was withdrawn or a runner draws the cards now. */
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

  /** Removes an approval without a decision. It may be shown again later. */
  withdraw(approvalId: string): void {
    this.#keep((id) => id !== approvalId);
  }

  /** Removes every approval, as if this front end had just started. */
  withdrawAll(): void {
    this.#keep(() => false);
  }

  /** Removes the settled approvals. */
  forgetSettled(): void {
    this.#keep((_, { resolution }) => resolution === null);
  }

  approve(shown: DecidedCard, choice: ApproveChoice = {}): Promise<DecisionAnswer | undefined> {
    return this.#decide(approvalOf(shown, choice));
  }

  reject(shown: DecidedCard, choice: RejectChoice = {}): Promise<DecisionAnswer | undefined> {
    return this.#decide(rejectionOf(shown, choice));
  }

  /** Asks for a trial of the displayed call (RN-13). If it is refused, the card says why. */
  async tryFirst({ approval_id, project_id }: DecidedCard): Promise<void> {
    const entry = this.entries.get().get(approval_id);
    if (!entry || entry.sending || entry.resolution || entry.approval.trying) return;
    const mark = (isTrying: boolean, notice: Notice | null) =>
      this.#change(approval_id, (known) => ({
        ...withTrying(known, isTrying, this.#deps.clock.monotonic()),
        notice,
      }));
    mark(true, null);
    try {
      await this.#deps.server.tryFirst({ project_id, approval_id });
    } catch (error) {
      const notice = noticeOf(error);
      // Another device has asked, so that the outcome comes here too; unless it is here already.
      if (notice.code !== 'TRIAL_RUNNING') mark(false, notice);
      await this.refresh(approval_id);
    }
  }

  /** Returns undefined if an event has already told the outcome, or if another decision is being sent. */
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

  /** Removes the oldest settled approvals: a program that runs for weeks must not keep all of them. */
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

  /** Fetches the parts that the event left out for their size (EV-2). */
  #complete(approvalId: string): void {
    if (this.entries.get().get(approvalId)?.incomplete) void this.refresh(approvalId);
  }

  /**
   * Asks the server what the connected runners can do, if a pending approval has no preview or could be tried. While this
   * is unknown, the front end does not wait for a preview; the server still refuses an early approval (AP-7).
   */
  #readAbilities(): void {
    if (!this.#needsAbilities()) {
      this.#abilities = undefined;
      this.#abilitiesRequest = undefined;
      return;
    }
    const request = {};
    this.#abilitiesRequest = request;
    this.#deps.server.runners().then(
      (runners) => {
        if (this.#abilitiesRequest !== request) return; // a runner came or went meanwhile
        this.#abilities = { previewing: projectsWithPreviews(runners), trying: runnersWithTrials(runners) };
        this.#update((all) => all);
      },
      () => {
        if (this.#abilitiesRequest !== request) return;
        // Back to unknown: no card may wait for a runner that has left. The next event about a card asks again.
        this.#abilitiesRequest = undefined;
        this.#abilities = undefined;
        this.entries.update((all) => withAbilities(all, undefined));
      },
    );
  }

  /** Beside the runner, cards come with their previews. */
  #needsAbilities(): boolean {
    const isBeside = this.#isBesideRunner();
    return pendingOf(this.entries.get()).some(
      ({ approval }) => mayBeTried(approval) || (!isBeside && approval.preview === null),
    );
  }

  #isBesideRunner(): boolean {
    return this.#deps.isBesideRunner?.() ?? false;
  }

  #update(change: (all: ApprovalEntries, now: number) => ApprovalEntries): void {
    const now = this.#deps.clock.monotonic();
    this.entries.update((all) => withAbilities(change(all, now), this.#abilities));
    if (this.#abilities === undefined && this.#abilitiesRequest === undefined) this.#readAbilities();
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
    // If the event came first, keep its facts.
    resolution: {
      ...(entry.resolution ?? settledAs(status)),
      device: entry.resolution?.device ?? device,
      here: outcome === 'recorded',
    },
    notice: outcome === 'overruled' ? { code: 'ALREADY_DECIDED', message: '' } : null,
  };
}

type Runners = Awaited<ReturnType<ApprovalsServer['runners']>>;

/** The projects with a connected runner that makes previews: their calls are approved only after the preview (AP-7). */
export const projectsWithPreviews = (runners: Runners): ReadonlySet<string> =>
  new Set(runnersWith(runners, runnerCapabilities.preview).map(({ project_id }) => project_id));

const runnersWithTrials = (runners: Runners): ReadonlySet<string> =>
  new Set(runnersWith(runners, runnerCapabilities.trials).map(({ runner_id }) => runner_id));

const runnersWith = (runners: Runners, capability: string): Runners =>
  runners.filter(({ connected, capabilities }) => connected && capabilities.includes(capability));
