import { type Limits, type PolicyRule, timing, waitsForCommand } from '@countersign/protocol';
import { capabilityFor, pathRulesFor } from '../approve/stored-policies.ts';
import { hadRunner } from '../claim/runner-bindings.ts';
import type { EngineParts } from '../engine-parts.ts';
import { announceCall, type ServerEvent } from '../record/announcements.ts';
import { signalEvent, statusEvent } from '../record/call-events.ts';
import { grantIdsOf, transition } from '../record/execution-record.ts';
import type { ExecutionRow, GrantRow, JsonObject } from '../rows.ts';
import type { Reading, Transaction, Unit } from '../store.ts';

interface SignalsDeps extends Pick<EngineParts, 'store' | 'presence' | 'policies'> {
  /** Whether a plain listener (not a runner) of this project has a stream open and may execute (EV-3). */
  readonly hasPlainListener: (userId: string, projectId: string) => boolean;
}

/** What a signal carries besides its call: parameters, the grants that allow it, and path rules for the runner. */
export interface SignalParts {
  readonly params: JsonObject | null;
  readonly grants: readonly GrantRow[];
  readonly rules: readonly PolicyRule[];
}

/** Tells a runner to execute an approved call, inside the unit that approved it or that gave it to this runner. */
export class Signals {
  readonly #deps: SignalsDeps;

  constructor(deps: SignalsDeps) {
    this.#deps = deps;
  }

  /** The id of the runner that gets a call of this workspace. `rules` are the path rules that touch the call. */
  runnerFor(
    tx: Reading,
    userId: string,
    workspace: string,
    preferred: string | null,
    rules: readonly PolicyRule[],
  ): Unit<string | undefined> {
    return this.#deps.presence.pick(tx, userId, workspace, preferred, capabilityFor(rules));
  }

  /**
   * Signals the chosen runner. If no runner ever served the workspace, a plain listener that may execute is signalled, and
   * the signal is the claim; without one, the call waits (EV-3, EX-10). A harmless call is executing from its signal on.
   * The runner applies `rules` to the real disk.
   */
  *signal(
    tx: Transaction,
    execution: ExecutionRow,
    { params, grants, rules }: SignalParts,
  ): Unit<ExecutionRow> {
    const { store, presence, policies, hasPlainListener } = this.#deps;
    const now = store.now();
    let row = execution;
    const { user_id, runner_id } = row;
    const lacksPathRules =
      runner_id !== null && rules.length > 0 && !(yield* presence.knowsPathRules(tx, user_id, runner_id));
    if (lacksPathRules) {
      yield* tx.update('tool_executions', row.id, { runner_id: null });
      row = { ...row, runner_id: null };
    }
    if (row.runner_id === null) {
      // Where runners are in use, a plain client must not take the call while the runner reconnects. Nor can it apply path
      // rules, because it does not follow links.
      const isForPlainClients =
        rules.length === 0 && hasPlainListener(user_id, row.project_id) && !(yield* hadRunner(tx, row));
      if (!isForPlainClients) {
        announceCall(tx, row, [statusEvent(row, now)]);
        return yield* setDueAt(tx, row, now + runnerWaitMs(row, policies.limits));
      }
      const due_at = now + runnerWaitMs({ ...row, status: 'executing' }, policies.limits);
      row = yield* transition(tx, row, 'executing', { due_at, started_at: now });
      for (const id of grantIdsOf(row)) yield* tx.countGrantUse(id);
    } else if (row.status === 'approved' && row.risk_level === 'LOW')
      row = yield* transition(tx, row, 'executing', { due_at: null, started_at: now });
    else if (row.due_at !== null) row = yield* setDueAt(tx, row, null);
    const { status, attempt } = row;
    const events = [signalEvent(row, params, grants, rules, now)];
    if (status === 'executing') events.push(statusEvent(row, now));
    announceCall(tx, row, events, 'call.signalled', { runner: row.runner_id, attempt, status });
    return row;
  }

  /** Reads the call's parameters and grant, then signals it. `rules` are read too if left out. */
  *signalStored(tx: Transaction, execution: ExecutionRow, rules?: readonly PolicyRule[]): Unit<ExecutionRow> {
    return yield* this.signal(tx, execution, yield* storedParts(tx, execution, rules));
  }
}

/**
 * How long a call may wait without a runner. A plain listener sends no heartbeat, so a command or a call that is not
 * harmless also gets the time of the longest command (EX-10, TL-3).
 */
export function runnerWaitMs({ status, risk_level, tool_name }: ExecutionRow, limits: Limits): number {
  const mayTakeLong = status === 'executing' && (risk_level !== 'LOW' || waitsForCommand(tool_name));
  const seconds = timing.runnerWaitSeconds + (mayTakeLong ? limits.commandTimeoutMaxSeconds : 0);
  return seconds * 1000;
}

/** Stores when the call must be checked again; null: no timer. */
export function* setDueAt(
  tx: Transaction,
  execution: ExecutionRow,
  due_at: number | null,
): Unit<ExecutionRow> {
  yield* tx.update('tool_executions', execution.id, { due_at });
  return { ...execution, due_at };
}

function* storedParts(
  tx: Reading,
  execution: ExecutionRow,
  rules?: readonly PolicyRule[],
): Unit<SignalParts> {
  const { params } = yield* tx.shownPayload(execution.id);
  const grants: GrantRow[] = [];
  for (const id of grantIdsOf(execution)) {
    const grant = yield* tx.get('grants', id);
    if (grant) grants.push(grant);
  }
  return { params, grants, rules: rules ?? (yield* pathRulesFor(tx, execution)) };
}

/** A call that must be signalled to its runner again. */
export type UnsettledCall = Pick<ExecutionRow, 'id' | 'attempt'>;

/** Calls whose signals are made in one reading. */
export const signalsAtOnce = 50;

/** The calls that a runner has not reported, and the newest event id at that moment. Later signals arrive as events. */
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
 * Makes the signals of these calls from their current state, not from old events (EX-7). Leaves out calls that have
 * ended or were signalled again: their events follow.
 */
export function* unsettledSignals(
  tx: Reading,
  runnerId: string,
  calls: readonly UnsettledCall[],
  now: number,
): Unit<readonly ServerEvent[]> {
  const events: ServerEvent[] = [];
  for (const { id, attempt } of calls) {
    const execution = yield* tx.get('tool_executions', id);
    if (execution?.runner_id !== runnerId || execution.attempt !== attempt) continue;
    if (execution.status !== 'approved' && execution.status !== 'executing') continue;
    const { params, grants, rules } = yield* storedParts(tx, execution);
    events.push(signalEvent(execution, params, grants, rules, now));
  }
  return events;
}
