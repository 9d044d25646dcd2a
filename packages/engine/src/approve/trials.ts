import { isRefused, type ToolCallPolicy } from '@countersign/policy';
import { findTool, runnerCapabilities, waitsForCommand } from '@countersign/protocol';
import type { ConnectedRunner } from '../dispatch/runners.ts';
import { runnerKey } from '../dispatch/runners.ts';
import type { EngineParts } from '../engine-parts.ts';
import { announceCall, isoTime, makeEvent } from '../record/announcements.ts';
import { approvalUpdatedEvent } from '../record/call-events.ts';
import type { Caller } from '../record/call-request.ts';
import { Refusal } from '../refusal.ts';
import type { ApprovalRow, ShownPayload } from '../rows.ts';
import type { Reading, Store, Transaction, Unit } from '../store.ts';
import { type NotDecided, pendingForDecision, wholePayload } from './approval-decisions.ts';
import { type ApprovalRows, lockApproval } from './approval-requests.ts';
import { readOnlyRefusal } from './read-only-sessions.ts';
import { pathRulesFor } from './stored-policies.ts';

/**
 * Inside a unit: asks the runner that previews a request to try its call in a layer (RN-13). The outcome comes as a preview.
 * The deadline of the request stays as it is.
 */
export function* askForTrial(
  tx: Transaction,
  { store, presence }: Pick<EngineParts, 'store' | 'presence'>,
  caller: Caller,
  approvalId: string,
  { policy, workspace, device }: { policy: ToolCallPolicy; workspace: string; device: string | null },
): Unit<{ readonly approval: ApprovalRow; readonly payload: ShownPayload } | NotDecided> {
  const now = store.now();
  const found = yield* pendingForDecision(tx, caller, approvalId, now);
  if ('refusal' in found) return found;
  const { approval, execution } = found;
  if (approval.trial !== null) throw new Refusal('TRIAL_RUNNING');
  if ((yield* tx.modeOf(execution.session_id)) === 'read_only') throw readOnlyRefusal(execution.tool_name);
  const problem = whyNotTryable(approval);
  if (problem !== undefined) throw new Refusal('NOT_TRYABLE', { problem });
  const { params } = yield* wholePayload(tx, execution.id);
  const { verdict } = policy.decide(execution.tool_name, params);
  if (isRefused(verdict)) throw new Refusal('NOT_TRYABLE', { problem: verdict.message });
  const { previewed_by, user_id } = approval;
  const able = runnerCapabilities.trials;
  const runnerId = yield* presence.pick(tx, user_id, workspace, previewed_by, able);
  if (runnerId === undefined)
    throw new Refusal('NOT_TRYABLE', { problem: yield* whyNoRunner(tx, presence, user_id, workspace) });
  // While the runner that previews is connected, no other one may preview (EX-6).
  const first =
    previewed_by === null ? undefined : yield* tx.get('runners', runnerKey(user_id, previewed_by));
  if (first !== undefined && first.runner_id !== runnerId && first.connected)
    throw new Refusal('NOT_TRYABLE', { problem: noLayers });
  const data = { tool_id: execution.id, token: caller.tokenId, device, runner: runnerId };
  const row = yield* startTrial(tx, approval, { runnerId, now, action: 'approval.try_asked', data });
  const payload = yield* tx.shownPayload(execution.id);
  announceCall(tx, row, [approvalUpdatedEvent(row, payload, yield* pathRulesFor(tx, row), now)]);
  return { approval: row, payload };
}

const noLayers = 'the machine that would run it cannot run commands in layers (countersign doctor says why)';

/** Why a call is never tried, whatever the machine can do. */
function whyNotTryable({ tool_name, network, preview }: ApprovalRow): string | undefined {
  if (tool_name === 'shell_background') return 'it starts a background job';
  const category = findTool(tool_name)?.category;
  if (!waitsForCommand(tool_name) || (category !== 'command' && category !== 'shell'))
    return 'only commands can be tried';
  const needsNetwork = network || (preview?.kind === 'command' && preview.network);
  return needsNetwork ? 'it needs the network, and a trial has none' : undefined;
}

function* whyNoRunner(
  tx: Reading,
  presence: EngineParts['presence'],
  userId: string,
  workspace: string,
): Unit<string> {
  const any = yield* presence.pick(tx, userId, workspace, null);
  return any === undefined ? 'no runner of its workspace is connected' : noLayers;
}

/**
 * Inside a unit: the runner's first preview of a request that shall be tried by itself has come, because its call was tried
 * before and something changed since (AP-8). Without a runner that can, the request stays as it is.
 */
export function* startWantedTrial(tx: Transaction, approval: ApprovalRow, now: number): Unit<ApprovalRow> {
  const { user_id, previewed_by, tool_id } = approval;
  const runner =
    previewed_by === null ? undefined : yield* tx.get('runners', runnerKey(user_id, previewed_by));
  const isAble = runner?.capabilities.includes(runnerCapabilities.trials) === true;
  if (!runner || !isAble || whyNotTryable(approval) !== undefined) {
    yield* tx.update('approvals', approval.id, { trial: null });
    return { ...approval, trial: null };
  }
  const { runner_id: runnerId } = runner;
  const data = { tool_id, runner: runnerId };
  return yield* startTrial(tx, approval, { runnerId, now, action: 'approval.try_repeated', data });
}

/** The runner must hear of the trial before it hears that the request is being tried: announce the request after this. */
function* startTrial(
  tx: Transaction,
  approval: ApprovalRow,
  about: {
    readonly runnerId: string;
    readonly now: number;
    readonly action: string;
    readonly data: Readonly<Record<string, string | null>>;
  },
): Unit<ApprovalRow> {
  const { runnerId, now, action, data } = about;
  const { user_id, tool_id, project_id, session_id } = approval;
  const runner = yield* tx.get('runners', runnerKey(user_id, runnerId));
  const trial = { runner_id: runnerId, instance: runner?.instance ?? null };
  yield* tx.update('approvals', approval.id, { trial });
  const row: ApprovalRow = { ...approval, trial };
  const event = makeEvent('tool.try', {
    tool_id,
    project_id,
    session_id,
    approval_id: approval.id,
    revision: approval.revision,
    runner_id: runnerId,
    timestamp: isoTime(now),
  });
  announceCall(tx, row, [event], action, data);
  return row;
}

/**
 * Ends the trials of a runner that was lost or is another program now: nobody will tell what came of them. `instance`: that
 * of the program that has connected; its own trials go on.
 */
export async function endTrials(
  store: Store,
  { userId, id }: Pick<ConnectedRunner, 'userId' | 'id'>,
  instance?: string | null,
): Promise<void> {
  const isOver = ({ trial, status }: ApprovalRow): boolean =>
    status === 'pending' &&
    trial !== null &&
    trial !== 'wanted' &&
    trial.runner_id === id &&
    (instance === undefined || trial.instance !== instance);
  const tried = await store.read((tx) => tx.pendingTrials(userId));
  for (const { id: approvalId } of tried)
    await store.write(function* (tx): Unit<void> {
      const rows: ApprovalRows | undefined = yield* lockApproval(tx, approvalId);
      if (!rows || !isOver(rows.approval)) return;
      const row: ApprovalRow = { ...rows.approval, trial: null };
      yield* tx.update('approvals', approvalId, { trial: null });
      const payload = yield* tx.shownPayload(row.tool_id);
      const rules = yield* pathRulesFor(tx, row);
      const events = [approvalUpdatedEvent(row, payload, rules, store.now())];
      announceCall(tx, row, events, 'approval.try_lost', { tool_id: row.tool_id, runner: id });
    });
}
