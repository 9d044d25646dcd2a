import type { EventPayload, RiskLevel } from '@countersign/protocol';
import type { ApprovalRequest, ExecutionSignal, ResultReport } from './runner-api.ts';

/** One call as this runner knows it, from the question to the server's receipt of its result. */
export interface ExecutionHistoryEntry {
  readonly tool_id: string;
  readonly tool_type: string;
  status: 'pending' | 'approved' | 'rejected' | 'completed' | 'failed';
  readonly startTime: Date;
  endTime?: Date;
  duration_ms?: number;
  error?: string;
  /** True: a person approved it, here or elsewhere. False: a person rejected it, or nobody was asked. */
  user_approved?: boolean;
  risk_level: RiskLevel;
  /** Of the newest execution; not set before the first one. */
  attempt?: number;
  /** Set when the server has answered to the result. */
  receipt_status?: 'received' | 'rejected';
}

type Resolution = Pick<EventPayload<'approval.resolved'>, 'tool_id' | 'status' | 'approved_by' | 'error'>;

const MAX_ENTRIES = 1000;

/** Keeps one entry for each call, however often it is asked about or attempted; the oldest calls are forgotten. */
export class ExecutionHistory {
  readonly #entries = new Map<string, ExecutionHistoryEntry>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The newest call last. */
  get entries(): readonly ExecutionHistoryEntry[] {
    return [...this.#entries.values()];
  }

  /** The person is asked, for the first time or again because what they had approved changed (AP-8). */
  asked({ tool_id, tool_name, risk_level }: ApprovalRequest): void {
    const entry = this.#entryOf(tool_id, tool_name, risk_level);
    reopen(entry, 'pending');
    delete entry.user_approved;
  }

  /** The person decided here. */
  decided(tool_id: string, decision: 'approved' | 'rejected'): void {
    this.resolved({ tool_id, status: decision, approved_by: 'user' });
  }

  /** Decided here or elsewhere, expired or withdrawn. What has started or ended since stays as it is. */
  resolved({ tool_id, status, approved_by, error }: Resolution): void {
    const entry = this.#entries.get(tool_id);
    if (entry?.status !== 'pending') return;
    if (status === 'approved') {
      entry.status = 'approved';
      entry.user_approved = approved_by === 'user';
      return;
    }
    entry.endTime = new Date(this.#now());
    if (status === 'rejected') {
      entry.status = 'rejected';
      entry.user_approved = false;
      return;
    }
    entry.status = 'failed';
    entry.error = error?.message ?? (status === 'timeout' ? 'Approval timeout' : `Approval ${status}`);
  }

  started({ tool_id, tool_name, risk_level, approved_by, attempt }: ExecutionSignal): void {
    const entry = this.#entryOf(tool_id, tool_name, risk_level);
    reopen(entry, 'approved');
    entry.user_approved = approved_by === 'user';
    entry.attempt = attempt;
  }

  ended(tool_id: string, { status, error, attempt }: ResultReport, durationMs: number): void {
    const entry = this.#entries.get(tool_id);
    if (entry?.attempt !== attempt) return; // forgotten, or a newer attempt has begun
    entry.status = status === 'completed' ? 'completed' : 'failed';
    entry.endTime = new Date(this.#now());
    entry.duration_ms = durationMs;
    if (error) entry.error = error.message;
  }

  /** The server has the result, or will not take it and says why. */
  acknowledged(tool_id: string, attempt: number | undefined, refused?: string): void {
    const entry = this.#entries.get(tool_id);
    if (entry?.endTime === undefined || (attempt !== undefined && entry.attempt !== attempt)) return;
    entry.receipt_status = refused === undefined ? 'received' : 'rejected';
    if (refused !== undefined) entry.error = refused;
  }

  #entryOf(tool_id: string, tool_type: string, risk_level: RiskLevel): ExecutionHistoryEntry {
    const known = this.#entries.get(tool_id);
    if (known) {
      known.risk_level = risk_level;
      return known;
    }
    const startTime = new Date(this.#now());
    const entry: ExecutionHistoryEntry = { tool_id, tool_type, status: 'pending', startTime, risk_level };
    this.#entries.set(tool_id, entry);
    if (this.#entries.size > MAX_ENTRIES) this.#entries.delete(this.#entries.keys().next().value as string);
    return entry;
  }
}

/** The call goes on: how it ended before does not count any more. */
function reopen(entry: ExecutionHistoryEntry, status: 'pending' | 'approved'): void {
  entry.status = status;
  delete entry.endTime;
  delete entry.duration_ms;
  delete entry.error;
  delete entry.receipt_status;
}
