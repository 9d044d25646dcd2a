import type { ToolCallPolicy } from '@countersign/policy';
import {
  type ApprovalScope,
  approvalTimeoutSeconds,
  describeCall,
  type ErrorCode,
  type GrantScope,
  higherRisk,
  type JsonValue,
  type PolicyRule,
  type Reason,
  type RequestBody,
  type RiskLevel,
  shownDigest,
  type ToolErrorValue,
} from '@countersign/protocol';
import { runnerTokenBound } from '../claim/runner-bindings.ts';
import { runnerKey } from '../dispatch/runners.ts';
import type { SignalParts, Signals } from '../dispatch/signals.ts';
import { newId, nodeSha256 } from '../ids.ts';
import { announceCall, sizeOf } from '../record/announcements.ts';
import {
  approvalRequestEvent,
  approvalResolvedEvent,
  approvalUpdatedEvent,
  errorOf,
  resultEvent,
  statusEvent,
} from '../record/call-events.ts';
import type { CallContext, Caller } from '../record/call-request.ts';
import {
  belongsToCaller,
  endCall,
  failure,
  recordedReasons,
  transition,
} from '../record/execution-record.ts';
import { newApproval } from '../record/new-call.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow, Json, JsonObject, ShownPayload } from '../rows.ts';
import type { Reading, Transaction, Unit } from '../store.ts';
import { scopesOffered, scopesUpTo } from './grants.ts';
import { mayAskAgain, readOnlyRefusal } from './read-only-sessions.ts';
import { pathRulesFor } from './stored-policies.ts';
import { startWantedTrial } from './trials.ts';

/** Units of writing about one request: make, preview, approve, ask again, withdraw. */

/** How often a person is asked again because the files or the command changed after the approval (AP-8). */
const MAX_STALE = 3;

type PreviewBody = RequestBody<'submitPreview'>;

/** Inside the unit that records the call: stores and announces a request. Its preview follows later (AP-7). */
export function* requestApproval(
  tx: Transaction,
  execution: ExecutionRow,
  about: {
    readonly payload: ShownPayload;
    readonly agent: string;
    readonly context: CallContext;
    readonly rules: readonly PolicyRule[];
    readonly staleCount?: number;
    /** Whether the call shall be tried as soon as its preview is there. */
    readonly isTried?: boolean;
  },
  now: number,
): Unit<ApprovalRow> {
  const row = newApproval(execution, about, now);
  yield* tx.insert('approvals', row);
  const events = [statusEvent(execution, now), approvalRequestEvent(row, about.payload, about.rules, now)];
  const { tool_id, risk_level } = row;
  announceCall(tx, row, events, 'approval.requested', { tool_id, risk_level });
  return row;
}

/** Stores a runner's preview: what the call would do, or why it must not run (AP-7, VA-8). */
export function* previewApproval(
  tx: Transaction,
  caller: Caller,
  approvalId: string,
  input: PreviewBody,
  { policy, workspace, now }: { policy: ToolCallPolicy; workspace: string; now: number },
): Unit<{ approval: ApprovalRow; execution: ExecutionRow } | { approval: ApprovalRow }> {
  const { approval, execution } = yield* approvalRows(tx, caller, approvalId);
  if (approval.status !== 'pending') throw alreadyDecided(approval);
  // The runner that previews gets the call, so it must be this person's and serve this workspace.
  const runner = yield* tx.get('runners', runnerKey(caller.userId, input.runner_id));
  if (runner?.workspace !== workspace) throw notFound('runner');
  // The runner was given up and is reconnecting. Refuse, so that it sends the preview again.
  if (!runner.connected)
    throw new Refusal('UNAVAILABLE', { problem: 'it waits for this runner to open its stream again' });
  if (input.instance !== undefined && input.instance !== runner.instance)
    throw runnerTokenBound(input.runner_id);
  yield* requirePreviewer(tx, approval, input.runner_id, workspace);
  if (approval.revision !== input.revision) throw new Refusal('PREVIEW_CHANGED');
  if ('refused' in input) {
    const failed = yield* failCall(tx, execution, input.refused, 'runner', now);
    return { approval: failed.approval ?? approval, execution: failed.execution };
  }
  const risk = higherRisk(approval.risk_level, input.risk_level);
  const params = yield* paramsOf(tx, execution.id, yield* tx.shownPayload(execution.id));
  const digest = digestShown(approval, params, input, risk);
  const trial = trialAfter(approval, input, digest);
  const seconds = Math.max(approval.timeout_seconds, approvalTimeoutSeconds[risk]);
  const revised: Partial<ApprovalRow> = {
    preview: input.preview,
    preview_size: sizeOf(input.preview),
    // A second preview that shows something else, or a higher risk, is a new revision.
    revision:
      approval.digest === null || approval.digest === digest ? approval.revision : approval.revision + 1,
    digest,
    digest_base: input.digest_base,
    previewed_by: input.runner_id,
    trial,
    risk_level: risk,
    reasons: mergeReasons(approval.reasons, recordedReasons(input.reasons)),
    network: approval.network || input.network,
    timeout_seconds: seconds,
    deadline_at: approval.deadline_at + (seconds - approval.timeout_seconds) * 1000,
  };
  yield* tx.update('approvals', approval.id, revised);
  const row = { ...approval, ...revised };
  const described = yield* withScopes(tx, execution, policy, risk);
  // Describe the call again, because only the diff shows whether a file is new.
  const { preview } = input;
  const description =
    preview.kind === 'diff'
      ? describeCall(approval.agent, row.tool_name, params, preview)
      : described.description;
  if (description !== described.description) yield* tx.update('payloads', execution.id, { description });
  const payload = { ...described, description };
  const rules = policy.rulesOnPaths(row.tool_name);
  const data = { digest, runner: input.runner_id, risk_level: risk };
  const shown = row.trial === 'wanted' ? yield* startWantedTrial(tx, row, now) : row;
  announceCall(tx, shown, [approvalUpdatedEvent(shown, payload, rules, now)], 'approval.previewed', data);
  return { approval: shown };
}

/**
 * What is asked of the runner after its preview. Throws TRIAL_NOT_ASKED if the preview shows a trial that nobody asked of
 * this runner: it must not replace what a person reads by itself (AP-9).
 */
function trialAfter(
  { trial, digest: shown }: ApprovalRow,
  { preview, runner_id }: Extract<PreviewBody, { readonly preview: unknown }>,
  digest: string,
): ApprovalRow['trial'] {
  const isTried = preview.kind === 'command' && preview.trial !== undefined;
  const isOfTrier = trial !== null && trial !== 'wanted' && trial.runner_id === runner_id;
  // A runner that repeats what it has shown knows of no trial: it is another process by now.
  if (digest === shown) return isOfTrier ? null : trial;
  if (!isTried) return trial;
  if (!isOfTrier) throw new Refusal('TRIAL_NOT_ASKED');
  return null;
}

interface Approving {
  readonly caller: Caller;
  readonly device: string | null;
  readonly workspace: string;
  readonly now: number;
  readonly scope: ApprovalScope | GrantScope;
  readonly grantId: string | null;
  readonly signal: SignalParts;
  /** Columns of the call's row that record this approval. */
  readonly row: Partial<ExecutionRow>;
  readonly audit: { readonly action: string; readonly data: Json };
}

/** Inside a unit: approves a request and signals a runner to execute its call. */
export function* approveCall(
  tx: Transaction,
  signals: Signals,
  { approval, execution }: ApprovalRows,
  { caller, device, workspace, now, scope, grantId, signal, row, audit }: Approving,
): Unit<ApprovalRows> {
  const decided: Partial<ApprovalRow> = {
    status: 'approved',
    decided_at: now,
    decided_device: device,
    decided_token: caller.tokenId,
    scope,
  };
  yield* tx.update('approvals', approval.id, decided);
  const { previewed_by, risk_level, reasons, network } = approval;
  const runnerId = yield* signals.runnerFor(tx, caller.userId, workspace, previewed_by, signal.rules);
  const approved = yield* transition(tx, execution, 'approved', {
    approved_at: now,
    risk_level,
    reasons,
    network,
    attempt: execution.attempt + 1,
    runner_id: runnerId ?? null,
    ...row,
  });
  const resolution = {
    status: 'approved',
    approvedBy: approved.approved_by,
    device,
    scope,
    grantId,
  } as const;
  announceCall(tx, approval, [approvalResolvedEvent(approval, resolution, now)], audit.action, audit.data);
  const signalled = yield* signals.signal(tx, approved, signal);
  return { approval: { ...approval, ...decided }, execution: signalled };
}

/** Asks the person again, at most 3 times, because something changed after the approval or a newer policy asks (AP-8). */
export function* askAgain(
  tx: Transaction,
  execution: ExecutionRow,
  problem: string,
  now: number,
): Unit<ApprovalRow | undefined> {
  const before =
    execution.approval_id === null ? undefined : yield* tx.get('approvals', execution.approval_id);
  const staleCount = (before?.stale_count ?? 0) + 1;
  if (staleCount > MAX_STALE) {
    const error = new Refusal('APPROVAL_STALE', { problem });
    yield* endCall(tx, execution, 'failed', error, now, 'call.failed', { code: error.code });
    return undefined;
  }
  if (!(yield* mayAskAgain(tx, execution))) {
    yield* failCall(tx, execution, readOnlyRefusal(execution.tool_name), 'policy', now);
    return undefined;
  }
  const risk = higherRisk(execution.risk_level ?? 'MEDIUM', 'MEDIUM');
  const asked = yield* transition(tx, execution, 'awaiting_approval', {
    approval_id: newId(),
    requires_approval: true,
    approved_by: null,
    approved_at: null,
    grant_id: null,
    further_grants: null,
    allowed_by: null,
    digest: null,
    risk_level: risk,
    runner_id: null,
    started_at: null,
  });
  const noContext: CallContext = { message_id: null, run_id: null, step: null, excerpt: '' };
  const { agent = 'Agent', context = noContext } = before ?? {};
  const payload = yield* withDescription(tx, execution, agent);
  announceCall(tx, execution, [], 'approval.stale', { problem });
  const rules = yield* pathRulesFor(tx, execution);
  const tried = before?.preview?.kind === 'command' ? before.preview.trial : undefined;
  const isTried = tried !== undefined && !('problem' in tried);
  return yield* requestApproval(tx, asked, { payload, agent, context, rules, staleCount, isTried }, now);
}

/** Adds a description to a payload that has none, because its call was first allowed without asking. */
function* withDescription(
  tx: Transaction,
  { id, tool_name }: ExecutionRow,
  agent: string,
): Unit<ShownPayload> {
  const shown = yield* tx.shownPayload(id);
  if (shown.description !== null) return shown;
  const description = describeCall(agent, tool_name, yield* paramsOf(tx, id, shown));
  yield* tx.update('payloads', id, { description });
  return { ...shown, description };
}

/** Adds the offered scopes to a payload, raised to the risk that the runner found. */
function* withScopes(
  tx: Transaction,
  { id, tool_name }: ExecutionRow,
  policy: ToolCallPolicy,
  risk: RiskLevel,
): Unit<ShownPayload> {
  const shown = yield* tx.shownPayload(id);
  const found =
    shown.offered_scopes ?? scopesOffered(policy, policy.decide(tool_name, yield* paramsOf(tx, id, shown)));
  const offered_scopes = scopesUpTo(found, risk);
  if (offered_scopes === shown.offered_scopes) return shown;
  yield* tx.update('payloads', id, { offered_scopes });
  return { ...shown, offered_scopes };
}

/** Withdraws the request of a call that is being cancelled or refused, inside that unit. */
export function* withdrawApproval(
  tx: Transaction,
  execution: ExecutionRow,
  now: number,
  error?: ToolErrorValue | null,
): Unit<ApprovalRow | undefined> {
  const approval =
    execution.approval_id === null ? undefined : yield* tx.get('approvals', execution.approval_id);
  if (approval?.status !== 'pending') return undefined;
  const withdrawn = { status: 'cancelled', decided_at: now } as const;
  yield* tx.update('approvals', approval.id, withdrawn);
  announceCall(tx, approval, [
    approvalResolvedEvent(approval, { status: 'cancelled', error: error ?? null }, now),
  ]);
  return { ...approval, ...withdrawn };
}

/** Ends a call that the runner or the person's newer policy refuses. A pending card shows the reason. */
export function* failCall(
  tx: Transaction,
  execution: ExecutionRow,
  { code, message }: { readonly code: ErrorCode; readonly message: string },
  by: 'runner' | 'policy',
  now: number,
): Unit<{ approval: ApprovalRow | undefined; execution: ExecutionRow }> {
  const ended = yield* transition(tx, execution, 'failed', failure(code, message, now));
  const approval = yield* withdrawApproval(tx, execution, now, errorOf(ended));
  announceCall(tx, ended, [resultEvent(ended, null, now)], 'call.refused', { code, by });
  return { approval, execution: ended };
}

/** EX-6: while the first previewer is connected to the workspace, no other runner may preview. */
function* requirePreviewer(
  tx: Transaction,
  { user_id, previewed_by }: ApprovalRow,
  runnerId: string,
  workspace: string,
): Unit<void> {
  if (previewed_by === null || previewed_by === runnerId) return;
  const first = yield* tx.get('runners', runnerKey(user_id, previewed_by));
  if (first?.connected && first.workspace === workspace)
    throw new Refusal('CLAIM_REFUSED', { problem: 'another runner previews it' });
}

/** Computes the digest of what the card shows (AP-8). Throws if the runner sent another one. */
function digestShown(
  { tool_name }: ApprovalRow,
  params: JsonObject,
  { preview, digest_base, digest: sent }: Extract<PreviewBody, { readonly preview: unknown }>,
  risk_level: RiskLevel,
): string {
  const tool_params = params as Record<string, JsonValue>;
  const digest = shownDigest({ digest_base, tool_name, tool_params, risk_level, preview }, nodeSha256);
  if (sent !== undefined && sent !== digest) throw new Refusal('PREVIEW_MISMATCH');
  return digest;
}

/** The parameters, even if they are too large to be shown. */
function* paramsOf(tx: Transaction, toolId: string, shown: ShownPayload): Unit<JsonObject> {
  return shown.params ?? (yield* tx.get('payloads', toolId))?.params ?? {};
}

function mergeReasons(a: readonly Reason[], b: readonly Reason[]): Reason[] {
  const seen = new Set(a.map(({ rule, operand }) => `${rule}\u0000${operand ?? ''}`));
  return [...a, ...b.filter(({ rule, operand }) => !seen.has(`${rule}\u0000${operand ?? ''}`))];
}

export interface ApprovalRows {
  readonly approval: ApprovalRow;
  readonly execution: ExecutionRow;
}

/** Throws NOT_FOUND for another person's request, as for one that does not exist. */
export function* approvalRows(tx: Reading, caller: Caller, approvalId: string): Unit<ApprovalRows> {
  const rows = yield* lockApproval(tx, approvalId);
  if (!rows || !belongsToCaller(caller, rows.approval)) throw notFound('approval');
  return rows;
}

/** Reads a request and its call in the lock order of docs/architecture.md: the execution, then the approval. */
export function* lockApproval(tx: Reading, approvalId: string): Unit<ApprovalRows | undefined> {
  const toolId = (yield* tx.peekApproval(approvalId))?.tool_id;
  const execution = toolId === undefined ? undefined : yield* tx.get('tool_executions', toolId);
  const approval = yield* tx.get('approvals', approvalId);
  return approval && execution && { approval, execution };
}

export const alreadyDecided = (approval: ApprovalRow): Refusal =>
  new Refusal(
    'ALREADY_DECIDED',
    { decision: approval.status },
    { status: approval.status, device: approval.decided_device },
  );
