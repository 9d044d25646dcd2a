import type { Clock } from '@countersign/client';
import { type Approval, type CountersignEvent, checkedCard } from '@countersign/protocol';
import type { CardApproval } from './approval-card.ts';

export interface Pending {
  readonly approval: CardApproval;
  /** By the monotonic clock: the time that was left when the server sent it, counted from its arrival. */
  readonly deadline: number;
}

export interface PendingApprovalsDeps {
  readonly clock: Clock;
  /** The whole of an approval whose event was too large for the stream (EV-2); undefined: there is nobody to ask. */
  readonly fetch: (approvalId: string) => Promise<Approval | undefined>;
  readonly onChange: () => void;
  readonly onProblem: (error: unknown) => void;
}

/** What waits for the person, in the order it came, as the events tell it. It decides nothing and sends nothing. */
export class PendingApprovals {
  readonly #deps: PendingApprovalsDeps;
  readonly #byId = new Map<string, Pending>();
  /** Settled while their whole was being fetched: they must not come back. */
  readonly #settled = new Set<string>();

  constructor(deps: PendingApprovalsDeps) {
    this.#deps = deps;
  }

  get all(): readonly Pending[] {
    return [...this.#byId.values()];
  }

  find(approvalId: string): Pending | undefined {
    return this.#byId.get(approvalId);
  }

  remainingMs({ deadline }: Pending): number {
    return Math.max(deadline - this.#deps.clock.monotonic(), 0);
  }

  receive({ event, data }: CountersignEvent): void {
    if (event === 'tool.approval_request') this.#keep(data);
    else if (event === 'approval.updated') {
      const known = this.#byId.get(data.approval_id);
      if (known) {
        const { unfit: _, ...before } = known.approval;
        this.#keep({ ...before, omitted: undefined, ...data });
      } else void this.#refetch(data.approval_id);
    } else if (event === 'approval.resolved') this.settle(data.approval_id);
  }

  /** Everything that waits, read by REST: at the start, and after the stream was reset. */
  replace(approvals: readonly Approval[]): void {
    const waiting = new Set(approvals.map(({ approval_id }) => approval_id));
    for (const id of this.#byId.keys()) if (!waiting.has(id)) this.#byId.delete(id);
    for (const approval of approvals) this.#keep(approval);
    this.#deps.onChange();
  }

  settle(approvalId: string): void {
    this.#settled.add(approvalId);
    if (this.#byId.delete(approvalId)) this.#deps.onChange();
  }

  /** It goes, and may come back: nothing was decided. */
  withdraw(approvalId: string): void {
    if (this.#byId.delete(approvalId)) this.#deps.onChange();
  }

  async #refetch(approvalId: string): Promise<void> {
    try {
      const approval = await this.#deps.fetch(approvalId);
      if (approval?.status === 'pending') this.#keep(approval);
    } catch (error) {
      this.#deps.onProblem(error);
    }
  }

  /** Asks the server how it stands, after it refused a decision. */
  refresh(approvalId: string): Promise<void> {
    return this.#refetch(approvalId);
  }

  #keep(approval: CardApproval): void {
    const { approval_id, omitted, remaining_ms, revision } = approval;
    if (this.#settled.has(approval_id)) return;
    const known = this.#byId.get(approval_id);
    if (known && known.approval.revision > revision) return; // an answer that was overtaken by an event
    if (omitted?.includes('preview') || omitted?.includes('tool_params')) {
      void this.#refetch(approval_id);
      return;
    }
    this.#byId.set(approval_id, {
      approval: checkedCard(approval),
      deadline: this.#deps.clock.monotonic() + remaining_ms,
    });
    this.#deps.onChange();
  }
}
