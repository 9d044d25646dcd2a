import { existsSync, globSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import {
  findAuditProblems,
  findDecisionProblems,
  findEventProblems,
  findOpenCalls,
} from '../../lab/src/invariants.ts';
import { type CallRecord, findViolations } from './checker.ts';
import type { History } from './history.ts';
import { markIn, tracesOf } from './marks.ts';
import type { RunDatabase } from './run-database.ts';
import type { RunnerHost } from './runner-host.ts';
import type { SimulatedPerson } from './simulated-person.ts';

export interface Participant {
  readonly person: SimulatedPerson;
  readonly runner: RunnerHost;
}

/** Reads all records of a finished run and returns what is wrong. */
export async function checkRun(
  database: RunDatabase,
  history: History,
  participants: readonly Participant[],
): Promise<string[]> {
  const rootOf = new Map(participants.map(({ person, runner }) => [person.userId, runner.root]));
  const violations = findViolations({
    entries: history.entries,
    calls: await readCalls(database),
    approvals: (await database.query('select id, status from approvals')) as { id: string; status: string }[],
    runs: (await database.query('select id, status from runs')) as { id: string; status: string }[],
    tracesOf: (mark) => tracesOf(rootOf.get(markIn(mark)?.user ?? '') ?? '', mark),
  });
  for (const { person, runner } of participants) {
    const { userId, phone, laptop } = person;
    violations.push(
      ...(await findOpenCalls(database, userId)),
      ...(await findDecisionProblems(database, userId)),
      ...(await findAuditProblems(database, userId, auditHeadOf(runner))),
    );
    for (const device of [phone, laptop]) {
      violations.push(
        ...(await findEventProblems(database, userId, device)),
        ...device.wire.problems(),
        ...device.problems,
      );
    }
  }
  return [...new Set(violations)];
}

async function readCalls(database: RunDatabase): Promise<CallRecord[]> {
  const rows = await database.query(
    `select e.id, e.tool_name, e.tool_params, e.status, e.error_type, e.run_id, g.late_result, a.status as approval
       from tool_executions e left join results g on g.id = e.id left join approvals a on a.id = e.approval_id`,
  );
  const claims = await database.query("select subject from audit where action = 'call.started'");
  const started = new Set(claims.map(({ subject }) => subject));
  return rows.map((row) => ({
    id: String(row.id),
    tool: String(row.tool_name),
    mark: markIn(row.tool_params)?.mark,
    status: String(row.status),
    errorType: row.error_type as string | null,
    lateStatus: lateStatusOf(row.late_result),
    runId: row.run_id as string | null,
    approval: row.approval as string | null,
    isStarted: started.has(row.id),
  }));
}

function lateStatusOf(late: unknown): string | null {
  const result = typeof late === 'string' ? (JSON.parse(late) as unknown) : late;
  return (result as { status?: string } | null)?.status ?? null;
}

/** The audit chain head in the runner's journal (DA-4). */
function auditHeadOf({ home }: RunnerHost): string | undefined {
  const [journal] = globSync('**/journal.sqlite', { cwd: home }).map((path) => `${home}/${path}`);
  if (journal === undefined || !existsSync(journal)) return undefined;
  const opened = new DatabaseSync(journal);
  try {
    const row = opened.prepare('select seq, hash from witness').get();
    return row === undefined ? undefined : `${row.seq}:${row.hash}`;
  } finally {
    opened.close();
  }
}
