import {
  type ApprovalRow,
  type AuditRow,
  approvalsAtOnce,
  auditGenesis,
  columnsOf,
  type DecidedApproval,
  type ExecutionRow,
  type FileChangeSummary,
  type GrantRow,
  type HistoryFilter,
  type JsonObject,
  largestShown,
  type MessageRow,
  type MetricsFilter,
  type NodeRow,
  type PayloadRow,
  type PendingRequest,
  type ProjectRow,
  type QueuedMessageRow,
  type Reading,
  type RunnerRow,
  type RunRow,
  type SessionRow,
  type ShownApproval,
  type ShownPayload,
  type StoredEvent,
  type TableName,
  type Tables,
  type TokenRow,
  type Unit,
} from '@countersign/engine';
import type { SessionMode } from '@countersign/protocol';
import { type AliasedRawBuilder, sql } from 'kysely';
import { historyStatement, metricsSeriesStatement, metricsStatement } from './history-queries.ts';
import { isOpen } from './migrations.ts';
import type { BuildQuery, Slots, Statement, StatementOptions, Statements, StepResult } from './statements.ts';
import { countWords, hasAllWords, wordValues } from './word-search.ts';

type Values = Readonly<Record<string, unknown>>;

type Query = readonly [key: string, options: StatementOptions, values: Values, build: BuildQuery];

/** Selects a large column only if it is small enough; otherwise the database does not read it. */
const unlessLarge = <C extends string>(column: C, size: string): AliasedRawBuilder<never, C> =>
  sql<never>`case when ${sql.ref(size)} <= ${sql.lit(largestShown)} then ${sql.ref(column)} end`.as(column);
const smallColumns = Object.keys(columnsOf.approvals).filter(
  (column): column is keyof ApprovalRow => column !== 'preview',
);

const changeSummary = Object.keys(columnsOf.file_changes).filter(
  (column): column is keyof FileChangeSummary => column !== 'diff',
);

/** Contains the condition of the index sessions_of_project. */
const isListed = sql<boolean>`(opened_by is null or last_message_at is not null) and deleted_at is null`;

const noPayload: ShownPayload = { description: null, offered_scopes: null, params: null };

/** A list in a prepared statement always has the same length; unused places hold an empty id. */
const listPlaces = Array.from({ length: approvalsAtOnce }, (_, place) => `id${place}`);
const listSlots = (slot: Slots): string[] => listPlaces.map((name) => slot.text(name));
function listValues(ids: readonly string[]): Readonly<Record<string, string>> {
  if (ids.length > approvalsAtOnce) throw new RangeError(`${ids.length} ids are read at once`);
  return Object.fromEntries(listPlaces.map((name, place) => [name, ids[place] ?? '']));
}

/** The engine's queries, written once for both databases: each yields its statement and gets the rows. */
export class DatabaseReading implements Reading {
  readonly statements: Statements;
  /** True in a unit of writing on PostgreSQL: a row that is read by its id is locked until the commit. */
  readonly locking: boolean;

  constructor(statements: Statements, options: { readonly locking: boolean }) {
    this.statements = statements;
    this.locking = options.locking;
  }

  get<K extends TableName>(table: K, id: string): Unit<Tables[K] | undefined> {
    const { locking } = this;
    return this.first(`get:${table}:${locking}`, { of: table }, { id }, (db, slot) => {
      const query = db
        .selectFrom(table as 'projects')
        .selectAll()
        .where('id', '=', slot.text('id'));
      return locking ? query.forUpdate() : query;
    });
  }

  peekApproval(approvalId: string): Unit<{ readonly tool_id: string } | undefined> {
    return this.first('peekApproval', {}, { approvalId }, (db, slot) =>
      db.selectFrom('approvals').select('tool_id').where('id', '=', slot.text('approvalId')),
    );
  }

  projectsOf(userId: string): Unit<readonly ProjectRow[]> {
    return this.#ofUser('projects', userId);
  }

  #ofUser<K extends 'projects' | 'grants' | 'tokens'>(table: K, userId: string): Unit<readonly Tables[K][]> {
    return this.query(`${table}:of-user`, { of: table }, { userId }, (db, slot) =>
      db
        .selectFrom(table as 'projects')
        .selectAll()
        .where('user_id', '=', slot.text('userId'))
        .orderBy('created_at')
        .orderBy('id'),
    );
  }

  sessionsOf(userId: string, projectId: string, limit: number): Unit<readonly SessionRow[]> {
    return this.query('sessions:of-project', { of: 'sessions' }, { userId, projectId, limit }, (db, slot) =>
      db
        .selectFrom('sessions')
        .selectAll()
        .where('user_id', '=', slot.text('userId'))
        .where('project_id', '=', slot.text('projectId'))
        .where(isListed)
        .orderBy('last_message_at', (order) => order.desc().nullsLast())
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(slot.integer('limit')),
    );
  }

  searchSessions(
    userId: string,
    projectId: string,
    words: readonly string[],
    limit: number,
  ): Unit<readonly SessionRow[]> {
    const { dialect } = this.statements;
    const search = { count: countWords(words), dialect };
    return this.query(
      `sessions:search:${search.count}`,
      { of: 'sessions', long: true },
      { userId, projectId, limit, ...wordValues(words) },
      (db, slot) =>
        db
          .selectFrom('sessions')
          .selectAll()
          .where('user_id', '=', slot.text('userId'))
          .where('project_id', '=', slot.text('projectId'))
          .where(isListed)
          .where((eb) =>
            eb.or([
              hasAllWords(search, slot, { text: ['title'] }),
              eb.exists(
                eb
                  .selectFrom('messages')
                  .select(sql.lit(1).as('one'))
                  .whereRef('messages.session_id', '=', 'sessions.id')
                  .where('messages.rewound_at', 'is', null)
                  .where('messages.role', 'in', [sql.lit('user' as const), sql.lit('assistant' as const)])
                  .where(hasAllWords(search, slot, { text: ['messages.content'] })),
              ),
            ]),
          )
          .orderBy('last_message_at', (order) => order.desc().nullsLast())
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc')
          .limit(slot.integer('limit')),
    );
  }

  sessionOpenedBy(userId: string, projectId: string, tokenId: string): Unit<SessionRow | undefined> {
    return this.first<SessionRow>(
      'sessions:opened-by',
      { of: 'sessions' },
      { userId, projectId, tokenId },
      (db, slot) =>
        db
          .selectFrom('sessions')
          .selectAll()
          .where('opened_by', '=', slot.text('tokenId'))
          .where('deleted_at', 'is', null)
          .where('user_id', '=', slot.text('userId'))
          .where('project_id', '=', slot.text('projectId'))
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc')
          .limit(1),
    );
  }

  messagesOf(
    sessionId: string,
    { after, limit }: { after?: number; limit: number },
  ): Unit<readonly MessageRow[]> {
    return this.query(
      'messages:of-session',
      { of: 'messages' },
      { sessionId, after: after ?? Number.MIN_SAFE_INTEGER, limit },
      (db, slot) =>
        db
          .selectFrom('messages')
          .selectAll()
          .where('session_id', '=', slot.text('sessionId'))
          .where('position', '>', slot.integer('after'))
          .orderBy('position')
          .limit(slot.integer('limit')),
    );
  }

  *latestMessages(sessionId: string, limit: number): Unit<readonly MessageRow[]> {
    const rows = yield* this.query<MessageRow>(
      'messages:latest',
      { of: 'messages' },
      { sessionId, limit },
      (db, slot) =>
        db
          .selectFrom('messages')
          .selectAll()
          .where('session_id', '=', slot.text('sessionId'))
          .where('rewound_at', 'is', null)
          .orderBy('position', 'desc')
          .limit(slot.integer('limit')),
    );
    return rows.toReversed();
  }

  countMessagesFrom(sessionId: string, position: number): Unit<number> {
    return this.count('countMessagesFrom', {}, { sessionId, position }, (db, slot) =>
      db
        .selectFrom('messages')
        .select((eb) => eb.fn.countAll().as('count'))
        .where('session_id', '=', slot.text('sessionId'))
        .where('position', '>=', slot.integer('position'))
        .where('rewound_at', 'is', null),
    );
  }

  callsFrom(
    { id: sessionId, user_id: userId }: Pick<SessionRow, 'id' | 'user_id'>,
    { position, created_at }: Pick<MessageRow, 'position' | 'created_at'>,
  ): Unit<readonly ExecutionRow[]> {
    return this.query(
      'tool_executions:from-message',
      { of: 'tool_executions' },
      { userId, sessionId, position, created_at },
      (db, slot) =>
        db
          .selectFrom('tool_executions')
          .selectAll()
          .where('user_id', '=', slot.text('userId'))
          .where('session_id', '=', slot.text('sessionId'))
          .where((eb) =>
            eb.or([
              eb.and([eb('run_id', 'is', null), eb('created_at', '>=', slot.integer('created_at'))]),
              eb.exists(
                eb
                  .selectFrom('messages')
                  .select(sql.lit(1).as('one'))
                  // This is `assistantMessageId` in SQL.
                  .where(
                    'messages.id',
                    '=',
                    sql<string>`tool_executions.run_id || '-' || tool_executions.step`,
                  )
                  .where('messages.session_id', '=', slot.text('sessionId'))
                  .where('messages.position', '>=', slot.integer('position')),
              ),
            ]),
          )
          .orderBy('created_at', 'desc')
          .orderBy(sql`coalesce(step, 0)`, 'desc')
          .orderBy(sql`coalesce(call_index, 0)`, 'desc')
          .orderBy('id', 'desc'),
    );
  }

  fileChangesOf(
    of: { readonly sessionId: string } | { readonly runId: string },
  ): Unit<readonly FileChangeSummary[]> {
    const [column, id] =
      'runId' in of ? (['run_id', of.runId] as const) : (['session_id', of.sessionId] as const);
    return this.query(`file_changes:of:${column}`, { of: 'file_changes' }, { id }, (db, slot) =>
      db
        .selectFrom('file_changes')
        .select(changeSummary)
        .where(column, '=', slot.text('id'))
        .orderBy('created_at')
        .orderBy('place')
        .orderBy('id'),
    );
  }

  *modelsOf(sessionId: string, positions: { from: number; to: number }): Unit<ReadonlyMap<string, string>> {
    const rows = yield* this.query<Pick<RunRow, 'id' | 'model'>>(
      'models:of-messages',
      {},
      { sessionId, ...positions },
      (db, slot) =>
        db
          .selectFrom('messages')
          .innerJoin('runs', 'runs.id', 'messages.run_id')
          .select(['runs.id', 'runs.model'])
          .distinct()
          .where('messages.session_id', '=', slot.text('sessionId'))
          .where('messages.position', '>=', slot.integer('from'))
          .where('messages.position', '<=', slot.integer('to')),
    );
    return new Map(rows.map(({ id, model }) => [id, model]));
  }

  *lastPosition(sessionId: string): Unit<number> {
    const found = yield* this.first<{ last: number | null }>('lastPosition', {}, { sessionId }, (db, slot) =>
      db
        .selectFrom('messages')
        .select((eb) => eb.fn.max('position').as('last'))
        .where('session_id', '=', slot.text('sessionId')),
    );
    return found?.last ?? 0;
  }

  queuedMessagesOf(sessionId: string): Unit<readonly QueuedMessageRow[]> {
    return this.query('queue:of-session', { of: 'queued_messages' }, { sessionId }, (db, slot) =>
      db
        .selectFrom('queued_messages')
        .selectAll()
        .where('session_id', '=', slot.text('sessionId'))
        .orderBy('position'),
    );
  }

  *modeOf(sessionId: string): Unit<SessionMode | undefined> {
    const found = yield* this.first<{ mode: SessionMode }>('modeOf', {}, { sessionId }, (db, slot) =>
      db.selectFrom('sessions').select('mode').where('id', '=', slot.text('sessionId')),
    );
    return found?.mode;
  }

  orphanedRuns(now: number, limit: number): Unit<readonly RunRow[]> {
    const { locking } = this;
    return this.query(`runs:orphaned:${locking}`, { of: 'runs' }, { now, limit }, (db, slot) => {
      const orphaned = db
        .selectFrom('runs')
        .selectAll()
        .where('status', '=', sql.lit('running' as const))
        .where((eb) =>
          eb.or([
            eb('lease_owner', 'is', null),
            eb('lease_until', 'is', null),
            eb('lease_until', '<=', slot.integer('now')),
          ]),
        )
        .orderBy('lease_until')
        .limit(slot.integer('limit'));
      // Several nodes look for orphans at once: skip rows that another node is taking.
      return locking ? orphaned.forUpdate().skipLocked() : orphaned;
    });
  }

  activeRunOf(sessionId: string): Unit<RunRow | undefined> {
    return this.first('runs:active', { of: 'runs' }, { sessionId }, (db, slot) =>
      db
        .selectFrom('runs')
        .selectAll()
        .where('session_id', '=', slot.text('sessionId'))
        .where('status', '=', sql.lit('running' as const))
        .orderBy('created_at', 'desc')
        .limit(1),
    );
  }

  executionOfCall(runId: string, step: number, index: number): Unit<ExecutionRow | undefined> {
    const { locking } = this;
    return this.first(
      `tool_executions:of-call:${locking}`,
      { of: 'tool_executions' },
      { runId, step, index },
      (db, slot) => {
        const found = db
          .selectFrom('tool_executions')
          .selectAll()
          .where('run_id', '=', slot.text('runId'))
          .where('step', '=', slot.integer('step'))
          .where('call_index', '=', slot.integer('index'));
        return locking ? found.forUpdate() : found;
      },
    );
  }

  openExecutionsOf(
    userId: string,
    runnerId: string,
  ): Unit<readonly Pick<ExecutionRow, 'id' | 'status' | 'attempt'>[]> {
    return this.query('tool_executions:open', {}, { userId, runnerId }, (db, slot) =>
      db
        .selectFrom('tool_executions')
        .select(['id', 'status', 'attempt'])
        .where('runner_id', '=', slot.text('runnerId'))
        .where('user_id', '=', slot.text('userId'))
        .where(isOpen)
        .orderBy('created_at')
        .orderBy('id'),
    );
  }

  unassignedExecutions(userId: string): Unit<readonly ExecutionRow[]> {
    return this.query('tool_executions:unassigned', { of: 'tool_executions' }, { userId }, (db, slot) =>
      db
        .selectFrom('tool_executions')
        .selectAll()
        .where('runner_id', 'is', null)
        .where('user_id', '=', slot.text('userId'))
        .where((eb) =>
          eb.or([
            eb('status', '=', sql.lit('approved' as const)),
            eb.and([
              eb('status', '=', sql.lit('executing' as const)),
              eb('risk_level', '=', sql.lit('LOW' as const)),
            ]),
          ]),
        )
        .where(isOpen)
        .orderBy('created_at')
        .orderBy('id'),
    );
  }

  allowedExecutions(): Unit<readonly ExecutionRow[]> {
    return this.query('tool_executions:allowed', { of: 'tool_executions' }, {}, (db) =>
      db
        .selectFrom('tool_executions')
        .selectAll()
        .where('status', 'in', [sql.lit('approved' as const), sql.lit('executing' as const)])
        .where(isOpen)
        .orderBy('created_at')
        .orderBy('id'),
    );
  }

  pendingApprovals(userId: string): Unit<readonly Pick<ApprovalRow, 'id' | 'tool_id'>[]> {
    return this.query('approvals:pending', {}, { userId }, (db, slot) =>
      db
        .selectFrom('approvals')
        .select(['id', 'tool_id'])
        .where('user_id', '=', slot.text('userId'))
        .where('status', '=', sql.lit('pending' as const))
        .orderBy('created_at')
        .orderBy('id'),
    );
  }

  pendingTrials(userId: string): Unit<readonly Pick<ApprovalRow, 'id'>[]> {
    return this.query('approvals:trials', {}, { userId }, (db, slot) =>
      db
        .selectFrom('approvals')
        .select('id')
        .where('user_id', '=', slot.text('userId'))
        .where('status', '=', sql.lit('pending' as const))
        .where('trial', 'is not', null)
        .orderBy('id'),
    );
  }

  *shownApprovals(ids: readonly string[]): Unit<readonly ShownApproval[]> {
    const approvals = yield* this.query<ApprovalRow>(
      'approvals:shown',
      { of: 'approvals' },
      listValues(ids),
      (db, slot) =>
        db
          .selectFrom('approvals')
          .select([...smallColumns, unlessLarge('preview', 'preview_size')])
          .where('id', 'in', listSlots(slot))
          .where('status', '=', sql.lit('pending' as const))
          .orderBy('created_at')
          .orderBy('id'),
    );
    const payloads = yield* this.#shownPayloads(approvals.map(({ tool_id }) => tool_id));
    return approvals.map((approval) => ({
      approval,
      payload: payloads.get(approval.tool_id) ?? noPayload,
    }));
  }

  *#shownPayloads(toolIds: readonly string[]): Unit<ReadonlyMap<string, ShownPayload>> {
    const rows = yield* this.query<ShownPayload & { readonly id: string }>(
      'shownPayloads',
      { of: 'payloads' },
      listValues(toolIds),
      (db, slot) =>
        db
          .selectFrom('payloads')
          .select(['id', 'description', 'offered_scopes', unlessLarge('params', 'params_size')])
          .where('id', 'in', listSlots(slot)),
    );
    return new Map(rows.map(({ id, ...shown }) => [id, shown]));
  }

  *shownPayload(toolId: string): Unit<ShownPayload> {
    const found = yield* this.first<ShownPayload>(
      'shownPayload',
      { of: 'payloads' },
      { toolId },
      (db, slot) =>
        db
          .selectFrom('payloads')
          .select(['description', 'offered_scopes', unlessLarge('params', 'params_size')])
          .where('id', '=', slot.text('toolId')),
    );
    return found ?? noPayload;
  }

  *editedParams(toolId: string): Unit<JsonObject | null> {
    const found = yield* this.first<Pick<PayloadRow, 'params'>>(
      'editedParams',
      { of: 'payloads' },
      { toolId },
      (db, slot) =>
        db
          .selectFrom('payloads')
          .select('params')
          .where('id', '=', slot.text('toolId'))
          .where('requested_params', 'is not', null),
    );
    return found?.params ?? null;
  }

  pendingInProject(userId: string, projectId: string): Unit<readonly PendingRequest[]> {
    return this.query('pendingInProject', {}, { userId, projectId }, (db, slot) =>
      db
        .selectFrom('approvals')
        .select(['id', 'session_id', 'tool_name'])
        .where('user_id', '=', slot.text('userId'))
        .where('project_id', '=', slot.text('projectId'))
        .where('status', '=', sql.lit('pending' as const))
        .orderBy('created_at')
        .orderBy('id'),
    );
  }

  *decidedApprovals(ids: readonly string[]): Unit<readonly DecidedApproval[]> {
    const rows: DecidedApproval[] = [];
    for (let start = 0; start < ids.length; start += approvalsAtOnce) {
      const some = yield* this.query<DecidedApproval>(
        'approvals:decided',
        {},
        listValues(ids.slice(start, start + approvalsAtOnce)),
        (db, slot) =>
          db
            .selectFrom('approvals')
            .select(['id', 'status', 'scope', 'decided_device', 'reason', 'message', 'decided_at'])
            .where('id', 'in', listSlots(slot))
            .where('status', '<>', sql.lit('pending' as const)),
      );
      rows.push(...some);
    }
    return rows;
  }

  countPendingApprovals(sessionId: string): Unit<number> {
    return this.count('countPendingApprovals', {}, { sessionId }, (db, slot) =>
      db
        .selectFrom('approvals')
        .select((eb) => eb.fn.countAll().as('count'))
        .where('session_id', '=', slot.text('sessionId'))
        .where('status', '=', sql.lit('pending' as const)),
    );
  }

  countAwaiting(userId: string, requestedBy: string): Unit<number> {
    return this.count('countAwaiting', {}, { userId, requestedBy }, (db, slot) =>
      db
        .selectFrom('tool_executions')
        .select((eb) => eb.fn.countAll().as('count'))
        // A call that waits for an approval has no runner; the index of open calls needs this condition.
        .where('runner_id', 'is', null)
        .where('user_id', '=', slot.text('userId'))
        .where('status', '=', sql.lit('awaiting_approval' as const))
        .where(isOpen)
        .where('requested_by', '=', slot.text('requestedBy')),
    );
  }

  soonestDeadlines(limit: number): Unit<readonly Pick<ApprovalRow, 'id' | 'deadline_at'>[]> {
    return this.query('soonestDeadlines', {}, { limit }, (db, slot) =>
      db
        .selectFrom('approvals')
        .select(['id', 'deadline_at'])
        .where('status', '=', sql.lit('pending' as const))
        .orderBy('deadline_at')
        .orderBy('id')
        .limit(slot.integer('limit')),
    );
  }

  liveGrants(userId: string, projectId: string, now: number): Unit<readonly GrantRow[]> {
    return this.query('grants:live', { of: 'grants' }, { userId, projectId, now }, (db, slot) =>
      db
        .selectFrom('grants')
        .selectAll()
        .where('user_id', '=', slot.text('userId'))
        .where('project_id', '=', slot.text('projectId'))
        .where('revoked_at', 'is', null)
        .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', slot.integer('now'))]))
        .orderBy('created_at')
        .orderBy('id'),
    );
  }

  grantsOf(userId: string): Unit<readonly GrantRow[]> {
    return this.#ofUser('grants', userId);
  }

  runnersOf(userId: string): Unit<readonly RunnerRow[]> {
    return this.query('runners:of-user', { of: 'runners' }, { userId }, (db, slot) =>
      db.selectFrom('runners').selectAll().where('user_id', '=', slot.text('userId')).orderBy('id'),
    );
  }

  *presentRunners(userId: string, workspace: string, since: number): Unit<readonly string[]> {
    const values = { userId, workspace, since, connected: true };
    const found = yield* this.query<Pick<RunnerRow, 'runner_id'>>('presentRunners', {}, values, (db, slot) =>
      db
        .selectFrom('runners')
        .select('runner_id')
        .where('user_id', '=', slot.text('userId'))
        .where('workspace', '=', slot.text('workspace'))
        .where('connected', '=', slot.column('runners', 'connected', 'connected'))
        .where('last_seen_at', '>', slot.integer('since'))
        .orderBy('last_seen_at', 'desc')
        .orderBy('id'),
    );
    return found.map(({ runner_id }) => runner_id);
  }

  silentRunners(since: number, limit: number): Unit<readonly RunnerRow[]> {
    return this.query('runners:silent', { of: 'runners' }, { since, limit, connected: true }, (db, slot) =>
      db
        .selectFrom('runners')
        .selectAll()
        .where('connected', '=', slot.column('runners', 'connected', 'connected'))
        .where('last_seen_at', '<=', slot.integer('since'))
        .orderBy('last_seen_at')
        .limit(slot.integer('limit')),
    );
  }

  strandedExecutions(limit: number): Unit<readonly ExecutionRow[]> {
    return this.query(
      'tool_executions:stranded',
      { of: 'tool_executions' },
      { limit, connected: true },
      (db, slot) =>
        db
          .selectFrom('tool_executions')
          .selectAll()
          .where('runner_id', 'is not', null)
          .where('status', 'in', [sql.lit('approved' as const), sql.lit('executing' as const)])
          .where(isOpen)
          .where((eb) =>
            eb.not(
              eb.exists(
                eb
                  .selectFrom('runners')
                  .select(sql.lit(1).as('one'))
                  // This is `runnerKey` in SQL.
                  .where(
                    'runners.id',
                    '=',
                    sql<string>`tool_executions.runner_id || '@' || tool_executions.user_id`,
                  )
                  .where('runners.connected', '=', slot.column('runners', 'connected', 'connected')),
              ),
            ),
          )
          .limit(slot.integer('limit')),
    );
  }

  dueExecutions(until: number, limit: number): Unit<readonly { readonly id: string }[]> {
    return this.query('dueExecutions', {}, { until, limit }, (db, slot) =>
      db
        .selectFrom('tool_executions')
        .select('id')
        .where('due_at', 'is not', null)
        .where('due_at', '<=', slot.integer('until'))
        .where(isOpen)
        .orderBy('due_at')
        .limit(slot.integer('limit')),
    );
  }

  leftoverExecutions(limit: number): Unit<readonly ExecutionRow[]> {
    return this.query(
      'tool_executions:leftover',
      { of: 'tool_executions' },
      { limit, no: false },
      (db, slot) =>
        db
          .selectFrom('tool_executions')
          .selectAll()
          .where('run_id', 'is not', null)
          .where(isOpen)
          .where('cancel_requested', '=', slot.column('tool_executions', 'cancel_requested', 'no'))
          .where((eb) =>
            eb.not(
              eb.exists(
                eb
                  .selectFrom('runs')
                  .select(sql.lit(1).as('one'))
                  .whereRef('runs.id', '=', 'tool_executions.run_id')
                  .where('runs.status', '=', sql.lit('running' as const)),
              ),
            ),
          )
          .limit(slot.integer('limit')),
    );
  }

  *policyVersion(userId: string): Unit<number> {
    const found = yield* this.first<{ version: number }>('policyVersion', {}, { userId }, (db, slot) =>
      db.selectFrom('policies').select('version').where('id', '=', slot.text('userId')),
    );
    return found?.version ?? 0;
  }

  liveNodes(since: number): Unit<readonly NodeRow[]> {
    return this.query('nodes:live', { of: 'nodes' }, { since }, (db, slot) =>
      db.selectFrom('nodes').selectAll().where('seen_at', '>', slot.integer('since')).orderBy('id'),
    );
  }

  tokensOf(userId: string): Unit<readonly TokenRow[]> {
    return this.#ofUser('tokens', userId);
  }

  countRejections(
    userId: string,
    call: { readonly paramsDigest: string; readonly sessionId: string; readonly requestedBy: string | null },
  ): Unit<number> {
    return this.count('countRejections', {}, { userId, ...call }, (db, slot) =>
      db
        .selectFrom('tool_executions')
        .select((eb) => eb.fn.countAll().as('count'))
        .where('params_digest', '=', slot.text('paramsDigest'))
        .where('user_id', '=', slot.text('userId'))
        .where('status', '=', sql.lit('rejected' as const))
        .where((eb) =>
          eb.or([
            eb('session_id', '=', slot.text('sessionId')),
            eb('requested_by', '=', slot.text('requestedBy')),
          ]),
        ),
    );
  }

  history(userId: string, filter: HistoryFilter): Unit<readonly ExecutionRow[]> {
    const { words, ...rest } = filter;
    return this.rows(historyStatement(this.statements, filter), {
      ...rest,
      ...wordValues(words ?? []),
      userId,
      beforeCreatedAt: filter.before?.createdAt,
      beforeId: filter.before?.id,
    });
  }

  metrics(userId: string, filter: MetricsFilter): ReturnType<Reading['metrics']> {
    return this.rows(metricsStatement(this.statements, filter), { userId, ...filter });
  }

  metricsSeries(
    userId: string,
    filter: MetricsFilter & { readonly bucketMs: number },
  ): ReturnType<Reading['metricsSeries']> {
    return this.rows(metricsSeriesStatement(this.statements, filter), { userId, ...filter });
  }

  events(userId: string, after: number, limit: number): Unit<readonly StoredEvent[]> {
    return this.query('events:after', { of: 'events' }, { userId, after, limit }, (db, slot) =>
      db
        .selectFrom('events')
        .selectAll()
        .where('user_id', '=', slot.text('userId'))
        .where('id', '>', slot.integer('after'))
        .orderBy('id')
        .limit(slot.integer('limit')),
    );
  }

  *eventBounds(userId: string): Unit<{ readonly oldest: number; readonly newest: number }> {
    const row = yield* this.first<{ newest: number; oldest: number | null }>(
      'eventBounds',
      {},
      { userId },
      (db, slot) =>
        db
          .selectFrom('counters')
          .where('user_id', '=', slot.text('userId'))
          .select((eb) => [
            'event_id as newest',
            eb
              .selectFrom('events')
              .whereRef('events.user_id', '=', 'counters.user_id')
              .select((inner) => inner.fn.min('events.id').as('oldest'))
              .as('oldest'),
          ]),
    );
    if (row === undefined || row.newest === 0) return { oldest: 0, newest: 0 };
    return { oldest: row.oldest ?? row.newest + 1, newest: row.newest };
  }

  audit(userId: string, after: number, limit: number): Unit<readonly AuditRow[]> {
    return this.query('audit:after', { of: 'audit' }, { userId, after, limit }, (db, slot) =>
      db
        .selectFrom('audit')
        .selectAll()
        .where('user_id', '=', slot.text('userId'))
        .where('seq', '>', slot.integer('after'))
        .orderBy('seq')
        .limit(slot.integer('limit')),
    );
  }

  *auditHead(userId: string): Unit<{ readonly seq: number; readonly hash: string }> {
    const row = yield* this.first<{ seq: number; hash: string }>('auditHead', {}, { userId }, (db, slot) =>
      db
        .selectFrom('counters')
        .select(['audit_seq as seq', 'audit_head as hash'])
        .where('user_id', '=', slot.text('userId')),
    );
    return row ?? { seq: 0, hash: auditGenesis };
  }

  /** The next person with an audit log, by id. Looks in both tables, because rows of either may have been removed. */
  *nextAuditedUser(after: string): Unit<string | undefined> {
    const found = yield* this.first<{ next: string | null }>('nextAuditedUser', {}, { after }, (db, slot) => {
      const query = sql`select min(user_id) as next from (
        select min(user_id) as user_id from counters where user_id > ${slot.text('after')}
        union all select min(user_id) as user_id from audit where user_id > ${slot.text('after')}) as both_tables`;
      return { compile: () => query.compile(db) };
    });
    return found?.next ?? undefined;
  }

  /** Runs a query that is compiled once under its key. `values` fill its slots. */
  query<Row>(...[key, options, values, build]: Query): Unit<readonly Row[]> {
    return this.rows(this.statements.prepare(key, options, build), values);
  }

  *first<Row>(...query: Query): Unit<Row | undefined> {
    return (yield* this.query<Row>(...query))[0];
  }

  *count(...query: Query): Unit<number> {
    return (yield* this.first<{ count: number }>(...query))?.count ?? 0;
  }

  *rows<Row>(statement: Statement, values: Values): Unit<readonly Row[]> {
    const { rows } = (yield this.statements.step(statement, values)) as StepResult;
    return rows as readonly Row[];
  }

  /** Runs a statement whose result matters only if it fails: PostgreSQL gets the next one before it has answered. */
  *runUnawaited(...[key, options, values, build]: Query): Unit<void> {
    yield { ...this.statements.step(this.statements.prepare(key, options, build), values), unawaited: true };
  }
}
