import { type ExecutionStatus, isFinal } from '@countersign/protocol';
import type { Entry } from './history.ts';
import type { Traces } from './marks.ts';

/** A call in the database when everything has ended. */
export interface CallRecord {
  readonly id: string;
  readonly tool: string;
  /** Undefined for calls without a mark. */
  readonly mark: string | undefined;
  readonly status: string;
  readonly errorType: string | null;
  /** The status in a report that came after the end. */
  readonly lateStatus: string | null;
  /** The run that made it. */
  readonly runId: string | null;
  /** The status of its last approval request; null if there was none. */
  readonly approval: string | null;
  /** True if the audit log has a claim. */
  readonly isStarted: boolean;
}

export interface ApprovalRecord {
  readonly id: string;
  readonly status: string;
}

export interface RunRecord {
  readonly id: string;
  readonly status: string;
}

const devices = ['phone', 'laptop'] as const;

/** All records of a run. */
export interface RunRecords {
  readonly entries: readonly Entry[];
  readonly calls: readonly CallRecord[];
  readonly approvals: readonly ApprovalRecord[];
  readonly runs: readonly RunRecord[];
  readonly tracesOf: (mark: string) => Traces;
}

/** All violations in a finished run, by its history, its database and what its tools left on disk. */
export function findViolations(records: RunRecords): string[] {
  return [
    ...records.entries.flatMap((entry) => (entry.what === 'wrong' ? [entry.problem] : [])),
    ...records.entries.flatMap((entry) =>
      entry.what === 'ended' ? [`node ${entry.node} ended by itself (${entry.how}): ${entry.log}`] : [],
    ),
    ...findLostCalls(records),
    ...findLostRuns(records),
    ...findRepeatedCalls(records),
    ...findChangedEnds(records),
    ...findResets(records),
    ...findUnapproved(records),
    ...findWrongExecutions(records),
    ...findUnseenBases(records),
    ...findChangedDecisions(records),
  ];
}

/** Every accepted call is recorded and has ended. */
function findLostCalls({ entries, calls }: RunRecords): string[] {
  const known = new Set(calls.map(({ id }) => id));
  const lost = entries.flatMap((entry) =>
    entry.what === 'called' && !known.has(entry.toolId)
      ? [`call ${entry.toolId} (${entry.mark}) was accepted and is lost`]
      : [],
  );
  const open = calls.filter(({ status }) => !isFinal(status as ExecutionStatus));
  return [...lost, ...open.map(({ id, mark, status }) => `call ${id} (${mark}) is still ${status}`)];
}

/** Every accepted message became a run that completed: the model always answers. */
function findLostRuns({ entries, runs }: RunRecords): string[] {
  const known = new Set(runs.map(({ id }) => id));
  const lost = entries.flatMap((entry) =>
    entry.what === 'said' && !known.has(entry.runId)
      ? [`"${entry.text}" was accepted, and its run ${entry.runId} is lost`]
      : [],
  );
  const broken = runs.filter(({ status }) => status !== 'completed');
  return [...lost, ...broken.map(({ id, status }) => `run ${id} is ${status} and not completed`)];
}

/** The model calls each tool once in a run: a node that takes a run over repeats no call (AG-2). */
function findRepeatedCalls({ calls }: RunRecords): string[] {
  const made = Map.groupBy(
    calls.filter(({ runId }) => runId !== null),
    ({ runId, tool }) => `run ${runId}: ${tool}`,
  );
  return [...made].flatMap(([what, ofRun]) =>
    ofRun.length > 1 ? [`${what} was called ${ofRun.length} times`] : [],
  );
}

/** One final state: each device was told of it once, and no other final state was ever seen. */
function findChangedEnds({ entries, calls }: RunRecords): string[] {
  const status = new Map(calls.map((call) => [call.id, call.status]));
  const problems = entries.flatMap((entry) => {
    if (entry.what !== 'seen' || !isFinal(entry.status as ExecutionStatus)) return [];
    if (status.get(entry.toolId) === entry.status) return [];
    return [`call ${entry.toolId} was seen ${entry.status} and is ${status.get(entry.toolId)}`];
  });
  const ends = entries.flatMap((entry) =>
    entry.what === 'event' && entry.name === 'tool.result' && !entry.late
      ? [{ device: entry.device, about: entry.toolId, status: entry.status }]
      : [],
  );
  const ended = new Map([...status].filter(([, as]) => isFinal(as as ExecutionStatus)));
  return [...problems, ...findWrongReports('ended', ends, ended)];
}

interface EndReport {
  readonly device: string;
  readonly about: string | undefined;
  readonly status: string | undefined;
}

/** Each device was told of each recorded end once, with the recorded status. */
function findWrongReports(
  word: string,
  reports: readonly EndReport[],
  onRecord: ReadonlyMap<string, string>,
) {
  const key = (device: string, about: string | undefined) => `${device}'s stream: ${about}`;
  const told = Map.groupBy(reports, ({ device, about }) => key(device, about));
  const wrong = reports.flatMap(({ device, about = '', status }) =>
    onRecord.get(about) === status
      ? []
      : [`${key(device, about)} ${word} as ${status} and is ${onRecord.get(about)}`],
  );
  const often = [...told].filter(([, times]) => times.length > 1);
  const missing = [...onRecord.keys()].flatMap((about) =>
    devices.map((device) => key(device, about)).filter((expected) => !told.has(expected)),
  );
  return [
    ...wrong,
    ...often.map(([what, times]) => `${what} ${word} ${times.length} times`),
    ...missing.map((what) => `${what} ${word}, and it was not told`),
  ];
}

/** Events are kept for days, so no stream may be reset. */
function findResets({ entries }: RunRecords): string[] {
  return entries.flatMap((entry) =>
    entry.what === 'event' && entry.name === 'stream.reset'
      ? [`${entry.user}'s ${entry.device} lost its place in the stream`]
      : [],
  );
}

/** Calls that change something were approved and claimed (EX-6). */
function findUnapproved({ calls }: RunRecords): string[] {
  const changing = calls.filter((call) => call.tool !== 'read_file' && isReported(call));
  return changing.flatMap(({ id, mark, approval, isStarted }) => [
    ...(approval === 'approved' ? [] : [`call ${id} (${mark}) ran, and its approval is ${approval}`]),
    ...(isStarted ? [] : [`call ${id} (${mark}) ran, and nobody had claimed it`]),
  ]);
}

/** Each tool ran at most once, and exactly once if that was reported; calls that were not allowed never ran. */
function findWrongExecutions({ calls, tracesOf }: RunRecords): string[] {
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

/** A claimed call may or may not have run if its runner was lost or it was cancelled. What was dropped never lands (RN-12). */
const mayHaveRun = (call: CallRecord): boolean => {
  if (isReported(call)) return true;
  if (!call.isStarted) return false;
  const isCommand = call.tool === 'shell_exec';
  if (call.status === 'cancelled') return true;
  if (call.errorType === 'LAYER_DROPPED') return false;
  return call.status === 'failed' && (call.errorType === 'RUNNER_LOST' || isCommand);
};

/** Finds changes of a file whose first line was never shown on a card: then something else ran than was approved. */
function findUnseenBases({ entries, calls, tracesOf }: RunRecords): string[] {
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

/** The first decision stands: every response, then or later, named the decision on record. */
function findChangedDecisions({ entries, approvals }: RunRecords): string[] {
  const onRecord = new Map(approvals.map(({ id, status }) => [id, status]));
  const resolved = entries.flatMap((entry) =>
    entry.what === 'event' && entry.name === 'approval.resolved'
      ? [{ device: entry.device, about: entry.approvalId, status: entry.status }]
      : [],
  );
  const closed = new Map([...onRecord].filter(([, status]) => status !== 'pending'));
  const answered = entries.flatMap((entry) => {
    if (entry.what !== 'decided') return [];
    const status = onRecord.get(entry.approvalId);
    if (status === entry.standing) return [];
    return [
      `${entry.approvalId}: ${entry.device} was told that it is ${entry.standing}, and it is ${status}`,
    ];
  });
  return [...answered, ...findWrongReports('was resolved', resolved, closed)];
}
