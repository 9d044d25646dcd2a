import { CountersignError, type ExecutionStatus, type RiskLevel } from '@countersign/protocol';
import type { ServerEvent } from './record/announcements.ts';
import type {
  ApprovalRow,
  AuditRow,
  ExecutionRow,
  GrantRow,
  Json,
  JsonObject,
  MessageRow,
  NodeRow,
  ProjectRow,
  RunnerRow,
  RunRow,
  SessionRow,
  ShownPayload,
  StoredEvent,
  TableName,
  Tables,
  TokenRow,
} from './rows.ts';

/** A step of a unit: a statement that the store runs. Opaque to the engine (docs/decisions/0002). */
export type Unit<T> = Generator<unknown, T, unknown>;

/**
 * Where everything is kept. The database is the truth: a state change, its events and its audit rows are one unit.
 * Several stores may stand on one PostgreSQL.
 */
export interface Store {
  /** Runs a unit of writing; resolves after its commit. What the unit throws undoes it and rejects the promise. */
  write<T>(unit: (tx: Transaction) => Unit<T>): Promise<T>;
  /** Reads a consistent state, without locks. */
  read<T>(unit: (tx: Reading) => Unit<T>): Promise<T>;
  /** Milliseconds since 1970 by the clock that deadlines are stored in: the database's on PostgreSQL (AP-3). */
  now(): number;
  /** Units of writing that wait for their commit: who takes on new work looks at it first. */
  readonly backlog: number;
  /** Whether other servers may write it as well: then nothing that was read counts beyond its unit. */
  readonly isShared: boolean;
  close(): Promise<void>;
}

/** Approvals that are read in one go. */
export const approvalsAtOnce = 50;

export interface ShownApproval {
  readonly approval: ApprovalRow;
  readonly payload: ShownPayload;
}

export interface Reading {
  /** In a unit of writing on PostgreSQL the row is locked. */
  get<K extends TableName>(table: K, id: string): Unit<Tables[K] | undefined>;

  /** Which execution an approval belongs to, without locking it: executions are locked before approvals. */
  peekApproval(approvalId: string): Unit<{ readonly tool_id: string } | undefined>;
  projectsOf(userId: string): Unit<readonly ProjectRow[]>;
  /**
   * Where somebody spoke last comes first, then those where nobody did, the newest first. Without those that were opened
   * for calls and have no message.
   */
  sessionsOf(userId: string, projectId: string, limit: number): Unit<readonly SessionRow[]>;
  /** The newest session that this token opened in a project. */
  sessionOpenedBy(userId: string, projectId: string, tokenId: string): Unit<SessionRow | undefined>;
  /** Oldest first; `after` is a position. */
  messagesOf(sessionId: string, page: { after?: number; limit: number }): Unit<readonly MessageRow[]>;
  /** The model of each run that has a message at these positions, both included, by the run's id. */
  modelsOf(sessionId: string, positions: { from: number; to: number }): Unit<ReadonlyMap<string, string>>;
  lastPosition(sessionId: string): Unit<number>;
  /** Runs whose lease has ended, or that nobody holds. */
  orphanedRuns(now: number, limit: number): Unit<readonly RunRow[]>;
  activeRunOf(sessionId: string): Unit<RunRow | undefined>;
  executionOfCall(runId: string, step: number, index: number): Unit<ExecutionRow | undefined>;
  /** Calls that are not final and that this runner has or should have, the oldest first. */
  openExecutionsOf(
    userId: string,
    runnerId: string,
  ): Unit<readonly Pick<ExecutionRow, 'id' | 'status' | 'attempt'>[]>;
  /** Calls of a person that no runner has: approved ones, and harmless ones that a plain listener was told of. */
  unassignedExecutions(userId: string): Unit<readonly ExecutionRow[]>;
  /** All calls in one of these states, for rebuilding waiters after a restart. */
  executionsIn(statuses: readonly ExecutionStatus[]): Unit<readonly ExecutionRow[]>;
  /** Oldest first. There may be thousands: which they are is read at once, their rows in pieces. */
  pendingApprovals(userId: string): Unit<readonly Pick<ApprovalRow, 'id' | 'tool_id'>[]>;
  /**
   * Those of these approvals, at most `approvalsAtOnce`, that are pending, with the payload of their call. As a list
   * shows them: a preview that is larger than `largestShown` is not read, and null.
   */
  shownApprovals(ids: readonly string[]): Unit<readonly ShownApproval[]>;
  /**
   * A payload as events show it: parameters that are larger than `largestShown` are not read. Nor are there any where
   * there is no payload: nothing may take that for a call without parameters, and run it.
   */
  shownPayload(toolId: string): Unit<ShownPayload>;
  /** What runs instead of what the agent asked for; null: nobody edited it (AP-6). */
  editedParams(toolId: string): Unit<JsonObject | null>;
  /** Of the pending requests of a project, oldest first, what tells whether a grant may cover them. */
  pendingInProject(userId: string, projectId: string): Unit<readonly PendingRequest[]>;
  countPendingApprovals(sessionId: string): Unit<number>;
  /** How many calls of one program wait for an approval, in whatever session (AG-3). */
  countAwaiting(userId: string, requestedBy: string): Unit<number>;
  /** Pending approvals of everybody, soonest deadline first: what the expiry timer looks at. */
  soonestDeadlines(limit: number): Unit<readonly Pick<ApprovalRow, 'id' | 'deadline_at'>[]>;
  /** Grants of a person for a project that are neither revoked nor expired at `now`. */
  liveGrants(userId: string, projectId: string, now: number): Unit<readonly GrantRow[]>;
  grantsOf(userId: string): Unit<readonly GrantRow[]>;
  runnersOf(userId: string): Unit<readonly RunnerRow[]>;
  /** Ids of runners that serve a workspace and gave a sign of life after `since`, the one heard last first. */
  presentRunners(userId: string, workspace: string, since: number): Unit<readonly string[]>;
  /** Runners of everybody that count as connected and were not heard since then. */
  silentRunners(since: number, limit: number): Unit<readonly RunnerRow[]>;
  /** Calls of everybody that a runner has which is not connected any more. */
  strandedExecutions(limit: number): Unit<readonly ExecutionRow[]>;
  /** Calls of everybody that somebody had to look at by then, the longest overdue first. */
  dueExecutions(until: number, limit: number): Unit<readonly { readonly id: string }[]>;
  /** Calls that are open although their run has ended, and that nobody has cancelled. */
  leftoverExecutions(limit: number): Unit<readonly ExecutionRow[]>;
  /** 0: the person has no policy of their own. */
  policyVersion(userId: string): Unit<number>;
  /** Nodes that were heard after `since`. */
  liveNodes(since: number): Unit<readonly NodeRow[]>;
  tokensOf(userId: string): Unit<readonly TokenRow[]>;
  /** How often a call was rejected in this session, or when this program, if one is named, made it elsewhere (AG-3). */
  countRejections(
    userId: string,
    call: { readonly paramsDigest: string; readonly sessionId: string; readonly requestedBy: string | null },
  ): Unit<number>;
  history(userId: string, filter: HistoryFilter): Unit<readonly ExecutionRow[]>;
  /** Per tool: counts and times (OB-1). */
  metrics(userId: string, filter: MetricsFilter): Unit<readonly ToolMetricsRow[]>;
  /** The same per stretch of time and tool, oldest first. */
  metricsSeries(
    userId: string,
    filter: MetricsFilter & { readonly bucketMs: number },
  ): Unit<readonly MetricsPoint[]>;

  /** Events after `after`, in order. */
  events(userId: string, after: number, limit: number): Unit<readonly StoredEvent[]>;
  /**
   * The oldest event that is kept and the newest one that was ever written; 0 where there never was one. When all are
   * past their time, `oldest` is the next one to come: a client that is behind `oldest - 1` has missed some.
   */
  eventBounds(userId: string): Unit<{ readonly oldest: number; readonly newest: number }>;
  audit(userId: string, after: number, limit: number): Unit<readonly AuditRow[]>;
  /** The newest audit row's number and hash, which acknowledgements carry (DA-4); 0 and zeros before the first. */
  auditHead(userId: string): Unit<{ readonly seq: number; readonly hash: string }>;
}

export type PendingRequest = Pick<ApprovalRow, 'id' | 'session_id' | 'tool_name'>;

export interface Transaction extends Reading {
  /** Throws `DuplicateRow` when a row with this id (or unique key) is there. */
  insert<K extends TableName>(table: K, row: Tables[K]): Unit<void>;
  /** Answers whether a row was there to change. */
  update<K extends TableName>(table: K, id: string, patch: Partial<Tables[K]>): Unit<boolean>;
  /** Extends the lease of every run that this node holds; answers which those are. */
  renewLeases(node: string, until: number): Unit<readonly { readonly id: string; readonly epoch: number }[]>;
  /**
   * Every runner that counts as connected is taken to have been heard at that time, if not between it and now: a sign of
   * life from the time to come is of a clock that was set back since.
   */
  hearRunners(at: number, now: number): Unit<void>;
  /** The same for nodes, whether they live or not: whoever was heard after now was heard now. */
  hearNodes(now: number): Unit<void>;
  /** No lease of a run lasts longer than until then. */
  shortenLeases(until: number): Unit<void>;
  /** Adds one to a grant's uses. */
  countGrantUse(grantId: string): Unit<void>;
  /**
   * Events and audit rows of this unit. They are numbered, chained and written at its end, with the person's
   * counter as the last lock. May be called several times; at most one person in a unit.
   */
  announce(userId: string, announcement: Announcement): void;
}

export interface Announcement {
  readonly events?: readonly { readonly projectId: string | null; readonly event: ServerEvent }[];
  readonly audit?: readonly { readonly action: string; readonly subject: string; readonly data: Json }[];
}

export interface HistoryFilter {
  readonly projectId?: string;
  readonly sessionId?: string;
  readonly runId?: string;
  readonly toolName?: string;
  readonly status?: ExecutionStatus;
  readonly riskLevel?: RiskLevel;
  readonly since?: number;
  readonly until?: number;
  /** Only rows before this one: newest first. */
  readonly before?: { readonly createdAt: number; readonly id: string };
  readonly limit: number;
}

export interface MetricsFilter {
  readonly since: number;
  readonly projectId?: string | undefined;
}

export interface MetricsPoint {
  readonly tool_name: string;
  /** Stretches since the beginning: the first is 0. */
  readonly bucket: number;
  readonly total_calls: number;
  readonly success_count: number;
  readonly error_count: number;
  readonly rejected_count: number;
  readonly avg_execution_time_ms: number | null;
  readonly avg_approval_wait_ms: number | null;
}

export interface ToolMetricsRow {
  readonly tool_name: string;
  readonly total_calls: number;
  readonly success_count: number;
  readonly error_count: number;
  readonly rejected_count: number;
  readonly avg_execution_time_ms: number | null;
  readonly p50_execution_time_ms: number | null;
  readonly p95_execution_time_ms: number | null;
  readonly avg_approval_wait_ms: number | null;
  readonly p50_approval_wait_ms: number | null;
  readonly p95_approval_wait_ms: number | null;
}

/** A row with that id or unique key is there already. */
export class DuplicateRow extends Error {
  override readonly name = 'DuplicateRow';
}

/**
 * A unit was not written because the storage has no room, or takes nothing for another reason. Nothing of it was kept.
 * It may be repeated once there is room; until then every unit fails like this, so it is not a failure of the work
 * itself.
 */
export class StorageFull extends CountersignError {
  constructor(values: { readonly problem: string; readonly remedy: string }, options: { cause: unknown }) {
    super('STORAGE_FULL', values, options);
  }
}

/**
 * Tells other parts, here or on other nodes, that something is new. Only a hint: who waits reads the store again,
 * and on a slow tick anyway (docs/architecture.md).
 */
export interface Bus {
  publish(hint: Hint): void;
  subscribe(listener: (hint: Hint) => void): () => void;
}

export type Hint =
  /** A person has new events. `events` are passed along within one process, in order, to spare a read. */
  | {
      readonly kind: 'events';
      readonly userId: string;
      readonly newest: number;
      readonly events?: readonly StoredEvent[];
    }
  /** What this process has just committed, where no hint carried it: for those who watch it here (OB-1). */
  | { readonly kind: 'written'; readonly events: readonly StoredEvent[] }
  | { readonly kind: 'settled'; readonly toolId: string }
  | { readonly kind: 'decided'; readonly approvalId: string }
  | { readonly kind: 'previewed'; readonly approvalId: string }
  /** A call that nobody has: who listens and may execute can take it (EV-3). */
  | {
      readonly kind: 'unassigned';
      readonly userId: string;
      readonly projectId: string;
      readonly toolId: string;
    }
  /** A runner came, went or was given up: its row says what is true. */
  | { readonly kind: 'runner'; readonly userId: string; readonly runnerId: string }
  /** A run was ended or let go of by another than the one that drives it. */
  | { readonly kind: 'run'; readonly runId: string }
  /** A token was revoked: what is open with it ends. */
  | { readonly kind: 'revoked'; readonly tokenId: string }
  /** Not stored: progress and message deltas. */
  | {
      readonly kind: 'passing';
      readonly userId: string;
      readonly projectId: string | null;
      readonly event: ServerEvent;
    };
