import {
  CountersignError,
  type ExecutionStatus,
  type ResponseBody,
  type RiskLevel,
  type SessionMode,
} from '@countersign/protocol';
import type { ServerEvent } from './record/announcements.ts';
import type {
  ApprovalRow,
  AuditRow,
  ExecutionRow,
  FileChangeSummary,
  GrantRow,
  Json,
  JsonObject,
  MessageRow,
  NodeRow,
  ProjectRow,
  QueuedMessageRow,
  RunnerRow,
  RunRow,
  SessionRow,
  ShownPayload,
  StoredEvent,
  TableName,
  Tables,
  TokenRow,
} from './rows.ts';

/** A unit of work: a generator that yields statements, which the store runs (docs/decisions/0002). */
export type Unit<T> = Generator<unknown, T, unknown>;

/** The durable state. A state change, its events and its audit rows are one unit of writing. */
export interface Store {
  /** Resolves after the commit. An error that the unit throws rolls it back and rejects the promise. */
  write<T>(unit: (tx: Transaction) => Unit<T>): Promise<T>;
  /** Reads a consistent state, without locks. */
  read<T>(unit: (tx: Reading) => Unit<T>): Promise<T>;
  /** Milliseconds since 1970 by the clock that deadlines are stored in: the database's on PostgreSQL (AP-3). */
  now(): number;
  /** Units of writing that wait for their commit. Check it before taking on new work. */
  readonly backlog: number;
  /** Whether other servers write to the same database. If so, a value that was read may be outdated after its unit. */
  readonly isShared: boolean;
  close(): Promise<void>;
}

/** Maximum number of approvals in one read. */
export const approvalsAtOnce = 50;

export interface ShownApproval {
  readonly approval: ApprovalRow;
  readonly payload: ShownPayload;
}

/** A decision, without the request. */
export type DecidedApproval = Pick<
  ApprovalRow,
  'id' | 'status' | 'scope' | 'decided_device' | 'reason' | 'message' | 'decided_at'
>;

export interface Reading {
  /** In a unit of writing on PostgreSQL the row is locked. */
  get<K extends TableName>(table: K, id: string): Unit<Tables[K] | undefined>;

  /** Which execution an approval belongs to, without locking it: executions are locked before approvals. */
  peekApproval(approvalId: string): Unit<{ readonly tool_id: string } | undefined>;
  projectsOf(userId: string): Unit<readonly ProjectRow[]>;
  /**
   * Sessions with the latest message first, then those without messages, newest first. Leaves out sessions that were
   * opened for calls and have no message.
   */
  sessionsOf(userId: string, projectId: string, limit: number): Unit<readonly SessionRow[]>;
  /**
   * The same, but only sessions where all words occur in the title or in one message that was not rewound. Upper and lower
   * case do not matter.
   */
  searchSessions(
    userId: string,
    projectId: string,
    words: readonly string[],
    limit: number,
  ): Unit<readonly SessionRow[]>;
  /** The newest session that this token opened in a project. */
  sessionOpenedBy(userId: string, projectId: string, tokenId: string): Unit<SessionRow | undefined>;
  /** Oldest first; `after` is a position. */
  messagesOf(sessionId: string, page: { after?: number; limit: number }): Unit<readonly MessageRow[]>;
  /** The latest messages that were not rewound, oldest first. */
  latestMessages(sessionId: string, limit: number): Unit<readonly MessageRow[]>;
  /** How many messages from this position on were not rewound. */
  countMessagesFrom(sessionId: string, position: number): Unit<number>;
  /**
   * The calls of a session that came after a message, newest first: those of steps at its position or later, and calls
   * outside of runs from its time on.
   */
  callsFrom(
    session: Pick<SessionRow, 'id' | 'user_id'>,
    message: Pick<MessageRow, 'position' | 'created_at'>,
  ): Unit<readonly ExecutionRow[]>;
  /** Files that the calls of a session or a run changed, oldest change first. */
  fileChangesOf(
    of: { readonly sessionId: string } | { readonly runId: string },
  ): Unit<readonly FileChangeSummary[]>;
  /** The model of each run that has a message at these positions, both included, by the run's id. */
  modelsOf(sessionId: string, positions: { from: number; to: number }): Unit<ReadonlyMap<string, string>>;
  lastPosition(sessionId: string): Unit<number>;
  /** Messages that wait, oldest first. */
  queuedMessagesOf(sessionId: string): Unit<readonly QueuedMessageRow[]>;
  /** Without locking the session: for a unit that has locked an execution already. Undefined: there is no such session. */
  modeOf(sessionId: string): Unit<SessionMode | undefined>;
  /** Runs whose lease has ended, or that no node holds. */
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
  /** Calls of all people that are approved or executing, for rebuilding waiters after a restart. */
  allowedExecutions(): Unit<readonly ExecutionRow[]>;
  /** Oldest first. There may be thousands, so this reads only ids; read the rows in pieces. */
  pendingApprovals(userId: string): Unit<readonly Pick<ApprovalRow, 'id' | 'tool_id'>[]>;
  /** Pending approvals whose call is being tried, or shall be. */
  pendingTrials(userId: string): Unit<readonly Pick<ApprovalRow, 'id'>[]>;
  /**
   * Those of these approvals that are pending, with the payload of their call. Takes at most `approvalsAtOnce` ids. A preview
   * that is larger than `largestShown` is not read and null.
   */
  shownApprovals(ids: readonly string[]): Unit<readonly ShownApproval[]>;
  /**
   * A payload as events show it: parameters are null if they are larger than `largestShown`, or if the payload was
   * removed. Never take null for a call without parameters.
   */
  shownPayload(toolId: string): Unit<ShownPayload>;
  /** The parameters that a person put in place of the agent's; null: not edited (AP-6). */
  editedParams(toolId: string): Unit<JsonObject | null>;
  /** The pending requests of a project, oldest first: the columns that show whether a grant may cover them. */
  pendingInProject(userId: string, projectId: string): Unit<readonly PendingRequest[]>;
  /** Those of these approvals that are decided, with the columns that a transcript needs. Takes any number of ids. */
  decidedApprovals(ids: readonly string[]): Unit<readonly DecidedApproval[]>;
  countPendingApprovals(sessionId: string): Unit<number>;
  /** How many calls of one program wait for an approval, in any session (AG-3). */
  countAwaiting(userId: string, requestedBy: string): Unit<number>;
  /** Pending approvals of all people, soonest deadline first, for the expiry timer. */
  soonestDeadlines(limit: number): Unit<readonly Pick<ApprovalRow, 'id' | 'deadline_at'>[]>;
  /** Grants of a person for a project that are neither revoked nor expired at `now`. */
  liveGrants(userId: string, projectId: string, now: number): Unit<readonly GrantRow[]>;
  grantsOf(userId: string): Unit<readonly GrantRow[]>;
  runnersOf(userId: string): Unit<readonly RunnerRow[]>;
  /** Ids of runners that serve a workspace and were heard after `since`, the latest first. */
  presentRunners(userId: string, workspace: string, since: number): Unit<readonly string[]>;
  /** Runners of all people that count as connected and were not heard after `since`. */
  silentRunners(since: number, limit: number): Unit<readonly RunnerRow[]>;
  /** Calls of all people whose runner is no longer connected. */
  strandedExecutions(limit: number): Unit<readonly ExecutionRow[]>;
  /** Calls of all people that are due at `until`, the longest overdue first. */
  dueExecutions(until: number, limit: number): Unit<readonly { readonly id: string }[]>;
  /** Calls that are open although their run has ended, and that were not cancelled. */
  leftoverExecutions(limit: number): Unit<readonly ExecutionRow[]>;
  /** 0: the person has no policy of their own. */
  policyVersion(userId: string): Unit<number>;
  /** Nodes that were heard after `since`. */
  liveNodes(since: number): Unit<readonly NodeRow[]>;
  tokensOf(userId: string): Unit<readonly TokenRow[]>;
  /** How often a call was rejected in this session or, if a program is named, in that program's other sessions (AG-3). */
  countRejections(
    userId: string,
    call: { readonly paramsDigest: string; readonly sessionId: string; readonly requestedBy: string | null },
  ): Unit<number>;
  history(userId: string, filter: HistoryFilter): Unit<readonly ExecutionRow[]>;
  /** Per tool: counts and times (OB-1). */
  metrics(userId: string, filter: MetricsFilter): Unit<readonly Metrics['tools'][number][]>;
  /** Counts and times per time bucket and tool, oldest first. */
  metricsSeries(
    userId: string,
    filter: MetricsFilter & { readonly bucketMs: number },
  ): Unit<readonly MetricsPoint[]>;

  /** Events after `after`, in order. */
  events(userId: string, after: number, limit: number): Unit<readonly StoredEvent[]>;
  /**
   * The ids of the oldest stored event and of the newest event ever written; 0 if there never was an event. If all
   * events were removed, `oldest` is the next id. A client behind `oldest - 1` has missed events.
   */
  eventBounds(userId: string): Unit<{ readonly oldest: number; readonly newest: number }>;
  audit(userId: string, after: number, limit: number): Unit<readonly AuditRow[]>;
  /** The newest audit row's number and hash, which acknowledgements carry (DA-4); 0 and zeros before the first. */
  auditHead(userId: string): Unit<{ readonly seq: number; readonly hash: string }>;
}

/** Reads rows by their ids. Ids without a row are left out. */
export function* getAll<K extends TableName>(
  tx: Reading,
  table: K,
  ids: readonly string[],
): Unit<readonly Tables[K][]> {
  const rows: Tables[K][] = [];
  for (const id of ids) {
    const row = yield* tx.get(table, id);
    if (row) rows.push(row);
  }
  return rows;
}

export type PendingRequest = Pick<ApprovalRow, 'id' | 'session_id' | 'tool_name'>;

export interface Transaction extends Reading {
  /** Throws `DuplicateRow` when a row with this id (or unique key) is there. */
  insert<K extends TableName>(table: K, row: Tables[K]): Unit<void>;
  /** Returns whether the row exists. */
  update<K extends TableName>(table: K, id: string, patch: Partial<Tables[K]>): Unit<boolean>;
  /** Deletes one row. Returns whether it existed. */
  remove<K extends TableName>(table: K, id: string): Unit<boolean>;
  /** Extends the lease of every run that this node holds, and returns those runs. */
  renewLeases(node: string, until: number): Unit<readonly { readonly id: string; readonly epoch: number }[]>;
  /**
   * Sets `last_seen_at` of connected runners to `at`, unless it lies between `at` and `now`. A future `last_seen_at` means
   * that the clock went back.
   */
  markRunnersSeen(at: number, now: number): Unit<void>;
  /** Sets each node's `seen_at` that lies in the future to `now`. */
  capNodesSeenAt(now: number): Unit<void>;
  /** Shortens every run lease that ends after `until`. */
  capRunLeases(until: number): Unit<void>;
  countGrantUse(grantId: string): Unit<void>;
  /** Marks the messages from this position on as rewound, and returns how many were not yet. */
  rewindMessages(sessionId: string, position: number, now: number): Unit<number>;
  removeMessages(sessionId: string): Unit<void>;
  /**
   * Adds events and audit rows to this unit. They are numbered, chained and written at its end, with the person's
   * counter as the last lock. May be called several times, for at most one person in a unit.
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
  /** Words that all occur in the tool's name, the masked parameters or the error; case does not matter. */
  readonly words?: readonly string[];
  /** Only rows older than this row. Rows come newest first. */
  readonly before?: { readonly createdAt: number; readonly id: string };
  readonly limit: number;
}

export interface MetricsFilter {
  readonly since: number;
  readonly projectId?: string | undefined;
}

type Metrics = ResponseBody<'metrics'>;

/** `bucket` counts from the beginning: the first is 0. */
type MetricsPoint = Omit<Metrics['series'][number], 'from'> & { readonly bucket: number };

export class DuplicateRow extends Error {
  override readonly name = 'DuplicateRow';
}

/**
 * The storage has no room or refuses writes, so the unit was not written. Every unit fails like this until there is room;
 * then it may be repeated. The work itself did not fail.
 */
export class StorageFull extends CountersignError {
  constructor(values: { readonly problem: string; readonly remedy: string }, options: { cause: unknown }) {
    super('STORAGE_FULL', values, options);
  }
}

/**
 * Tells other parts, here or on other nodes, that something is new. Only a hint: the listener reads the store again, and
 * does so on a slow tick anyway (docs/architecture.md).
 */
export interface Bus {
  publish(hint: Hint): void;
  subscribe(listener: (hint: Hint) => void): () => void;
}

export interface RunnerChange {
  readonly state: 'connected' | 'disconnected';
  readonly workspace: string;
}

export type Hint =
  /** A person has new events. Within one process `events` carries them, in order, to save a read. */
  | {
      readonly kind: 'events';
      readonly userId: string;
      readonly newest: number;
      readonly events?: readonly StoredEvent[];
    }
  /** Events that this process committed and no 'events' hint carried, for observers in this process (OB-1). */
  | { readonly kind: 'written'; readonly events: readonly StoredEvent[] }
  | { readonly kind: 'settled'; readonly toolId: string }
  | { readonly kind: 'decided'; readonly approvalId: string }
  | { readonly kind: 'previewed'; readonly approvalId: string }
  /** No runner has the call: a plain listener that may execute can take it (EV-3). */
  | {
      readonly kind: 'unassigned';
      readonly userId: string;
      readonly projectId: string;
      readonly toolId: string;
    }
  /** A runner connected, disconnected or was given up; its row has the state. */
  | {
      readonly kind: 'runner';
      readonly userId: string;
      readonly runnerId: string;
      /** For observers in this process: the new state. Left out if the runner only opened another stream. */
      readonly change?: RunnerChange;
    }
  /** A run was ended or released by a node that does not drive it. */
  | { readonly kind: 'run'; readonly runId: string }
  /** A token was revoked: its streams end. */
  | { readonly kind: 'revoked'; readonly tokenId: string }
  /** Not stored: progress and message deltas. */
  | {
      readonly kind: 'transient';
      readonly userId: string;
      readonly projectId: string | null;
      readonly event: ServerEvent;
    };
