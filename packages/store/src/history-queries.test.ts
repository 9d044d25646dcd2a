import { DatabaseSync } from 'node:sqlite';
import type { HistoryFilter } from '@countersign/engine';
import { beforeAll, expect, it } from 'vitest';
import { historyStatement } from './history-queries.ts';
import { migrate } from './migrations.ts';
import { kyselyOverSqlite } from './sqlite-store.ts';
import { statementsOf } from './statements.ts';

const database = new DatabaseSync(':memory:');
beforeAll(() => migrate(kyselyOverSqlite(database), 'sqlite'));

function planOf(filter: Omit<HistoryFilter, 'limit'>): string {
  const { sql, slots } = historyStatement(statementsOf.sqlite, { ...filter, limit: 50 });
  const rows = database.prepare(`explain query plan ${sql}`).all(...slots.map(() => null));
  return rows.map(({ detail }) => String(detail)).join('; ');
}

/** A page must cost the same at 10,000 rows and at 1,000,000: found by an index, in order, with nothing to sort. */
it.each<[Omit<HistoryFilter, 'limit'>, string]>([
  [{}, 'history (user_id=?)'],
  [{ before: { createdAt: 1, id: 'a' } }, 'history (user_id=? AND (created_at,id)<(?,?))'],
  [{ since: 1 }, 'history (user_id=? AND created_at>?)'],
  [{ projectId: 'a' }, 'history_of_project (user_id=? AND project_id=?)'],
  [{ sessionId: 'a' }, 'history_of_session (user_id=? AND session_id=?)'],
  [{ toolName: 'a' }, 'history_of_tool (user_id=? AND tool_name=?)'],
  [{ status: 'rejected' }, 'history_by_status (user_id=? AND status=?)'],
  [{ riskLevel: 'HIGH' }, 'history_by_risk (user_id=? AND risk_level=?)'],
  [{ status: 'completed' }, 'history (user_id=?)'],
])('[RE-2] finds a page of %j by its index', (filter, index) => {
  expect(planOf(filter)).toBe(`SEARCH tool_executions USING INDEX ${index}`);
});

/** These filters match few enough rows to be sorted. */
it.each<[Omit<HistoryFilter, 'limit'>, string]>([
  [{ runId: 'a' }, 'executions_of_call'],
  [{ status: 'approved' }, 'executions_open'],
])('[RE-2] finds %j by the small index of such calls', (filter, index) => {
  expect(planOf(filter)).toContain(`USING INDEX ${index}`);
});
