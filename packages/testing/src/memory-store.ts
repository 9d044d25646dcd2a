// biome-ignore-all lint/correctness/useYield: a unit here has nothing to wait for (docs/decisions/0002)
import {
  type Announcement,
  type ApprovalRow,
  type AuditRow,
  auditGenesis,
  type Bus,
  DuplicateRow,
  type ExecutionRow,
  type GrantRow,
  type Hint,
  type HistoryFilter,
  type JsonObject,
  largestShown,
  type MessageRow,
  type MetricsFilter,
  type MetricsPoint,
  type NodeRow,
  numberAnnounced,
  type PendingRequest,
  type ProjectRow,
  type RunnerRow,
  type RunRow,
  runnerKey,
  type SessionRow,
  type ShownApproval,
  type ShownPayload,
  type Store,
  type StoredEvent,
  type TableName,
  type Tables,
  type TokenRow,
  type ToolMetricsRow,
  type Transaction,
  type Unit,
} from '@countersign/engine';
import { type ExecutionStatus, isFinal } from '@countersign/protocol';
import { toolMetrics } from './memory-metrics.ts';

export interface MemoryStoreOptions {
  readonly bus?: Bus;
  /** Milliseconds since 1970; the system's unless a test has its own. */
  readonly now?: () => number;
  /** As a database that several servers write. */
  readonly isShared?: boolean;
}

/** A store in maps, with the promises of the databases: units are whole or nothing, ids have no gaps. */
export function memoryStore({ bus, now = Date.now, isShared = false }: MemoryStoreOptions = {}): Store {
  const tables = new MemoryTables();
  let open = true;
  let waiting = 0;
  const refuseIfClosed = () => {
    if (!open) throw new Error('The store is closed.');
  };
  return {
    now,
    get backlog() {
      return waiting;
    },
    isShared,
    async write(unit) {
      refuseIfClosed();
      // As with a database, a unit begins when its caller has gone on.
      waiting += 1;
      await undefined;
      waiting -= 1;
      const tx = new MemoryTransaction(tables);
      let events: readonly StoredEvent[];
      let value: Awaited<ReturnType<typeof unit>> | unknown;
      try {
        value = drive(unit(tx));
        events = tx.finish(now());
      } catch (error) {
        tx.undo();
        throw error;
      }
      const newest = events.at(-1);
      if (newest !== undefined) {
        const hint: Hint = { kind: 'events', userId: newest.user_id, newest: newest.id, events };
        // After the promise: who waited for the commit hears of it first.
        queueMicrotask(() => bus?.publish(hint));
      }
      return value as never;
    },
    async read(unit) {
      refuseIfClosed();
      return drive(unit(new MemoryTransaction(tables)));
    },
    async close() {
      open = false;
    },
  };
}

class MemoryTables {
  readonly rows = new Map<TableName, Map<string, object>>();
  readonly events = new Map<string, StoredEvent[]>();
  readonly audit = new Map<string, AuditRow[]>();

  of<K extends TableName>(table: K): Map<string, Tables[K]> {
    let rows = this.rows.get(table);
    if (rows === undefined) {
      rows = new Map();
      this.rows.set(table, rows);
    }
    return rows as Map<string, Tables[K]>;
  }
}

/** What a unit of the memory store yields: nothing. */
function drive<T>(unit: Unit<T>): T {
  const step = unit.next();
  if (!step.done) throw new Error('A unit of the memory store has nothing to wait for.');
  return step.value;
}

class MemoryTransaction implements Transaction {
  readonly #tables: MemoryTables;
  readonly #undo: (() => void)[] = [];
  #userId: string | undefined;
  readonly #events: NonNullable<Announcement['events']>[number][] = [];
  readonly #audit: NonNullable<Announcement['audit']>[number][] = [];

  constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  *get<K extends TableName>(table: K, id: string): Unit<Tables[K] | undefined> {
    const row = this.#tables.of(table).get(id);
    return row === undefined ? undefined : structuredClone(row);
  }

  *insert<K extends TableName>(table: K, row: Tables[K]): Unit<void> {
    const rows = this.#tables.of(table);
    if (rows.has(row.id) || this.#breaksUniqueKey(table, row)) {
      throw new DuplicateRow(`${table} has a row with the key of ${row.id} already`);
    }
    rows.set(row.id, structuredClone(row));
    this.#undo.push(() => rows.delete(row.id));
  }

  *update<K extends TableName>(table: K, id: string, patch: Partial<Tables[K]>): Unit<boolean> {
    const rows = this.#tables.of(table);
    const before = rows.get(id);
    if (before === undefined) return false;
    const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
    rows.set(id, { ...before, ...structuredClone(given) } as Tables[K]);
    this.#undo.push(() => rows.set(id, before));
    return true;
  }

  *renewLeases(
    node: string,
    until: number,
  ): Unit<readonly { readonly id: string; readonly epoch: number }[]> {
    const held = this.#select('runs', (row) => row.status === 'running' && row.lease_owner === node, byAge);
    for (const { id } of held) yield* this.update('runs', id, { lease_until: until });
    return held.map(({ id, epoch }) => ({ id, epoch }));
  }

  *hearRunners(at: number, now: number): Unit<void> {
    for (const { id, connected, last_seen_at } of this.#tables.of('runners').values())
      if (connected && (last_seen_at < at || last_seen_at > now))
        yield* this.update('runners', id, { last_seen_at: at });
  }

  *hearNodes(now: number): Unit<void> {
    for (const { id, seen_at } of this.#tables.of('nodes').values())
      if (seen_at > now) yield* this.update('nodes', id, { seen_at: now });
  }

  *shortenLeases(until: number): Unit<void> {
    for (const { id, status, lease_until } of this.#tables.of('runs').values())
      if (status === 'running' && lease_until !== null && lease_until > until)
        yield* this.update('runs', id, { lease_until: until });
  }

  *countGrantUse(grantId: string): Unit<void> {
    const grant = this.#tables.of('grants').get(grantId);
    if (grant !== undefined) yield* this.update('grants', grantId, { uses: grant.uses + 1 });
  }

  announce(userId: string, { events = [], audit = [] }: Announcement): void {
    if (this.#userId !== undefined && this.#userId !== userId) {
      throw new Error('A unit of writing announces things of one person: each has a counter, the last lock.');
    }
    this.#userId = userId;
    this.#events.push(...events);
    this.#audit.push(...audit);
  }

  /** Nothing here can fail, so it needs no undoing. */
  finish(at: number): readonly StoredEvent[] {
    const user_id = this.#userId;
    if (user_id === undefined) return [];
    const kept = listOf(this.#tables.events, user_id);
    const log = listOf(this.#tables.audit, user_id);
    const announced = { userId: user_id, events: this.#events, audit: this.#audit };
    const before = {
      event_id: kept.length,
      audit_seq: log.length,
      audit_head: log.at(-1)?.hash ?? auditGenesis,
    };
    const { events, audit } = structuredClone(numberAnnounced(announced, before, at));
    kept.push(...events);
    log.push(...audit);
    return events;
  }

  undo(): void {
    for (const step of this.#undo.reverse()) step();
  }

  *peekApproval(approvalId: string): Unit<{ readonly tool_id: string } | undefined> {
    const approval = this.#tables.of('approvals').get(approvalId);
    return approval === undefined ? undefined : { tool_id: approval.tool_id };
  }

  *projectsOf(userId: string): Unit<readonly ProjectRow[]> {
    return this.#select('projects', (row) => row.user_id === userId, byAge);
  }

  *sessionsOf(userId: string, projectId: string, limit: number): Unit<readonly SessionRow[]> {
    const isWanted = (row: SessionRow) =>
      row.user_id === userId &&
      row.project_id === projectId &&
      (row.opened_by === null || row.last_message_at !== null);
    return this.#select('sessions', isWanted, byLastWord).slice(0, limit);
  }

  *sessionOpenedBy(userId: string, projectId: string, tokenId: string): Unit<SessionRow | undefined> {
    const isWanted = (row: SessionRow) =>
      row.user_id === userId && row.project_id === projectId && row.opened_by === tokenId;
    return this.#select('sessions', isWanted, byAge).at(-1);
  }

  *messagesOf(
    sessionId: string,
    { after = Number.NEGATIVE_INFINITY, limit }: { after?: number; limit: number },
  ): Unit<readonly MessageRow[]> {
    return this.#select(
      'messages',
      (row) => row.session_id === sessionId && row.position > after,
      (a, b) => a.position - b.position,
    ).slice(0, limit);
  }

  *modelsOf(
    sessionId: string,
    { from, to }: { from: number; to: number },
  ): Unit<ReadonlyMap<string, string>> {
    const runs = [...this.#tables.of('messages').values()]
      .filter((row) => row.session_id === sessionId && row.position >= from && row.position <= to)
      .map(({ run_id }) => this.#tables.of('runs').get(run_id ?? ''));
    return new Map(runs.flatMap((run) => (run ? [[run.id, run.model] as const] : [])));
  }

  *lastPosition(sessionId: string): Unit<number> {
    const positions = [...this.#tables.of('messages').values()]
      .filter((row) => row.session_id === sessionId)
      .map((row) => row.position);
    return positions.length === 0 ? 0 : Math.max(...positions);
  }

  *orphanedRuns(now: number, limit: number): Unit<readonly RunRow[]> {
    return this.#select(
      'runs',
      (row) =>
        row.status === 'running' &&
        (row.lease_owner === null || row.lease_until === null || row.lease_until <= now),
      (a, b) => (a.lease_until ?? 0) - (b.lease_until ?? 0) || byAge(a, b),
    ).slice(0, limit);
  }

  *activeRunOf(sessionId: string): Unit<RunRow | undefined> {
    return this.#select('runs', (row) => row.session_id === sessionId && row.status === 'running', byAge).at(
      -1,
    );
  }

  *executionOfCall(runId: string, step: number, index: number): Unit<ExecutionRow | undefined> {
    return this.#select(
      'tool_executions',
      (row) => row.run_id === runId && row.step === step && row.call_index === index,
      byAge,
    )[0];
  }

  *openExecutionsOf(userId: string, runnerId: string): Unit<readonly ExecutionRow[]> {
    return this.#select(
      'tool_executions',
      (row) => row.user_id === userId && row.runner_id === runnerId && !isFinal(row.status),
      byAge,
    );
  }

  *unassignedExecutions(userId: string): Unit<readonly ExecutionRow[]> {
    return this.#select(
      'tool_executions',
      (row) =>
        row.user_id === userId &&
        row.runner_id === null &&
        (row.status === 'approved' || (row.status === 'executing' && row.risk_level === 'LOW')),
      byAge,
    );
  }

  *executionsIn(statuses: readonly ExecutionStatus[]): Unit<readonly ExecutionRow[]> {
    return this.#select('tool_executions', (row) => statuses.includes(row.status), byAge);
  }

  *pendingApprovals(userId: string): Unit<readonly ApprovalRow[]> {
    return this.#select('approvals', (row) => row.user_id === userId && row.status === 'pending', byAge);
  }

  *shownApprovals(ids: readonly string[]): Unit<readonly ShownApproval[]> {
    const shown: ShownApproval[] = [];
    for (const row of this.#select('approvals', ({ id }) => ids.includes(id), byAge)) {
      if (row.status !== 'pending') continue;
      const approval = row.preview_size > largestShown ? { ...row, preview: null } : row;
      shown.push({ approval, payload: yield* this.shownPayload(row.tool_id) });
    }
    return shown;
  }

  *shownPayload(toolId: string): Unit<ShownPayload> {
    const row = this.#tables.of('payloads').get(toolId);
    if (row === undefined) return { description: null, offered_scopes: null, params: null };
    const { description, offered_scopes, params, params_size } = row;
    return structuredClone({
      description,
      offered_scopes,
      params: params_size > largestShown ? null : params,
    });
  }

  *editedParams(toolId: string): Unit<JsonObject | null> {
    const row = this.#tables.of('payloads').get(toolId);
    return row === undefined || row.requested_params === null ? null : structuredClone(row.params);
  }

  *pendingInProject(userId: string, projectId: string): Unit<readonly PendingRequest[]> {
    return (yield* this.pendingApprovals(userId))
      .filter(({ project_id }) => project_id === projectId)
      .map(({ id, session_id, tool_name }) => ({ id, session_id, tool_name }));
  }

  *countPendingApprovals(sessionId: string): Unit<number> {
    return this.#select('approvals', (row) => row.session_id === sessionId && row.status === 'pending', byAge)
      .length;
  }

  *countAwaiting(userId: string, requestedBy: string): Unit<number> {
    return this.#select(
      'tool_executions',
      (row) =>
        row.user_id === userId && row.requested_by === requestedBy && row.status === 'awaiting_approval',
      byAge,
    ).length;
  }

  *soonestDeadlines(limit: number): Unit<readonly Pick<ApprovalRow, 'id' | 'deadline_at'>[]> {
    return this.#select(
      'approvals',
      (row) => row.status === 'pending',
      (a, b) => a.deadline_at - b.deadline_at || byText(a.id, b.id),
    )
      .slice(0, limit)
      .map(({ id, deadline_at }) => ({ id, deadline_at }));
  }

  *liveGrants(userId: string, projectId: string, now: number): Unit<readonly GrantRow[]> {
    return this.#select(
      'grants',
      (row) =>
        row.user_id === userId &&
        row.project_id === projectId &&
        row.revoked_at === null &&
        (row.expires_at === null || row.expires_at > now),
      byAge,
    );
  }

  *grantsOf(userId: string): Unit<readonly GrantRow[]> {
    return this.#select('grants', (row) => row.user_id === userId, byAge);
  }

  *runnersOf(userId: string): Unit<readonly RunnerRow[]> {
    return this.#select(
      'runners',
      (row) => row.user_id === userId,
      (a, b) => byText(a.id, b.id),
    );
  }

  *presentRunners(userId: string, workspace: string, since: number): Unit<readonly string[]> {
    return this.#select(
      'runners',
      (row) =>
        row.user_id === userId && row.workspace === workspace && row.connected && row.last_seen_at > since,
      (a, b) => b.last_seen_at - a.last_seen_at || byText(a.id, b.id),
    ).map(({ runner_id }) => runner_id);
  }

  *silentRunners(since: number, limit: number): Unit<readonly RunnerRow[]> {
    return this.#select(
      'runners',
      (row) => row.connected && row.last_seen_at <= since,
      (a, b) => a.last_seen_at - b.last_seen_at,
    ).slice(0, limit);
  }

  *strandedExecutions(limit: number): Unit<readonly ExecutionRow[]> {
    const runners = this.#tables.of('runners');
    return this.#select(
      'tool_executions',
      (row) =>
        row.runner_id !== null &&
        (row.status === 'approved' || row.status === 'executing') &&
        runners.get(runnerKey(row.user_id, row.runner_id))?.connected !== true,
      byAge,
    ).slice(0, limit);
  }

  *dueExecutions(until: number, limit: number): Unit<readonly { readonly id: string }[]> {
    return this.#select(
      'tool_executions',
      (row) => row.due_at !== null && row.due_at <= until && !isFinal(row.status),
      (a, b) => (a.due_at ?? 0) - (b.due_at ?? 0),
    )
      .slice(0, limit)
      .map(({ id }) => ({ id }));
  }

  *leftoverExecutions(limit: number): Unit<readonly ExecutionRow[]> {
    const runs = this.#tables.of('runs');
    return this.#select(
      'tool_executions',
      (row) =>
        row.run_id !== null &&
        !isFinal(row.status) &&
        !row.cancel_requested &&
        runs.get(row.run_id)?.status !== 'running',
      byAge,
    ).slice(0, limit);
  }

  *policyVersion(userId: string): Unit<number> {
    return this.#tables.of('policies').get(userId)?.version ?? 0;
  }

  *liveNodes(since: number): Unit<readonly NodeRow[]> {
    return this.#select(
      'nodes',
      (row) => row.seen_at > since,
      (a, b) => byText(a.id, b.id),
    );
  }

  *tokensOf(userId: string): Unit<readonly TokenRow[]> {
    return this.#select('tokens', (row) => row.user_id === userId, byAge);
  }

  *countRejections(
    userId: string,
    call: { paramsDigest: string; sessionId: string; requestedBy: string | null },
  ): Unit<number> {
    return this.#select(
      'tool_executions',
      (row) =>
        row.user_id === userId &&
        row.params_digest === call.paramsDigest &&
        row.status === 'rejected' &&
        (row.session_id === call.sessionId || row.requested_by === call.requestedBy),
      byAge,
    ).length;
  }

  *history(userId: string, filter: HistoryFilter): Unit<readonly ExecutionRow[]> {
    return this.#select(
      'tool_executions',
      (row) => row.user_id === userId && fulfils(row, filter),
      (a, b) => byAge(b, a),
    ).slice(0, filter.limit);
  }

  *metrics(userId: string, filter: MetricsFilter): Unit<readonly ToolMetricsRow[]> {
    return toolMetrics(this.#counted(userId, filter), (id) => this.#tables.of('approvals').get(id));
  }

  *metricsSeries(
    userId: string,
    filter: MetricsFilter & { readonly bucketMs: number },
  ): Unit<readonly MetricsPoint[]> {
    const bucketOf = (row: ExecutionRow) => Math.floor((row.created_at - filter.since) / filter.bucketMs);
    const byBucket = Map.groupBy(this.#counted(userId, filter), bucketOf);
    return [...byBucket]
      .sort(([a], [b]) => a - b)
      .flatMap(([bucket, rows]) =>
        toolMetrics(rows, (id) => this.#tables.of('approvals').get(id)).map((row) => ({
          tool_name: row.tool_name,
          bucket,
          total_calls: row.total_calls,
          success_count: row.success_count,
          error_count: row.error_count,
          rejected_count: row.rejected_count,
          avg_execution_time_ms: row.avg_execution_time_ms,
          avg_approval_wait_ms: row.avg_approval_wait_ms,
        })),
      );
  }

  #counted(userId: string, { since, projectId }: MetricsFilter): readonly ExecutionRow[] {
    const isCounted = (row: ExecutionRow) =>
      row.user_id === userId &&
      row.created_at >= since &&
      (projectId === undefined || row.project_id === projectId);
    return this.#select('tool_executions', isCounted, byAge);
  }

  *events(userId: string, after: number, limit: number): Unit<readonly StoredEvent[]> {
    return structuredClone(listOf(this.#tables.events, userId).slice(Math.max(after, 0)).slice(0, limit));
  }

  *eventBounds(userId: string): Unit<{ readonly oldest: number; readonly newest: number }> {
    const newest = listOf(this.#tables.events, userId).length;
    return { oldest: newest === 0 ? 0 : 1, newest };
  }

  *audit(userId: string, after: number, limit: number): Unit<readonly AuditRow[]> {
    return structuredClone(listOf(this.#tables.audit, userId).slice(after, after + limit));
  }

  *auditHead(userId: string): Unit<{ readonly seq: number; readonly hash: string }> {
    const newest = listOf(this.#tables.audit, userId).at(-1);
    return { seq: newest?.seq ?? 0, hash: newest?.hash ?? auditGenesis };
  }

  #select<K extends TableName>(
    table: K,
    wanted: (row: Tables[K]) => boolean,
    order: (a: Tables[K], b: Tables[K]) => number,
  ): Tables[K][] {
    const rows = [...this.#tables.of(table).values()].filter(wanted);
    return structuredClone(rows).sort(order);
  }

  #breaksUniqueKey<K extends TableName>(table: K, row: Tables[K]): boolean {
    const others = [...this.#tables.of(table).values()];
    if (table === 'messages') {
      const { session_id, position } = row as MessageRow;
      return others.some((other) => {
        const message = other as MessageRow;
        return message.session_id === session_id && message.position === position;
      });
    }
    const { run_id, step, call_index } = row as ExecutionRow;
    if (table !== 'tool_executions' || run_id === null || step === null || call_index === null) return false;
    return others.some((other) => {
      const call = other as ExecutionRow;
      return call.run_id === run_id && call.step === step && call.call_index === call_index;
    });
  }
}

function fulfils(row: ExecutionRow, filter: HistoryFilter): boolean {
  const { before, since, until } = filter;
  return (
    (filter.projectId === undefined || row.project_id === filter.projectId) &&
    (filter.sessionId === undefined || row.session_id === filter.sessionId) &&
    (filter.runId === undefined || row.run_id === filter.runId) &&
    (filter.toolName === undefined || row.tool_name === filter.toolName) &&
    (filter.status === undefined || row.status === filter.status) &&
    (filter.riskLevel === undefined || row.risk_level === filter.riskLevel) &&
    (since === undefined || row.created_at >= since) &&
    (until === undefined || row.created_at < until) &&
    (before === undefined || byAge(row, { created_at: before.createdAt, id: before.id }) < 0)
  );
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const byAge = (
  a: { readonly created_at: number; readonly id: string },
  b: { readonly created_at: number; readonly id: string },
): number => a.created_at - b.created_at || byText(a.id, b.id);

const byLastWord = (a: SessionRow, b: SessionRow): number =>
  (b.last_message_at ?? 0) - (a.last_message_at ?? 0) || byAge(b, a);

function listOf<T>(lists: Map<string, T[]>, userId: string): T[] {
  let list = lists.get(userId);
  if (list === undefined) {
    list = [];
    lists.set(userId, list);
  }
  return list;
}
