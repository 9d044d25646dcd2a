import { sql } from 'kysely';
import type { Statement, Statements } from './statements.ts';

/** Counts and times per tool (OB-1). A percentile is the smallest value that so many calls did not exceed. */
export function metricsStatement(statements: Statements): Statement {
  return statements.prepare('metrics', { long: true }, (db, slot) => {
    const query = sql`
      with calls as (
        select e.tool_name, e.status, e.execution_time_ms as took, a.decided_at - a.created_at as waited
        from tool_executions e left join approvals a on a.id = e.approval_id
        where e.user_id = ${slot.text('userId')} and e.created_at >= ${slot.integer('since')}
      ), took as (
        select tool_name, took as ms, row_number() over (partition by tool_name order by took) as place,
          count(*) over (partition by tool_name) as total
        from calls where took is not null
      ), waited as (
        select tool_name, waited as ms, row_number() over (partition by tool_name order by waited) as place,
          count(*) over (partition by tool_name) as total
        from calls where waited is not null
      ), took_percentiles as (
        select tool_name, min(case when place >= total * 0.5 then ms end) as p50,
          min(case when place >= total * 0.95 then ms end) as p95
        from took group by tool_name
      ), waited_percentiles as (
        select tool_name, min(case when place >= total * 0.95 then ms end) as p95 from waited group by tool_name
      )
      select calls.tool_name, count(*) as total_calls,
        sum(case when status = 'completed' then 1 else 0 end) as success_count,
        sum(case when status in ('failed', 'timeout') then 1 else 0 end) as error_count,
        sum(case when status = 'rejected' then 1 else 0 end) as rejected_count,
        cast(avg(took) as double precision) as avg_execution_time_ms,
        min(took_percentiles.p50) as p50_execution_time_ms,
        min(took_percentiles.p95) as p95_execution_time_ms,
        cast(avg(waited) as double precision) as avg_approval_wait_ms,
        min(waited_percentiles.p95) as p95_approval_wait_ms
      from calls
        left join took_percentiles on took_percentiles.tool_name = calls.tool_name
        left join waited_percentiles on waited_percentiles.tool_name = calls.tool_name
      group by calls.tool_name order by calls.tool_name`;
    return { compile: () => query.compile(db) };
  });
}
