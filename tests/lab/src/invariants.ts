import { type ExecutionStatus, isFinal } from '@countersign/protocol';
import { openAuditSource, verifyAudit } from '@countersign/store';
import type { RemotePerson } from './remote-person.ts';
import type { RemoteRunner } from './remote-runner.ts';
import type { TestDatabase } from './test-database.ts';

/** Execution signals go to the runner alone; every other event with an id also goes to the person. */
const personEvents = "event not like '%tool.execution_signal%'";

/** Problems in one person's database, events and runner records, once everything has ended. */
export async function findProblems(
  userId: string,
  {
    database,
    person,
    runner,
    withAudit = true,
  }: { database: TestDatabase; person: RemotePerson; runner: RemoteRunner; withAudit?: boolean },
): Promise<string[]> {
  return [
    ...(await findOpenCalls(database, userId)),
    ...(await findDecisionProblems(database, userId)),
    ...(await findDoubleExecutions(database, userId, runner)),
    ...(await findEventProblems(database, userId, person)),
    ...person.wire.problems(),
    ...runner.wire.problems(),
    ...person.problems,
    ...runner.problems,
    ...(withAudit ? await findAuditProblems(database, userId, runner.auditHead) : []),
  ];
}

export async function findOpenCalls(database: TestDatabase, userId: string): Promise<string[]> {
  const rows = await database.query('select id, status from tool_executions where user_id = $1', userId);
  const open = rows.filter(({ status }) => !isFinal(status as ExecutionStatus));
  const runs = await database.query("select id from runs where user_id = $1 and status = 'running'", userId);
  return [
    ...open.map(({ id, status }) => `call ${id} is still ${status}`),
    ...runs.map(({ id }) => `run ${id} has not ended`),
  ];
}

/** The audit action for each request status; pending and withdrawn requests have none. */
const decisionOnRecord: Readonly<Record<string, string>> = {
  approved: 'approval.approved',
  rejected: 'approval.rejected',
  timeout: 'approval.expired',
};

/** Each request has one decision, which is in the audit log and agrees with the call's status. */
export async function findDecisionProblems(database: TestDatabase, userId: string): Promise<string[]> {
  const pending = await database.query(
    "select id, status from approvals where user_id = $1 and status = 'pending'",
    userId,
  );
  const approvals = await database.query('select id, status from approvals where user_id = $1', userId);
  const rows = await database.query(
    `select subject, action from audit where user_id = $1
       and action in ('approval.approved', 'approval.rejected', 'approval.expired')`,
    userId,
  );
  const recorded = Map.groupBy(rows, ({ subject }) => subject);
  const disagreeing = await database.query(
    `select e.id, e.status, a.status as approval from tool_executions e join approvals a on a.id = e.approval_id
       where e.user_id = $1 and (
         (a.status = 'rejected') <> (e.status = 'rejected') or (a.status = 'timeout') <> (e.status = 'timeout'))`,
    userId,
  );
  return [
    ...pending.map(({ id }) => `approval ${id} was forgotten`),
    ...[...recorded]
      .filter(([, decisions]) => decisions.length > 1)
      .map(([subject, decisions]) => `${subject} was decided ${decisions.length} times`),
    ...approvals.flatMap(({ id, status }) => {
      const expected = decisionOnRecord[String(status)];
      const action = recorded.get(id)?.[0]?.action;
      return action === expected ? [] : [`approval ${id} is ${status}, and the audit log has ${action}`];
    }),
    ...disagreeing.map(({ id, status, approval }) => `call ${id} is ${status}, its approval ${approval}`),
  ];
}

/** Each (tool_id, attempt) ran at most once, calls with effects ran at most once in all, and only if approved. */
async function findDoubleExecutions(
  database: TestDatabase,
  userId: string,
  { effects }: RemoteRunner,
): Promise<string[]> {
  const rows = await database.query(
    'select id, status, risk_level, approved_by, error_type from tool_executions where user_id = $1',
    userId,
  );
  const byId = new Map(rows.map((row) => [String(row.id), row]));
  const seen = new Map<string, number>();
  for (const { toolId, attempt } of effects) {
    const key = `${toolId}#${attempt}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    if (byId.get(toolId)?.risk_level !== 'LOW') seen.set(toolId, (seen.get(toolId) ?? 0) + 1);
  }
  const executed = new Set(effects.map(({ toolId }) => toolId));
  return [
    ...[...seen]
      .filter(([, times]) => times > 1)
      .map(([what, times]) => `${what} was executed ${times} times`),
    ...[...executed].filter((id) => !byId.has(id)).map((id) => `${id} was executed and is not recorded`),
    ...rows
      .filter(({ id, status }) => status === 'completed' && !executed.has(String(id)))
      .map(({ id }) => `${id} is completed and was never executed`),
    ...rows
      .filter(
        ({ id, status }) => ['rejected', 'timeout'].includes(String(status)) && executed.has(String(id)),
      )
      .map(({ id, status }) => `${id} is ${status} and was executed`),
  ];
}

/** The person's stream had every stored event once, in order (EV-2). */
export async function findEventProblems(
  database: TestDatabase,
  userId: string,
  person: RemotePerson,
): Promise<string[]> {
  // Read before the database: events that arrive meanwhile are not expected. The caller has waited for all others.
  const received = person.ids();
  const newest = received.at(-1) ?? 0;
  const text = database.url.startsWith('postgres')
    ? personEvents.replace('event', 'event::text')
    : personEvents;
  const stored = await database.query(
    `select id, event from events where user_id = $1 and ${text} order by id`,
    userId,
  );
  const all = await database.query('select id from events where user_id = $1 order by id', userId);
  const gaps = all.flatMap(({ id }, i) => (Number(id) === i + 1 ? [] : [`event ${i + 1} is not there`]));
  const expected = stored.map(({ id }) => Number(id)).filter((id) => id <= newest);
  const problems = gaps.slice(0, 1);
  for (let i = 0; i < Math.max(expected.length, received.length); i++) {
    if (expected[i] === received[i]) continue;
    problems.push(`the person's event ${i} is ${received[i]} and should be ${expected[i]}`);
    break;
  }
  const kept = new Map(stored.map(({ id, event }) => [Number(id), withoutComputedFields(event)]));
  for (const { id, event } of person.received) {
    if (id === undefined || !kept.has(id) || kept.get(id) === withoutComputedFields(event)) continue;
    problems.push(
      `the person's event ${id} is ${withoutComputedFields(event)} and should be ${kept.get(id)}`,
    );
    break;
  }
  return problems;
}

/** An event without the fields that are computed when it is sent. */
function withoutComputedFields(event: unknown): string {
  const parsed = typeof event === 'string' ? (JSON.parse(event) as unknown) : event;
  const { event: name, data } = parsed as { event: string; data: Readonly<Record<string, unknown>> };
  return [name, data.project_id, data.tool_id, data.approval_id, data.message_id, data.status]
    .filter((part) => part !== undefined && part !== null)
    .join(' ');
}

/** The audit chain is unbroken and contains the head that the runner kept (DA-4). */
export async function findAuditProblems(
  database: TestDatabase,
  userId: string,
  auditHead: string | undefined,
): Promise<string[]> {
  const source = openAuditSource(database.url);
  try {
    const verdict = await verifyAudit(source, userId, auditHead?.split(':')[1]);
    return verdict.ok ? [] : [`audit row ${verdict.seq}: ${verdict.problem}`];
  } finally {
    await source.close();
  }
}
