import type { HistoryFilter } from '@countersign/engine';
import { sql } from 'kysely';
import { isOpen, isRisky, isUncommon, openStatuses, uncommonStatuses } from './migrations.ts';
import type { Statement, Statements } from './statements.ts';

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
  const key = `history:${given}:${bounds}:${group}:${risky}`;
  // Two filters that seldom meet may mean walking through all that fulfil the one.
  const long = given.length > 1 || status === 'completed' || filter.riskLevel === 'LOW';
  // A run has few calls, and few are open: an index for them is small, and to walk along a person's whole history, as
  // both databases would because it is in the right order, is not. The expression keeps them from it.
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

function groupOf(status: string): 'open' | 'uncommon' | 'completed' {
  if (openStatuses.some((open) => open === status)) return 'open';
  return uncommonStatuses.some((uncommon) => uncommon === status) ? 'uncommon' : 'completed';
}
