import {
  type ApprovalRow,
  type AuditRow,
  approvalsAtOnce,
  auditGenesis,
  columnsOf,
  type ExecutionRow,
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
import type { ExecutionStatus } from '@countersign/protocol';
import { type AliasedRawBuilder, sql } from 'kysely';
import { historyStatement, metricsSeriesStatement, metricsStatement } from './history-queries.ts';
import { isOpen, openStatuses } from './migrations.ts';
import type { Slots, Statement, Statements, StepResult } from './statements.ts';

/** Selects a large column only if it is small enough; otherwise the database does not read it. */
const unlessLarge = <C extends string>(column: C, size: string): AliasedRawBuilder<never, C> =>
  sql<never>`case when ${sql.ref(size)} <= ${sql.lit(largestShown)} then ${sql.ref(column)} end`.as(column);
const smallColumns = Object.keys(columnsOf.approvals).filter(
  (column): column is keyof ApprovalRow => column !== 'preview',
);

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

  *get<K extends TableName>(table: K, id: string): Unit<Tables[K] | undefined> {
    const { locking } = this;
    const statement = this.statements.prepare(`get:${table}:${locking}`, { of: table }, (db, slot) => {
      const query = db
        .selectFrom(table as 'projects')
        .selectAll()
        .where('id', '=', slot.text('id'));
      return locking ? query.forUpdate() : query;
    });
    const { rows } = (yield this.statements.step(statement, { id })) as StepResult;
    return rows[0] as Tables[K] | undefined;
  }

  *peekApproval(approvalId: string): Unit<{ readonly tool_id: string } | undefined> {
    const statement = this.statements.prepare('peekApproval', {}, (db, slot) =>
      db.selectFrom('approvals').select('tool_id').where('id', '=', slot.text('approvalId')),
    );
    return (yield* this.rows<{ tool_id: string }>(statement, { approvalId }))[0];
  }

  *projectsOf(userId: string): Unit<readonly ProjectRow[]> {
    const statement = this.statements.prepare('projects:of-user', { of: 'projects' }, (db, slot) =>
      db
        .selectFrom('projects')
        .selectAll()
        .where('user_id', '=', slot.text('userId'))
        .orderBy('created_at')
        .orderBy('id'),
    );
    return yield* this.rows(statement, { userId });
  }

  *sessionsOf(userId: string, projectId: string, limit: number): Unit<readonly SessionRow[]> {
    const statement = this.statements.prepare('sessions:of-project', { of: 'sessions' }, (db, slot) =>
      db
        .selectFrom('sessions')
        .selectAll()
        .where('user_id', '=', slot.text('userId'))
        .where('project_id', '=', slot.text('projectId'))
        .where(sql<boolean>`(opened_by is null or last_message_at is not null)`) // as the index has it
        .orderBy('last_message_at', (order) => order.desc().nullsLast())
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(slot.integer('limit')),
    );
    return yield* this.rows(statement, { userId, projectId, limit });
  }

  *sessionOpenedBy(userId: string, projectId: string, tokenId: string): Unit<SessionRow | undefined> {
    const statement = this.statements.prepare('sessions:opened-by', { of: 'sessions' }, (db, slot) =>
      db
        .selectFrom('sessions')
        .selectAll()
        .where('opened_by', '=', slot.text('tokenId'))
        .where('user_id', '=', slot.text('userId'))
        .where('project_id', '=', slot.text('projectId'))
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(1),
    );
    const [newest] = yield* this.rows<SessionRow>(statement, { userId, projectId, tokenId });
    return newest;
  }

  *messagesOf(
    sessionId: string,
    { after, limit }: { after?: number; limit: number },
  ): Unit<readonly MessageRow[]> {
    const statement = this.statements.prepare('messages:of-session', { of: 'messages' }, (db, slot) =>
      db
        .selectFrom('messages')
        .selectAll()
        .where('session_id', '=', slot.text('sessionId'))
        .where('position', '>', slot.integer('after'))
        .orderBy('position')
        .limit(slot.integer('limit')),
    );
    return yield* this.rows(statement, { sessionId, after: after ?? Number.MIN_SAFE_INTEGER, limit });
  }

  *modelsOf(sessionId: string, positions: { from: number; to: number }): Unit<ReadonlyMap<string, string>> {
    const statement = this.statements.prepare('models:of-messages', {}, (db, slot) =>
      db
        .selectFrom('messages')
        .innerJoin('runs', 'runs.id', 'messages.run_id')
        .select(['runs.id', 'runs.model'])
        .distinct()
        .where('messages.session_id', '=', slot.text('sessionId'))
        .where('messages.position', '>=', slot.integer('from'))
        .where('messages.position', '<=', slot.integer('to')),
    );
    const rows = yield* this.rows<Pick<RunRow, 'id' | 'model'>>(statement, { sessionId, ...positions });
    return new Map(rows.map(({ id, model }) => [id, model]));
  }

  *lastPosition(sessionId: string): Unit<number> {
    const statement = this.statements.prepare('lastPosition', {}, (db, slot) =>
      db
        .selectFrom('messages')
        .select((eb) => eb.fn.max('position').as('last'))
        .where('session_id', '=', slot.text('sessionId')),
    );
    return (yield* this.rows<{ last: number | null }>(statement, { sessionId }))[0]?.last ?? 0;
  }

  *orphanedRuns(now: number, limit: number): Unit<readonly RunRow[]> {
    const { locking } = this;
    const statement = this.statements.prepare(`runs:orphaned:${locking}`, { of: 'runs' }, (db, slot) => {
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
    return yield* this.rows(statement, { now, limit });
  }

  *activeRunOf(sessionId: string): Unit<RunRow | undefined> {
    const statement = this.statements.prepare('runs:active', { of: 'runs' }, (db, slot) =>
      db
        .selectFrom('runs')
        .selectAll()
        .where('session_id', '=', slot.text('sessionId'))
        .where('status', '=', sql.lit('running' as const))
        .orderBy('created_at', 'desc')
        .limit(1),
    );
    return (yield* this.rows<RunRow>(statement, { sessionId }))[0];
  }

  *executionOfCall(runId: string, step: number, index: number): Unit<ExecutionRow | undefined> {
    const { locking } = this;
    const statement = this.statements.prepare(
      `tool_executions:of-call:${locking}`,
      { of: 'tool_executions' },
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
    return (yield* this.rows<ExecutionRow>(statement, { runId, step, index }))[0];
  }

  *openExecutionsOf(
    userId: string,
    runnerId: string,
  ): Unit<readonly Pick<ExecutionRow, 'id' | 'status' | 'attempt'>[]> {
    const statement = this.statements.prepare('tool_executions:open', {}, (db, slot) =>
      db
        .selectFrom('tool_executions')
        .select(['id', 'status', 'attempt'])
        .where('runner_id', '=', slot.text('runnerId'))
        .where('user_id', '=', slot.text('userId'))
        .where(isOpen)
        .orderBy('created_at')
        .orderBy('id'),
    );
    return yield* this.rows(statement, { userId, runnerId });
  }

  *unassignedExecutions(userId: string): Unit<readonly ExecutionRow[]> {
    const statement = this.statements.prepare(
      'tool_executions:unassigned',
      { of: 'tool_executions' },
      (db, slot) =>
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
    return yield* this.rows(statement, { userId });
  }

  *executionsIn(statuses: readonly ExecutionStatus[]): Unit<readonly ExecutionRow[]> {
    if (statuses.length === 0) return [];
    const open = statuses.every((status) => openStatuses.includes(status));
    const names = statuses.map((_, place) => `status${place}`);
    const statement = this.statements.prepare(
      `tool_executions:in:${names.length}:${open}`,
      { of: 'tool_executions' },
      (db, slot) => {
        const found = db
          .selectFrom('tool_executions')
          .selectAll()
          .where(
            'status',
            'in',
            names.map((name) => slot.text(name) as ExecutionStatus),
          )
          .orderBy('created_at')
          .orderBy('id');
        return open ? found.where(isOpen) : found;
      },
    );
    return yield* this.rows(
      statement,
      Object.fromEntries(names.map((name, place) => [name, statuses[place]])),
    );
  }

  *pendingApprovals(userId: string): Unit<readonly Pick<ApprovalRow, 'id' | 'tool_id'>[]> {
    const statement = this.statements.prepare('approvals:pending', {}, (db, slot) =>
      db
        .selectFrom('approvals')
        .select(['id', 'tool_id'])
        .where('user_id', '=', slot.text('userId'))
        .where('status', '=', sql.lit('pending' as const))
        .orderBy('created_at')
        .orderBy('id'),
    );
    return yield* this.rows(statement, { userId });
  }

  *shownApprovals(ids: readonly string[]): Unit<readonly ShownApproval[]> {
    const statement = this.statements.prepare('approvals:shown', { of: 'approvals' }, (db, slot) =>
      db
        .selectFrom('approvals')
        .select([...smallColumns, unlessLarge('preview', 'preview_size')])
        .where('id', 'in', listSlots(slot))
        .where('status', '=', sql.lit('pending' as const))
        .orderBy('created_at')
        .orderBy('id'),
    );
    const approvals = yield* this.rows<ApprovalRow>(statement, listValues(ids));
    const payloads = yield* this.#shownPayloads(approvals.map(({ tool_id }) => tool_id));
    return approvals.map((approval) => ({
      approval,
      payload: payloads.get(approval.tool_id) ?? noPayload,
    }));
  }

  *#shownPayloads(toolIds: readonly string[]): Unit<ReadonlyMap<string, ShownPayload>> {
    const statement = this.statements.prepare('shownPayloads', { of: 'payloads' }, (db, slot) =>
      db
        .selectFrom('payloads')
        .select(['id', 'description', 'offered_scopes', unlessLarge('params', 'params_size')])
        .where('id', 'in', listSlots(slot)),
    );
    const rows = yield* this.rows<ShownPayload & { readonly id: string }>(statement, listValues(toolIds));
    return new Map(rows.map(({ id, ...shown }) => [id, shown]));
  }

  *shownPayload(toolId: string): Unit<ShownPayload> {
    const statement = this.statements.prepare('shownPayload', { of: 'payloads' }, (db, slot) =>
      db
        .selectFrom('payloads')
        .select(['description', 'offered_scopes', unlessLarge('params', 'params_size')])
        .where('id', '=', slot.text('toolId')),
    );
    const [found] = yield* this.rows<ShownPayload>(statement, { toolId });
    return found ?? noPayload;
  }

  *editedParams(toolId: string): Unit<JsonObject | null> {
    const statement = this.statements.prepare('editedParams', { of: 'payloads' }, (db, slot) =>
      db
        .selectFrom('payloads')
        .select('params')
        .where('id', '=', slot.text('toolId'))
        .where('requested_params', 'is not', null),
    );
    const [found] = yield* this.rows<Pick<PayloadRow, 'params'>>(statement, { toolId });
    return found?.params ?? null;
  }

  *pendingInProject(userId: string, projectId: string): Unit<readonly PendingRequest[]> {
    const statement = this.statements.prepare('pendingInProject', {}, (db, slot) =>
      db
        .selectFrom('approvals')
        .select(['id', 'session_id', 'tool_name'])
        .where('user_id', '=', slot.text('userId'))
        .where('project_id', '=', slot.text('projectId'))
        .where('status', '=', sql.lit('pending' as const))
        .orderBy('created_at')
        .orderBy('id'),
    );
    return yield* this.rows(statement, { userId, projectId });
  }

  *countPendingApprovals(sessionId: string): Unit<number> {
    const statement = this.statements.prepare('countPendingApprovals', {}, (db, slot) =>
      db
        .selectFrom('approvals')
        .select((eb) => eb.fn.countAll().as('count'))
        .where('session_id', '=', slot.text('sessionId'))
        .where('status', '=', sql.lit('pending' as const)),
    );
    return yield* this.count(statement, { sessionId });
  }

  *countAwaiting(userId: string, requestedBy: string): Unit<number> {
    const statement = this.statements.prepare('countAwaiting', {}, (db, slot) =>
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
    return yield* this.count(statement, { userId, requestedBy });
  }

  *soonestDeadlines(limit: number): Unit<readonly Pick<ApprovalRow, 'id' | 'deadline_at'>[]> {
    const statement = this.statements.prepare('soonestDeadlines', {}, (db, slot) =>
      db
        .selectFrom('approvals')
        .select(['id', 'deadline_at'])
        .where('status', '=', sql.lit('pending' as const))
        .orderBy('deadline_at')
        .orderBy('id')
        .limit(slot.integer('limit')),
    );
    return yield* this.rows(statement, { limit });
  }

  *liveGrants(userId: string, projectId: string, now: number): Unit<readonly GrantRow[]> {
    const statement = this.statements.prepare('grants:live', { of: 'grants' }, (db, slot) =>
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
    return yield* this.rows(statement, { userId, projectId, now });
  }

  *grantsOf(userId: string): Unit<readonly GrantRow[]> {
    const statement = this.statements.prepare('grants:of-user', { of: 'grants' }, (db, slot) =>
      db
        .selectFrom('grants')
        .selectAll()
        .where('user_id', '=', slot.text('userId'))
        .orderBy('created_at')
        .orderBy('id'),
    );
    return yield* this.rows(statement, { userId });
  }

  *runnersOf(userId: string): Unit<readonly RunnerRow[]> {
    const statement = this.statements.prepare('runners:of-user', { of: 'runners' }, (db, slot) =>
      db.selectFrom('runners').selectAll().where('user_id', '=', slot.text('userId')).orderBy('id'),
    );
    return yield* this.rows(statement, { userId });
  }

  *presentRunners(userId: string, workspace: string, since: number): Unit<readonly string[]> {
    const statement = this.statements.prepare('presentRunners', {}, (db, slot) =>
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
    const values = { userId, workspace, since, connected: true };
    return (yield* this.rows<{ runner_id: string }>(statement, values)).map(({ runner_id }) => runner_id);
  }

  *silentRunners(since: number, limit: number): Unit<readonly RunnerRow[]> {
    const statement = this.statements.prepare('runners:silent', { of: 'runners' }, (db, slot) =>
      db
        .selectFrom('runners')
        .selectAll()
        .where('connected', '=', slot.column('runners', 'connected', 'connected'))
        .where('last_seen_at', '<=', slot.integer('since'))
        .orderBy('last_seen_at')
        .limit(slot.integer('limit')),
    );
    return yield* this.rows(statement, { since, limit, connected: true });
  }

  *strandedExecutions(limit: number): Unit<readonly ExecutionRow[]> {
    const statement = this.statements.prepare(
      'tool_executions:stranded',
      { of: 'tool_executions' },
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
                  // `runnerKey`, as the rows have it.
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
    return yield* this.rows(statement, { limit, connected: true });
  }

  *dueExecutions(until: number, limit: number): Unit<readonly { readonly id: string }[]> {
    const statement = this.statements.prepare('dueExecutions', {}, (db, slot) =>
      db
        .selectFrom('tool_executions')
        .select('id')
        .where('due_at', 'is not', null)
        .where('due_at', '<=', slot.integer('until'))
        .where(isOpen)
        .orderBy('due_at')
        .limit(slot.integer('limit')),
    );
    return yield* this.rows(statement, { until, limit });
  }

  *leftoverExecutions(limit: number): Unit<readonly ExecutionRow[]> {
    const statement = this.statements.prepare(
      'tool_executions:leftover',
      { of: 'tool_executions' },
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
    return yield* this.rows(statement, { limit, no: false });
  }

  *policyVersion(userId: string): Unit<number> {
    const statement = this.statements.prepare('policyVersion', {}, (db, slot) =>
      db.selectFrom('policies').select('version').where('id', '=', slot.text('userId')),
    );
    return (yield* this.rows<{ version: number }>(statement, { userId }))[0]?.version ?? 0;
  }

  *liveNodes(since: number): Unit<readonly NodeRow[]> {
    const statement = this.statements.prepare('nodes:live', { of: 'nodes' }, (db, slot) =>
      db.selectFrom('nodes').selectAll().where('seen_at', '>', slot.integer('since')).orderBy('id'),
    );
    return yield* this.rows(statement, { since });
  }

  *tokensOf(userId: string): Unit<readonly TokenRow[]> {
    const statement = this.statements.prepare('tokens:of-user', { of: 'tokens' }, (db, slot) =>
      db
        .selectFrom('tokens')
        .selectAll()
        .where('user_id', '=', slot.text('userId'))
        .orderBy('created_at')
        .orderBy('id'),
    );
    return yield* this.rows(statement, { userId });
  }

  *countRejections(
    userId: string,
    call: { readonly paramsDigest: string; readonly sessionId: string; readonly requestedBy: string | null },
  ): Unit<number> {
    const statement = this.statements.prepare('countRejections', {}, (db, slot) =>
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
    return yield* this.count(statement, { userId, ...call });
  }

  *history(userId: string, filter: HistoryFilter): Unit<readonly ExecutionRow[]> {
    return yield* this.rows(historyStatement(this.statements, filter), {
      ...filter,
      userId,
      beforeCreatedAt: filter.before?.createdAt,
      beforeId: filter.before?.id,
    });
  }

  *metrics(userId: string, filter: MetricsFilter): ReturnType<Reading['metrics']> {
    return yield* this.rows(metricsStatement(this.statements, filter), { userId, ...filter });
  }

  *metricsSeries(
    userId: string,
    filter: MetricsFilter & { readonly bucketMs: number },
  ): ReturnType<Reading['metricsSeries']> {
    return yield* this.rows(metricsSeriesStatement(this.statements, filter), { userId, ...filter });
  }

  *events(userId: string, after: number, limit: number): Unit<readonly StoredEvent[]> {
    const statement = this.statements.prepare('events:after', { of: 'events' }, (db, slot) =>
      db
        .selectFrom('events')
        .selectAll()
        .where('user_id', '=', slot.text('userId'))
        .where('id', '>', slot.integer('after'))
        .orderBy('id')
        .limit(slot.integer('limit')),
    );
    return yield* this.rows(statement, { userId, after, limit });
  }

  *eventBounds(userId: string): Unit<{ readonly oldest: number; readonly newest: number }> {
    const statement = this.statements.prepare('eventBounds', {}, (db, slot) =>
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
    const [row] = yield* this.rows<{ newest: number; oldest: number | null }>(statement, { userId });
    if (row === undefined || row.newest === 0) return { oldest: 0, newest: 0 };
    return { oldest: row.oldest ?? row.newest + 1, newest: row.newest };
  }

  *audit(userId: string, after: number, limit: number): Unit<readonly AuditRow[]> {
    const statement = this.statements.prepare('audit:after', { of: 'audit' }, (db, slot) =>
      db
        .selectFrom('audit')
        .selectAll()
        .where('user_id', '=', slot.text('userId'))
        .where('seq', '>', slot.integer('after'))
        .orderBy('seq')
        .limit(slot.integer('limit')),
    );
    return yield* this.rows(statement, { userId, after, limit });
  }

  *auditHead(userId: string): Unit<{ readonly seq: number; readonly hash: string }> {
    const statement = this.statements.prepare('auditHead', {}, (db, slot) =>
      db
        .selectFrom('counters')
        .select(['audit_seq as seq', 'audit_head as hash'])
        .where('user_id', '=', slot.text('userId')),
    );
    const [row] = yield* this.rows<{ seq: number; hash: string }>(statement, { userId });
    return row ?? { seq: 0, hash: auditGenesis };
  }

  /** The next person with an audit log, by id. Looks in both tables, because rows of either may have been removed. */
  *nextAuditedUser(after: string): Unit<string | undefined> {
    const statement = this.statements.prepare('nextAuditedUser', {}, (db, slot) => {
      const query = sql`select min(user_id) as next from (
        select min(user_id) as user_id from counters where user_id > ${slot.text('after')}
        union all select min(user_id) as user_id from audit where user_id > ${slot.text('after')}) as both_tables`;
      return { compile: () => query.compile(db) };
    });
    return (yield* this.rows<{ next: string | null }>(statement, { after }))[0]?.next ?? undefined;
  }

  *rows<Row>(statement: Statement, values: Readonly<Record<string, unknown>>): Unit<readonly Row[]> {
    const { rows } = (yield this.statements.step(statement, values)) as StepResult;
    return rows as readonly Row[];
  }

  *changes(statement: Statement, values: Readonly<Record<string, unknown>>): Unit<number> {
    const { changes } = (yield this.statements.step(statement, values)) as StepResult;
    return changes;
  }

  /** For a statement whose result does not matter unless it fails: over a network, nothing waits for its answer. */
  *runUnawaited(statement: Statement, values: Readonly<Record<string, unknown>>): Unit<void> {
    yield { ...this.statements.step(statement, values), unawaited: true };
  }

  *count(statement: Statement, values: Readonly<Record<string, unknown>>): Unit<number> {
    return (yield* this.rows<{ count: number }>(statement, values))[0]?.count ?? 0;
  }
}
