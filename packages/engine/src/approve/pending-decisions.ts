import type { Edges } from '../engine-parts.ts';
import { commit } from '../fault-points.ts';
import { announceCall } from '../record/announcements.ts';
import { approvalResolvedEvent, approvalUpdatedEvent } from '../record/call-events.ts';
import { endCall } from '../record/execution-record.ts';
import { Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow } from '../rows.ts';
import type { Outcomes } from '../settle/outcomes.ts';
import { getAll, type Transaction, type Unit } from '../store.ts';
import { Deadlines, Waiters } from '../waiting.ts';
import { type ApprovalRows, lockApproval } from './approval-requests.ts';
import { pathRulesFor } from './stored-policies.ts';

/** Extra time for a request whose deadline passed while no server was running (AP-3). */
const GRACE_MS = 30_000;
/** Requests in one read after a restart. */
const READ_AT_ONCE = 500;
/** Requests of one person in one commit after a restart. */
const MOVED_AT_ONCE = 100;

/**
 * Deadlines of pending requests, and the callers that wait for their decisions. The row is the truth; this is what a
 * process keeps in memory (AP-3, AP-10).
 */
export class PendingDecisions {
  readonly #deps: Edges & { readonly outcomes: Outcomes };
  readonly #deadlines: Deadlines;
  readonly #waiting = new Waiters<ApprovalRow>();
  /** Edits that wait for their preview; resolved with undefined when this process ends. */
  readonly #previewed = new Waiters<ApprovalRow | undefined>();
  readonly #unsubscribe: () => void;

  constructor(deps: Edges & { readonly outcomes: Outcomes }) {
    this.#deps = deps;
    this.#unsubscribe = deps.bus.subscribe((hint) => {
      if (hint.kind !== 'decided' && hint.kind !== 'previewed') return;
      const { approvalId } = hint;
      if (this.#waiting.has(approvalId) || this.#previewed.has(approvalId))
        this.#look(approvalId).catch(deps.onError);
    });
    this.#deadlines = new Deadlines(deps.clock, (id) => void this.#expire(id).catch(deps.onError)); // after an error, the sweep tries again
  }

  /** After the commit of a request or of a new deadline: starts the timer, in monotonic time. */
  watch({ id, deadline_at }: Pick<ApprovalRow, 'id' | 'deadline_at'>): void {
    this.#deadlines.set(id, deadline_at - this.#deps.store.now());
  }

  /** After the commit that decided, expired or withdrew a request: resolves waiters here and sends a hint to others. */
  decided(approval: ApprovalRow): void {
    this.#settle(approval);
    this.#deps.bus.publish({ kind: 'decided', approvalId: approval.id });
  }

  /** After the commit of a preview. */
  previewed(approval: ApprovalRow): void {
    this.watch(approval);
    this.#previewed.settle(approval.id, approval);
    this.#deps.bus.publish({ kind: 'previewed', approvalId: approval.id });
  }

  /** Resolves when the request is decided, by a person or by the timer. */
  async waitForDecision(approvalId: string): Promise<ApprovalRow> {
    const decision = this.#waiting.wait(approvalId);
    await this.#look(approvalId);
    return decision;
  }

  /** Resolves when the request has a preview or is decided; with undefined if that takes too long. */
  async waitForPreview(approvalId: string, withinMs: number): Promise<ApprovalRow | undefined> {
    let stopTimer = () => {};
    const late = new Promise<undefined>((resolve) => {
      stopTimer = this.#deps.clock.after(withinMs, () => resolve(undefined));
    });
    const previewed = this.#previewed.wait(approvalId);
    await this.#look(approvalId);
    return Promise.race([previewed, late]).finally(stopTimer);
  }

  /**
   * At start: restarts the timer of every pending request (AP-10). A request whose deadline passed before `startedAt`,
   * while no server was running, gets a short grace. If the clock was set back, a request gets no more than its full time
   * (AP-3). A moved deadline is announced.
   */
  async resume(startedAt: number): Promise<void> {
    const { store } = this.#deps;
    const pending = await store.read((tx) => tx.soonestDeadlines(1_000_000));
    for (let from = 0; from < pending.length; from += READ_AT_ONCE) {
      const ids = pending.slice(from, from + READ_AT_ONCE).map(({ id }) => id);
      const moved: MovedDeadline[] = [];
      for (const row of await store.read((tx) => getAll(tx, 'approvals', ids))) {
        const now = store.now();
        const stored = row.deadline_at - now;
        const leftMs = row.deadline_at <= startedAt ? GRACE_MS : Math.min(stored, row.timeout_seconds * 1000);
        if (leftMs === stored) this.#deadlines.set(row.id, leftMs);
        else moved.push({ row, deadline: now + leftMs });
      }
      const units: Promise<void>[] = [];
      for (const ofPerson of Map.groupBy(moved, ({ row }) => row.user_id).values())
        for (let first = 0; first < ofPerson.length; first += MOVED_AT_ONCE)
          units.push(this.#moveDeadlines(ofPerson.slice(first, first + MOVED_AT_ONCE)));
      await Promise.all(units);
    }
  }

  async #moveDeadlines(moved: readonly MovedDeadline[]): Promise<void> {
    const { store } = this.#deps;
    const now = store.now();
    const standing = await store.write(function* (tx): Unit<readonly MovedDeadline[]> {
      const still: MovedDeadline[] = [];
      for (const { row: seen, deadline } of moved) {
        const row = yield* tx.get('approvals', seen.id);
        // Another node may have decided or moved it meanwhile.
        if (row?.status !== 'pending' || row.deadline_at !== seen.deadline_at) continue;
        yield* moveDeadline(tx, row, deadline, now);
        still.push({ row, deadline });
      }
      return still;
    });
    for (const { row, deadline } of standing) this.watch({ id: row.id, deadline_at: deadline });
  }

  /** The slow tick: reads what other nodes decided, in case a hint was lost. */
  async tick(): Promise<void> {
    for (const id of this.#waiting.keys()) await this.#look(id);
  }

  /** Expires overdue requests of all nodes. The row makes sure that each expires once. */
  async sweepOverdue(until: number, limit: number): Promise<void> {
    const { store } = this.#deps;
    const [soonest] = await store.read((tx) => tx.soonestDeadlines(1));
    if (!soonest || soonest.deadline_at > until) return; // usually nothing is overdue
    for (const { id, deadline_at } of await store.read((tx) => tx.soonestDeadlines(limit)))
      if (deadline_at <= until) await this.#expire(id).catch(this.#deps.onError); // continue with the others
  }

  close(): void {
    this.#unsubscribe();
    this.#deadlines.close();
    for (const id of this.#previewed.keys()) this.#previewed.settle(id, undefined);
  }

  #settle(approval: ApprovalRow): void {
    this.#deadlines.clear(approval.id);
    this.#waiting.settle(approval.id, approval);
    this.#previewed.settle(approval.id, approval);
  }

  async #look(approvalId: string): Promise<void> {
    const row = await this.#deps.store.read((tx) => tx.get('approvals', approvalId));
    if (row && row.status !== 'pending') this.#settle(row);
    else if (row && row.digest !== null) this.#previewed.settle(approvalId, row);
  }

  async #expire(approvalId: string): Promise<void> {
    const { store, outcomes } = this.#deps;
    const ended = await commit(this.#deps, 'expire', (tx) => expireIfDue(tx, approvalId, store.now()));
    if (typeof ended === 'number') this.#deadlines.set(approvalId, ended);
    else if (ended) {
      this.decided(ended.approval);
      outcomes.settled(ended.execution, { approval: ended.approval });
    }
  }
}

/** Expires a request if its deadline has passed and nobody decided. Returns the milliseconds that are left if it is early. */
function* expireIfDue(
  tx: Transaction,
  approvalId: string,
  now: number,
): Unit<ApprovalRows | number | undefined> {
  const rows = yield* lockApproval(tx, approvalId);
  if (rows?.approval.status !== 'pending') return undefined;
  const { approval, execution } = rows;
  if (approval.deadline_at > now) return approval.deadline_at - now;
  return yield* expireNow(tx, approval, execution, now);
}

/** Inside a unit: expires a request that the person did not decide in time. */
export function* expireNow(
  tx: Transaction,
  approval: ApprovalRow,
  execution: ExecutionRow,
  now: number,
): Unit<ApprovalRows> {
  const expired = { status: 'timeout', decided_at: now } as const;
  yield* tx.update('approvals', approval.id, expired);
  const events = [approvalResolvedEvent(approval, { status: 'timeout' }, now)];
  announceCall(tx, approval, events, 'approval.expired', { tool_id: execution.id });
  const ended = yield* endCall(tx, execution, 'timeout', new Refusal('APPROVAL_TIMEOUT'), now);
  return { approval: { ...approval, ...expired }, execution: ended };
}

interface MovedDeadline {
  readonly row: ApprovalRow;
  readonly deadline: number;
}

function* moveDeadline(tx: Transaction, approval: ApprovalRow, deadline: number, now: number): Unit<void> {
  const row = { ...approval, deadline_at: deadline };
  yield* tx.update('approvals', row.id, { deadline_at: deadline });
  const payload = yield* tx.shownPayload(row.tool_id);
  const rules = yield* pathRulesFor(tx, row);
  const events = [approvalUpdatedEvent(row, payload, rules, now)];
  announceCall(tx, row, events, 'approval.resumed', { left_ms: deadline - now });
}
