import { maskSecretShapes } from '@countersign/policy';
import {
  boundedReasons,
  type ErrorCode,
  type ExecutionStatus,
  isLegalTransition,
  type Reason,
} from '@countersign/protocol';
import { notFound, Refusal } from '../refusal.ts';
import type { ExecutionRow, Json } from '../rows.ts';
import type { Reading, Transaction, Unit } from '../store.ts';
import { announceCall } from './announcements.ts';
import { resultEvent } from './call-events.ts';
import type { Caller } from './call-request.ts';

/** Whether a row belongs to this caller and, if the request names a project, to that project. */
export const belongsToCaller = (
  { userId, projectId }: Caller,
  row: { readonly user_id: string; readonly project_id: string },
): boolean => row.user_id === userId && (projectId === undefined || row.project_id === projectId);

/** Reads a call of the caller. Throws NOT_FOUND for another person's call, as for one that does not exist. */
export function* ownExecution(tx: Reading, caller: Caller, toolId: string): Unit<ExecutionRow> {
  const execution = yield* tx.get('tool_executions', toolId);
  if (!execution || !belongsToCaller(caller, execution)) throw notFound('tool call');
  return execution;
}

/** Returns the row after these changes of state. Throws if the table of transitions does not allow one (EX-2). */
export function moved(row: ExecutionRow, ...states: readonly ExecutionStatus[]): ExecutionRow {
  let { status } = row;
  for (const to of states) {
    if (!isLegalTransition(status, to))
      throw new Refusal('ILLEGAL_TRANSITION', { from: status, to, tool_id: row.id });
    status = to;
  }
  return { ...row, status };
}

/** Changes the state of a stored call. */
export function* transition(
  tx: Transaction,
  row: ExecutionRow,
  to: ExecutionStatus,
  patch: Partial<ExecutionRow> = {},
): Unit<ExecutionRow> {
  const after = { ...moved(row, to), ...patch };
  yield* tx.update('tool_executions', row.id, { ...patch, status: to });
  return after;
}

/**
 * Whether the call may still be unstarted: it is approved, or it is a LOW call that was signalled. A LOW call needs no
 * claim (PF-1), so its status is `executing` from its signal on, whether or not the runner has begun.
 */
export const mayNotHaveBegun = ({ status, risk_level, runner_id, claimed_by }: ExecutionRow): boolean =>
  status === 'approved' ||
  (status === 'executing' && risk_level === 'LOW' && runner_id !== null && claimed_by === null);

/** Puts a call that may still be unstarted back to `approved`, as before its signal. Returns any other call unchanged. */
export const asApproved = (row: ExecutionRow): ExecutionRow =>
  row.status === 'executing' && mayNotHaveBegun(row) ? moved(row, 'approved') : row;

/** Gives an unstarted call to a runner; null takes it from its runner. `from` is the program that may still report it. */
export function* reassign(
  tx: Transaction,
  execution: ExecutionRow,
  attempt: number,
  runnerId: string | null,
  from: string | null = null,
): Unit<ExecutionRow> {
  const patch = { runner_id: runnerId, attempt, claimed_by: from, started_at: null };
  if (execution.status === 'executing') return yield* transition(tx, execution, 'approved', patch);
  yield* tx.update('tool_executions', execution.id, patch);
  return { ...execution, ...patch };
}

/** Longest stored error message, in characters. */
const MAX_ERROR = 1000;
/**
 * Masks secrets, because a text may quote parameters. Cut the result to its final length afterwards: half a secret would
 * not be recognised, so this function cuts only at twice that length.
 */
const recordedText = (text: string): string => maskSecretShapes(text.slice(0, 2 * MAX_ERROR));

/** Reasons as records keep them, masked: an operand may hold a secret (DA-3). */
export const recordedReasons = (reasons: readonly Reason[]): Reason[] =>
  boundedReasons(reasons).map((reason) =>
    reason.operand === undefined
      ? reason
      : { ...reason, why: recordedText(reason.why), operand: recordedText(reason.operand) },
  );

/** The columns of a call that ends with an error. */
export const failure = (code: ErrorCode, message: string, at: number): Partial<ExecutionRow> => ({
  error: recordedText(message).slice(0, MAX_ERROR),
  error_type: code,
  completed_at: at,
});

/** Ends a call without a result and announces why. `action` is its line in the audit log. */
export function* endCall(
  tx: Transaction,
  execution: ExecutionRow,
  status: 'failed' | 'rejected' | 'timeout' | 'cancelled',
  { code, message }: { readonly code: ErrorCode; readonly message: string },
  now: number,
  action?: string,
  data?: Json,
): Unit<ExecutionRow> {
  const ended = yield* transition(tx, execution, status, failure(code, message, now));
  announceCall(tx, ended, [resultEvent(ended, null, now)], action, data);
  return ended;
}

/** The ids of all grants that a call needs to run. */
export const grantIdsOf = ({ grant_id, further_grants }: ExecutionRow): readonly string[] =>
  grant_id === null ? [] : [grant_id, ...(further_grants ?? [])];
