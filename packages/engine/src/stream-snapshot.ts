import type { CountersignEvent } from '@countersign/protocol';
import { approvalRequestEvent, signalEvent } from './call-events.ts';
import { pathRulesFor } from './path-rules.ts';
import type { ConnectedRunner } from './runner-registry.ts';
import type { Reading, Store, Unit } from './store.ts';
import type { Snapshot } from './stream-manager.ts';

export interface SnapshotOf {
  readonly userId: string;
  readonly projectId: string | undefined;
  readonly runner?: ConnectedRunner | undefined;
}

/**
 * What a client is told before the first event: what is pending, unless it resumes and gets that by its events; and a
 * runner its unsettled calls, which come from the state and not from old events (EV-2, EX-7).
 */
export function snapshotFor(store: Store, of: SnapshotOf): Snapshot {
  return function* (tx, { resumes }) {
    const now = store.now();
    return [
      ...(resumes ? [] : yield* pendingRequests(tx, of, now)),
      ...(of.runner ? yield* unsettledSignals(tx, of.runner, now) : []),
    ];
  };
}

/** A runner hears of what it can preview: the requests of its own workspace. */
function* pendingRequests(
  tx: Reading,
  { userId, projectId, runner }: SnapshotOf,
  now: number,
): Unit<CountersignEvent[]> {
  const events: CountersignEvent[] = [];
  for (const row of yield* tx.pendingApprovals(userId)) {
    if (projectId !== undefined && row.project_id !== projectId) continue;
    const project = yield* tx.get('projects', row.project_id);
    if (runner && runner.workspace !== project?.workspace) continue;
    const payload = yield* tx.shownPayload(row.tool_id);
    events.push(approvalRequestEvent(row, payload, yield* pathRulesFor(tx, row), now));
  }
  return events;
}

function* unsettledSignals(tx: Reading, runner: ConnectedRunner, now: number): Unit<CountersignEvent[]> {
  const events: CountersignEvent[] = [];
  for (const execution of yield* tx.openExecutionsOf(runner.userId, runner.id)) {
    if (execution.status !== 'approved' && execution.status !== 'executing') continue;
    const { params } = yield* tx.shownPayload(execution.id);
    const grant = execution.grant_id === null ? undefined : yield* tx.get('grants', execution.grant_id);
    const rules = yield* pathRulesFor(tx, execution);
    events.push(signalEvent(execution, params, grant, rules, now));
  }
  return events;
}
