import type { ToolCallPolicy } from '@countersign/policy';
import type { CountersignEvent } from '@countersign/protocol';
import { scopesOffered } from './approval-rows.ts';
import { approvalRequestEvent, signalEvent } from './call-events.ts';
import { pathRulesFor } from './path-rules.ts';
import type { PolicyBook } from './policy-book.ts';
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
export async function snapshotFor(store: Store, policies: PolicyBook, of: SnapshotOf): Promise<Snapshot> {
  const byWorkspace = new Map<string | null, ToolCallPolicy>();
  for (const { workspace } of await store.read((tx) => tx.projectsOf(of.userId)))
    byWorkspace.set(workspace, await policies.freshPolicyFor(of.userId, workspace));
  return function* (tx, { resumes }) {
    const now = store.now();
    return [
      ...(resumes ? [] : yield* pendingRequests(tx, of, byWorkspace, now)),
      ...(of.runner ? yield* unsettledSignals(tx, of.runner, now) : []),
    ];
  };
}

/** A runner hears of what it can preview: the requests of its own workspace. */
function* pendingRequests(
  tx: Reading,
  { userId, projectId, runner }: SnapshotOf,
  policies: ReadonlyMap<string | null, ToolCallPolicy>,
  now: number,
): Unit<CountersignEvent[]> {
  const events: CountersignEvent[] = [];
  for (const row of yield* tx.pendingApprovals(userId)) {
    if (projectId !== undefined && row.project_id !== projectId) continue;
    const project = yield* tx.get('projects', row.project_id);
    const workspace = project?.workspace ?? null;
    if (runner && runner.workspace !== workspace) continue;
    const params = (yield* tx.get('payloads', row.tool_id))?.params ?? {};
    const policy = policies.get(workspace);
    events.push(approvalRequestEvent(row, params, policy ? scopesOffered(policy, row, params) : [], now));
  }
  return events;
}

function* unsettledSignals(tx: Reading, runner: ConnectedRunner, now: number): Unit<CountersignEvent[]> {
  const events: CountersignEvent[] = [];
  for (const execution of yield* tx.openExecutionsOf(runner.userId, runner.id)) {
    if (execution.status !== 'approved' && execution.status !== 'executing') continue;
    const payload = yield* tx.get('payloads', execution.id);
    const grant = execution.grant_id === null ? undefined : yield* tx.get('grants', execution.grant_id);
    const rules = yield* pathRulesFor(tx, execution);
    events.push(signalEvent(execution, payload?.params ?? {}, grant, rules, now));
  }
  return events;
}
