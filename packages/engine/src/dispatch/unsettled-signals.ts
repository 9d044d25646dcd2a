import type { CountersignEvent } from '@countersign/protocol';
import { pathRulesFor } from '../claim/path-rules.ts';
import { signalEvent } from '../record/call-events.ts';
import type { ExecutionRow } from '../rows.ts';
import type { Reading, Unit } from '../store.ts';

/** A call that a runner has to be told of, as it stood at some moment. */
export type UnsettledCall = Pick<ExecutionRow, 'id' | 'attempt'>;

/** Calls whose signals are made in one reading. */
export const signalsAtOnce = 50;

/** The calls that a runner has and did not report, and the newest event of that moment: later signals are told by events. */
export function* unsettledCalls(
  tx: Reading,
  userId: string,
  runnerId: string,
): Unit<{ newest: number; calls: readonly UnsettledCall[] }> {
  const { newest } = yield* tx.eventBounds(userId);
  const open = yield* tx.openExecutionsOf(userId, runnerId);
  return { newest, calls: open.filter(({ status }) => status === 'approved' || status === 'executing') };
}

/**
 * The signals of these calls, from their state and not from old events (EX-7). A call that has ended meanwhile, or was
 * signalled again, is left out: events tell that.
 */
export function* unsettledSignals(
  tx: Reading,
  runnerId: string,
  calls: readonly UnsettledCall[],
  now: number,
): Unit<readonly CountersignEvent[]> {
  const events: CountersignEvent[] = [];
  for (const { id, attempt } of calls) {
    const execution = yield* tx.get('tool_executions', id);
    if (execution?.runner_id !== runnerId || execution.attempt !== attempt) continue;
    if (execution.status !== 'approved' && execution.status !== 'executing') continue;
    const { params } = yield* tx.shownPayload(id);
    const grant = execution.grant_id === null ? undefined : yield* tx.get('grants', execution.grant_id);
    events.push(signalEvent(execution, params, grant, yield* pathRulesFor(tx, execution), now));
  }
  return events;
}
