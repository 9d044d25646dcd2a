import type { EventPayload, RiskLevel } from '@countersign/protocol';
import type { ApprovalRequest, ExecutionSignal, ResultReport } from './runner-api.ts';

/** One call as this runner saw it, from the approval request to the server's acknowledgement of the result. */
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
  /** The newest attempt; undefined before the first one. */
  attempt?: number;
  /** Set when the server has acknowledged or refused the result. */
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

  /** The person is asked, for the first time or again because the approved call changed (AP-8). */
  asked({ tool_id, tool_name, risk_level }: ApprovalRequest): void {
    const entry = this.#entryOf(tool_id, tool_name, risk_level);
    reopen(entry, 'pending');
    delete entry.user_approved;
  }

  /** The request was decided, expired or withdrawn. An entry that is no longer pending stays as it is. */
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

  /** The server has acknowledged the result, or refused it with a reason. */
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

/** Clears how an earlier attempt ended. */
function reopen(entry: ExecutionHistoryEntry, status: 'pending' | 'approved'): void {
  entry.status = status;
  delete entry.endTime;
  delete entry.duration_ms;
  delete entry.error;
  delete entry.receipt_status;
}
