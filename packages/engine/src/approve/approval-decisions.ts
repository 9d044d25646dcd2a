import { isReadOnly, isRefused, type ToolCallPolicy } from '@countersign/policy';
import { describeCall, type ErrorCode, higherRisk, isAbove, type RequestBody } from '@countersign/protocol';
import type { EngineParts } from '../engine-parts.ts';
import { newId } from '../ids.ts';
import { announceCall, sizeOf } from '../record/announcements.ts';
import { approvalResolvedEvent, approvalUpdatedEvent } from '../record/call-events.ts';
import type { Caller } from '../record/call-request.ts';
import { endCall, recordedReasons } from '../record/execution-record.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow, GrantRow, Json, JsonObject, PayloadRow } from '../rows.ts';
import type { Transaction, Unit } from '../store.ts';
import { type ApprovalRows, alreadyDecided, approvalRows, approveCall } from './approval-requests.ts';
import { chosenRules, newGrant, ruleToSave, scopesOffered } from './grants.ts';
import { expireNow } from './pending-decisions.ts';
import { isJudgedByOlderPolicy } from './policy-review.ts';
import { readOnlyRefusal } from './read-only-sessions.ts';
import { type Granted, releaseCovered } from './released-calls.ts';

type ApproveBody = RequestBody<'approve'>;

/** A refused decision whose unit was committed: the request expired, or an edit waits for its preview. */
export interface NotDecided {
  readonly refusal: Refusal;
  readonly approval: ApprovalRow;
  readonly expired?: ExecutionRow;
  /** The edit did not raise the risk: approve it as soon as its preview confirms that (AP-6, AP-7). */
  readonly awaitsPreview?: boolean;
}

export interface Approved extends ApprovalRows {
  readonly grant: GrantRow | undefined;
  /** The id of the rule that "always" saved. */
  readonly ruleId: string | undefined;
  /** Other requests that the grant or the rule covers. */
  readonly released: readonly ApprovalRows[];
}

/**
 * Inside a unit: approves a request as it was displayed. Returns `POLICY_CHANGED` if nothing was written because the
 * call must be reviewed first (RK-5).
 */
export function* approve(
  tx: Transaction,
  parts: EngineParts,
  caller: Caller,
  approvalId: string,
  input: ApproveBody,
  policy: ToolCallPolicy,
  workspace: string,
): Unit<Approved | NotDecided | 'POLICY_CHANGED'> {
  const { store, signals, presence, policies } = parts;
  const now = store.now();
  const found = yield* pendingForDecision(tx, caller, approvalId, now);
  if ('refusal' in found) return found;
  let { approval, execution } = found;
  if (input.digest !== undefined ? input.digest !== approval.digest : approval.revision > 1) {
    throw new Refusal('PREVIEW_CHANGED');
  }
  if ((yield* tx.modeOf(execution.session_id)) === 'read_only') {
    const params = input.tool_params ?? (yield* wholePayload(tx, execution.id)).params;
    if (!isReadOnly(policy.decide(execution.tool_name, params))) throw readOnlyRefusal(execution.tool_name);
  }
  const isPreviewed = yield* presence.previews(tx, caller.userId, workspace);
  // The policy must be the newest: its rules go to the runner, and it decides which other requests are released.
  if ((yield* tx.policyVersion(caller.userId)) !== policies.versionOf(policy)) return 'POLICY_CHANGED';
  if (input.tool_params !== undefined) {
    const edited = yield* edit(
      tx,
      parts,
      { approval, execution },
      input.tool_params as JsonObject,
      policy,
      isPreviewed,
      now,
    );
    if ('refusal' in edited) return edited;
    ({ approval, execution } = edited);
  } else if (yield* isJudgedByOlderPolicy(tx, execution)) {
    return 'POLICY_CHANGED';
  } else if (approval.preview === null && (isPreviewed || approval.risk_level === 'HIGH')) {
    throw new Refusal('PREVIEW_PENDING');
  }
  const wider = yield* widen(tx, parts, caller, { approval, execution }, input, policy, workspace, now);
  const device = input.device ?? null;
  const rules = policy.rulesOnPaths(execution.tool_name);
  const { params } = yield* tx.shownPayload(execution.id);
  const approved = yield* approveCall(
    tx,
    signals,
    { approval, execution },
    {
      caller,
      device,
      workspace,
      now,
      scope: input.scope ?? 'once',
      grantId: wider?.grants[0]?.id ?? null,
      signal: { params, grants: [], rules },
      row: { approved_by: 'user', digest: approval.digest },
      audit: {
        action: 'approval.approved',
        data: {
          tool_id: execution.id,
          token: caller.tokenId,
          device,
          digest: approval.digest,
          scope: input.scope ?? 'once',
        },
      },
    },
  );
  const released = wider ? yield* releaseCovered(tx, signals, wider) : [];
  return {
    ...approved,
    grant: wider?.grants[0],
    ruleId: wider?.rules[0]?.id,
    released,
  };
}

/** AP-6: an edit is a new revision, validated, assessed and, where it matters, previewed again. */
function* edit(
  tx: Transaction,
  { policies }: EngineParts,
  current: ApprovalRows,
  given: JsonObject,
  policy: ToolCallPolicy,
  isPreviewed: boolean,
  now: number,
): Unit<ApprovalRows | NotDecided> {
  const { execution } = current;
  const decision = policy.decide(execution.tool_name, given);
  if (isRefused(decision.verdict) || !decision.assessed || !decision.call) {
    const { code, message } = decision.verdict as { code: ErrorCode; message: string };
    throw new Refusal('INVALID_PARAMS', { tool: execution.tool_name, problem: `${message} [${code}]` });
  }
  // Normalised like a new call: with defaults and short paths.
  const params = decision.call.params as JsonObject;
  const risk = higherRisk(decision.assessed.decision, 'MEDIUM');
  const earlier = yield* wholePayload(tx, execution.id);
  const requested = earlier.requested_params ?? earlier.params;
  const before = policy.decide(execution.tool_name, earlier.params).assessed?.decision ?? 'MEDIUM';
  const rose = isAbove(risk, higherRisk(before, 'MEDIUM'));
  // The runner had found a higher risk on the disk, and has not looked at the edit yet (VA-8).
  const wasRaised = isAbove(current.approval.risk_level, higherRisk(before, 'MEDIUM'));
  const revised: Partial<ApprovalRow> = {
    revision: current.approval.revision + 1,
    risk_level: risk,
    reasons: recordedReasons(decision.assessed.reasons),
    network: decision.assessed.network,
    preview: null,
    preview_size: 0,
    digest: null,
    digest_base: null,
    trial: null,
  };
  const payload = {
    params,
    description: describeCall(current.approval.agent, execution.tool_name, params),
    offered_scopes: scopesOffered(policy, decision),
  };
  const approval = { ...current.approval, ...revised };
  yield* tx.update('approvals', approval.id, revised);
  yield* tx.update('payloads', execution.id, {
    ...payload,
    params_size: sizeOf(params),
    requested_params: JSON.stringify(requested) === JSON.stringify(params) ? null : requested,
  });
  const judged = { tool_params: policies.mask(params), policy_version: policies.versionOf(policy) };
  yield* tx.update('tool_executions', execution.id, judged);
  const rules = policy.rulesOnPaths(execution.tool_name);
  const { revision } = approval;
  const events = [approvalUpdatedEvent(approval, payload, rules, now)];
  announceCall(tx, approval, events, 'approval.edited', { revision, risk_level: risk });
  // Returned, not thrown, so that the revision is committed and the person decides on its preview.
  if (rose) return { refusal: new Refusal('RISK_ROSE', { risk }), approval };
  if (risk === 'HIGH' || wasRaised) return { refusal: new Refusal('PREVIEW_PENDING'), approval };
  if (isPreviewed) return { refusal: new Refusal('PREVIEW_PENDING'), approval, awaitsPreview: true };
  return { approval, execution: { ...execution, ...judged } };
}

/** AP-4: a wider scope makes grants, or adds rules to the person's own policy: one for each pattern that was chosen. */
function* widen(
  tx: Transaction,
  { policies }: EngineParts,
  caller: Caller,
  { approval, execution }: ApprovalRows,
  input: ApproveBody,
  policy: ToolCallPolicy,
  workspace: string,
  now: number,
): Unit<Granted | undefined> {
  const scope = input.scope ?? 'once';
  if (scope === 'once') return undefined;
  const { params } = yield* wholePayload(tx, execution.id);
  const chosen = chosenRules(policy, policy.decide(execution.tool_name, params), scope, input.pattern);
  if (!chosen) throw new Refusal('GRANT_NOT_ALLOWED', { problem: 'it is not one of the offered scopes' });
  const grants = chosen.map((rule) =>
    newGrant(rule, scope, {
      execution,
      risk: approval.risk_level,
      includeHigh: input.include_high === true,
      workspace,
      id: newId(),
      now,
    }),
  );
  const { project_id: projectId } = execution;
  const about = { caller, device: input.device ?? null, workspace, projectId, now };
  if (scope === 'always' && !input.only_here) {
    const rules = grants.map(ruleToSave);
    for (const rule of rules) {
      yield* policies.addRule(tx, caller.userId, rule);
      tx.announce(caller.userId, {
        audit: [{ action: 'policy.rule_added', subject: rule.id, data: rule as unknown as Json }],
      });
    }
    const withRules = yield* policies.policyInside(tx, caller.userId, workspace);
    return { ...about, policy: withRules, policyVersion: policies.versionOf(withRules), grants: [], rules };
  }
  for (const grant of grants) {
    yield* tx.insert('grants', grant);
    const { tool, pattern, max_risk } = grant;
    announceCall(tx, grant, [], 'grant.made', { tool, pattern, max_risk });
  }
  return { ...about, policy, policyVersion: policies.versionOf(policy), grants, rules: [] };
}

/** Inside a unit: the person rejects (AP-5). */
export function* reject(
  tx: Transaction,
  { store }: EngineParts,
  caller: Caller,
  approvalId: string,
  input: RequestBody<'reject'>,
): Unit<ApprovalRows | NotDecided> {
  const now = store.now();
  const found = yield* pendingForDecision(tx, caller, approvalId, now);
  if ('refusal' in found) return found;
  const decided: Partial<ApprovalRow> = {
    status: 'rejected',
    decided_at: now,
    decided_device: input.device ?? null,
    decided_token: caller.tokenId,
    reason: input.reason ?? null,
    message: input.message ?? null,
  };
  yield* tx.update('approvals', approvalId, decided);
  const approval = { ...found.approval, ...decided };
  const device = input.device ?? null;
  const data = { tool_id: approval.tool_id, token: caller.tokenId, device };
  const events = [approvalResolvedEvent(approval, { status: 'rejected', device }, now)];
  announceCall(tx, approval, events, 'approval.rejected', data);
  const refusal = new Refusal('APPROVAL_REJECTED');
  const execution = yield* endCall(tx, found.execution, 'rejected', refusal, now);
  return { approval, execution };
}

/** The rows of a request that this caller may decide. If its deadline has passed, it expires here. */
export function* pendingForDecision(
  tx: Transaction,
  caller: Caller,
  approvalId: string,
  now: number,
): Unit<ApprovalRows | { refusal: Refusal; approval: ApprovalRow; expired: ExecutionRow }> {
  const rows = yield* approvalRows(tx, caller, approvalId);
  if (rows.approval.status !== 'pending') throw alreadyDecided(rows.approval);
  if (rows.approval.deadline_at <= now) {
    const { approval, execution } = yield* expireNow(tx, rows.approval, rows.execution, now);
    return { refusal: alreadyDecided(approval), approval, expired: execution };
  }
  return rows;
}

/** The full payload, regardless of its size: a decision is about all of it. */
export function* wholePayload(tx: Transaction, toolId: string): Unit<PayloadRow> {
  const payload = yield* tx.get('payloads', toolId);
  if (!payload) throw notFound('approval');
  return payload;
}
