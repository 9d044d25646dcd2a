import { type ExecutionStatus, isFinal } from '@countersign/protocol';
import type { Entry } from './history.ts';
import type { Traces } from './marks.ts';

/** A call as the database has it when everything has ended. */
export interface CallRecord {
  readonly id: string;
  readonly tool: string;
  /** Undefined for what is none of ours. */
  readonly mark: string | undefined;
  readonly status: string;
  readonly errorType: string | null;
  /** What a report said that came after the end. */
  readonly lateStatus: string | null;
}

export interface ApprovalRecord {
  readonly id: string;
  readonly status: string;
}

/** Everything that is left of a run. */
export interface Remains {
  readonly entries: readonly Entry[];
  readonly calls: readonly CallRecord[];
  readonly approvals: readonly ApprovalRecord[];
  readonly tracesOf: (mark: string) => Traces;
}

/** Whatever is wrong with a run that has come to rest, by its history, its records and what its tools left on disk. */
export function findViolations(remains: Remains): string[] {
  return [
    ...remains.entries.flatMap((entry) => (entry.what === 'wrong' ? [entry.problem] : [])),
    ...remains.entries.flatMap((entry) =>
      entry.what === 'ended' ? [`node ${entry.node} ended by itself (${entry.how}): ${entry.log}`] : [],
    ),
    ...findLostCalls(remains),
    ...findChangedEnds(remains),
    ...findWrongExecutions(remains),
    ...findUnseenBases(remains),
    ...findChangedDecisions(remains),
  ];
}

/** What was accepted is recorded, and has ended. */
function findLostCalls({ entries, calls }: Remains): string[] {
  const known = new Set(calls.map(({ id }) => id));
  const lost = entries.flatMap((entry) =>
    entry.what === 'called' && !known.has(entry.toolId)
      ? [`call ${entry.toolId} (${entry.mark}) was accepted and is lost`]
      : [],
  );
  const open = calls.filter(({ status }) => !isFinal(status as ExecutionStatus));
  return [...lost, ...open.map(({ id, mark, status }) => `call ${id} (${mark}) is still ${status}`)];
}

/** One final state: each device was told of one end, and nobody ever saw another one. */
function findChangedEnds({ entries, calls }: Remains): string[] {
  const status = new Map(calls.map((call) => [call.id, call.status]));
  const ends = new Map<string, number>();
  const problems: string[] = [];
  for (const entry of entries) {
    if (entry.what === 'seen' && isFinal(entry.status as ExecutionStatus)) {
      if (status.get(entry.toolId) !== entry.status)
        problems.push(`call ${entry.toolId} was seen ${entry.status} and is ${status.get(entry.toolId)}`);
    }
    if (entry.what !== 'event' || entry.name !== 'tool.result' || entry.late) continue;
    const toolId = String(entry.toolId);
    const key = `${entry.device}'s stream: ${toolId}`;
    ends.set(key, (ends.get(key) ?? 0) + 1);
    if (status.get(toolId) !== entry.status)
      problems.push(`${key} ended as ${entry.status} and is ${status.get(toolId)}`);
  }
  const often = [...ends].filter(([, times]) => times > 1);
  return [...problems, ...often.map(([key, times]) => `${key} ended ${times} times`)];
}

/** Each tool ran at most once, and exactly once if that was reported; what was not allowed never ran. */
function findWrongExecutions({ calls, tracesOf }: Remains): string[] {
  const byMark = Map.groupBy(
    calls.filter(({ tool, mark }) => mark !== undefined && tool !== 'read_file'),
    ({ mark }) => String(mark),
  );
  return [...byMark].flatMap(([mark, ofMark]) => {
    const { times } = tracesOf(mark);
    const least = ofMark.filter(isReported).length;
    const most = ofMark.filter(mayHaveRun).length;
    if (times >= least && times <= most) return [];
    const ends = ofMark.map(({ id, status, errorType, lateStatus }) =>
      [id, status, errorType, lateStatus].filter(Boolean).join(' '),
    );
    return [`${mark} was done ${times} times, not ${least}…${most}: ${ends.join(', ')}`];
  });
}

const isReported = ({ status, lateStatus }: CallRecord): boolean =>
  status === 'completed' || lateStatus === 'completed';

/** Nobody knows of a call whose runner was lost, nor of one that was stopped on its way. */
const mayHaveRun = (call: CallRecord): boolean => {
  if (isReported(call)) return true;
  const isCommand = call.tool === 'shell_exec';
  if (call.status === 'cancelled') return true;
  return call.status === 'failed' && (call.errorType === 'RUNNER_LOST' || isCommand);
};

/** What was approved is what ran: the file had, when it was changed, a base that a person had seen on a card. */
function findUnseenBases({ entries, calls, tracesOf }: Remains): string[] {
  const seen = new Set(
    entries.flatMap((entry) => (entry.what === 'approving' ? [`${entry.mark} ${entry.base}`] : [])),
  );
  const written = calls.filter(({ tool, mark }) => tool === 'write_file' && mark !== undefined);
  const marks = new Set(written.map(({ mark }) => String(mark)));
  return [...marks].flatMap((mark) => {
    const { times, base } = tracesOf(mark);
    if (times === 0 || seen.has(`${mark} ${base}`)) return [];
    return [`${mark} was changed on "${base}", which no card had shown that was approved`];
  });
}

/** The first decision stands: whoever was answered, then or later, was told the same, and it is the one on record. */
function findChangedDecisions({ entries, approvals }: Remains): string[] {
  const onRecord = new Map(approvals.map(({ id, status }) => [id, status]));
  return entries.flatMap((entry) => {
    if (entry.what !== 'decided') return [];
    const status = onRecord.get(entry.approvalId);
    if (status === entry.standing) return [];
    return [
      `${entry.approvalId}: ${entry.device} was told that it is ${entry.standing}, and it is ${status}`,
    ];
  });
}
