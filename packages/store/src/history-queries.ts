import type { HistoryFilter, MetricsFilter } from '@countersign/engine';
import { sql } from 'kysely';
import { isOpen, isRisky, isUncommon, openStatuses, uncommonStatuses } from './migrations.ts';
import type { Slots, Statement, Statements } from './statements.ts';
import { countWords, hasAllWords } from './word-search.ts';

const equalities = {
  projectId: 'project_id',
  sessionId: 'session_id',
  runId: 'run_id',
  toolName: 'tool_name',
  status: 'status',
  riskLevel: 'risk_level',
} as const;

type Equality = keyof typeof equalities;

/** One page of a person's calls, newest first. Each combination of filters is a statement of its own. */
export function historyStatement(statements: Statements, filter: HistoryFilter): Statement {
  const given = (Object.keys(equalities) as Equality[]).filter((name) => filter[name] !== undefined);
  const status = filter.status;
  const group = status === undefined ? '' : groupOf(status);
  const risky = filter.riskLevel !== undefined && filter.riskLevel !== 'LOW';
  const bounds = (['since', 'until', 'before'] as const).filter((name) => filter[name] !== undefined);
  const search = { count: countWords(filter.words ?? []), dialect: statements.dialect };
  const key = `history:${given}:${bounds}:${group}:${risky}:${search.count}`;
  // Two filters that rarely match together may scan all rows of one of them.
  const long = given.length > 1 || status === 'completed' || filter.riskLevel === 'LOW' || search.count > 0;
  // A run has few calls, and few calls are open: their index is small. The expression keeps both databases from scanning
  // the person's whole history instead, which is already in the right order.
  const narrow = given.includes('runId') || group === 'open';
  return statements.prepare(key, { of: 'tool_executions', long }, (db, slot) => {
    let query = db
      .selectFrom('tool_executions')
      .selectAll()
      .where(narrow ? sql`coalesce(user_id, '')` : sql.ref('user_id'), '=', slot.text('userId'))
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(slot.integer('limit'));
    for (const name of given) query = query.where(equalities[name], '=', slot.text(name) as never);
    if (group === 'open') query = query.where(isOpen);
    if (group === 'uncommon') query = query.where(isUncommon);
    if (risky) query = query.where(isRisky);
    if (bounds.includes('since')) query = query.where('created_at', '>=', slot.integer('since'));
    if (bounds.includes('until')) query = query.where('created_at', '<', slot.integer('until'));
    if (search.count > 0)
      query = query.where(
        hasAllWords(search, slot, { text: ['tool_name', 'error'], json: ['tool_params', resultOfCall] }),
      );
    if (bounds.includes('before')) {
      query = query.where((eb) =>
        eb(
          eb.refTuple('created_at', 'id'),
          '<',
          eb.tuple(slot.integer('beforeCreatedAt'), slot.text('beforeId')),
        ),
      );
    }
    return query;
  });
}

/** The result, which is kept for a while (DA-3). */
const resultOfCall = sql`(select result from results where results.id = tool_executions.id)`;

function groupOf(status: string): 'open' | 'uncommon' | 'completed' {
  if (openStatuses.some((open) => open === status)) return 'open';
  return uncommonStatuses.some((uncommon) => uncommon === status) ? 'uncommon' : 'completed';
}

const callsOf = (slot: Slots, { projectId }: MetricsFilter) => sql`
  select e.tool_name, e.status, e.created_at, e.execution_time_ms as took, a.decided_at - a.created_at as waited
  from tool_executions e left join approvals a on a.id = e.approval_id
  where e.user_id = ${slot.text('userId')} and e.created_at >= ${slot.integer('since')}
    ${projectId === undefined ? sql`` : sql`and e.project_id = ${slot.text('projectId')}`}`;

const counts = sql`count(*) as total_calls,
  sum(case when status = 'completed' then 1 else 0 end) as success_count,
  sum(case when status in ('failed', 'timeout') then 1 else 0 end) as error_count,
  sum(case when status = 'rejected' then 1 else 0 end) as rejected_count,
  cast(avg(took) as double precision) as avg_execution_time_ms,
  cast(avg(waited) as double precision) as avg_approval_wait_ms`;

/** Each value with its rank among those of its tool. */
const ranked = (value: 'took' | 'waited') => sql`
  select tool_name, ${sql.ref(value)} as ms,
    row_number() over (partition by tool_name order by ${sql.ref(value)}) as place,
    count(*) over (partition by tool_name) as total
  from calls where ${sql.ref(value)} is not null`;

const percentiles = (of: string) => sql`
  select tool_name, min(case when place >= total * 0.5 then ms end) as p50,
    min(case when place >= total * 0.95 then ms end) as p95
  from ${sql.ref(of)} group by tool_name`;

/** Counts and times per tool (OB-1). p95 is the smallest value that 95 % of the calls did not exceed. */
export function metricsStatement(statements: Statements, filter: MetricsFilter): Statement {
  return statements.prepare(`metrics:${filter.projectId !== undefined}`, { long: true }, (db, slot) => {
    const query = sql`
      with calls as (${callsOf(slot, filter)}),
        took_ranked as (${ranked('took')}), waited_ranked as (${ranked('waited')}),
        took_percentiles as (${percentiles('took_ranked')}),
        waited_percentiles as (${percentiles('waited_ranked')})
      select calls.tool_name, ${counts},
        min(took_percentiles.p50) as p50_execution_time_ms,
        min(took_percentiles.p95) as p95_execution_time_ms,
        min(waited_percentiles.p50) as p50_approval_wait_ms,
        min(waited_percentiles.p95) as p95_approval_wait_ms
      from calls
        left join took_percentiles on took_percentiles.tool_name = calls.tool_name
        left join waited_percentiles on waited_percentiles.tool_name = calls.tool_name
      group by calls.tool_name order by calls.tool_name`;
    return { compile: () => query.compile(db) };
  });
}

/** The same counts for each time bucket, for a chart. */
export function metricsSeriesStatement(statements: Statements, filter: MetricsFilter): Statement {
  return statements.prepare(
    `metrics-series:${filter.projectId !== undefined}`,
    { long: true },
    (db, slot) => {
      const query = sql`
      with calls as (${callsOf(slot, filter)}), aged as (
        select calls.*, created_at - ${slot.integer('since')} as age from calls
      ), placed as (
        -- SQLite binds numbers as fractions: without the remainder, both databases divide to the same bucket
        select aged.*, (age - age % ${slot.integer('bucketMs')}) / ${slot.integer('bucketMs')} as bucket from aged
      )
      select tool_name, bucket, ${counts} from placed group by bucket, tool_name order by bucket, tool_name`;
      return { compile: () => query.compile(db) };
    },
  );
}
