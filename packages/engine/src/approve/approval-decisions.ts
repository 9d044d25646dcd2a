import { isRefused, type ToolCallPolicy } from '@countersign/policy';
import {
  type ApprovalScope,
  describeCall,
  type ErrorCode,
  higherRisk,
  type RiskLevel,
  riskLevels,
} from '@countersign/protocol';
import type { Caller } from '../caller.ts';
import type { Signals } from '../dispatch/signals.ts';
import { newId } from '../ids.ts';
import type { RunnerPresence } from '../nodes/runner-presence.ts';
import { approvalResolvedEvent, approvalUpdatedEvent } from '../record/call-events.ts';
import { endCall, recordedReasons, transition } from '../record/execution-record.ts';
import { announceCall } from '../record/make-event.ts';
import { sizeOf } from '../record/shown-size.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ApprovalRow, ExecutionRow, GrantRow, Json, JsonObject, PayloadRow } from '../rows.ts';
import type { Store, Transaction, Unit } from '../store.ts';
import { type ApprovalRows, alreadyDecided, approvalRows } from './approval-rows.ts';
import { newGrant, ruleToSave, scopesOffered } from './grants.ts';
import { expireNow } from './pending-decisions.ts';
import { isJudgedByOlderPolicy } from './policy-review.ts';
import { type Granted, releaseCovered } from './released-calls.ts';
import type { StoredPolicies } from './stored-policies.ts';

/** What a person sends with an approval. */
export interface ApproveInput {
  readonly digest?: string | undefined;
  readonly scope?: ApprovalScope | undefined;
  readonly pattern?: string | undefined;
  readonly include_high?: boolean | undefined;
  readonly tool_params?: JsonObject | undefined;
  readonly device?: string | undefined;
}

export interface RejectInput {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly device?: string | undefined;
}

export interface ApprovalDecisionsDeps {
  readonly store: Store;
  readonly policies: StoredPolicies;
  readonly signals: Signals;
  readonly presence: RunnerPresence;
}

/** A refusal that is committed: the request expired just now, or an edit waits for its preview. */
export interface NotDecided {
  readonly refusal: Refusal;
  readonly approval: ApprovalRow;
  readonly expired?: ExecutionRow;
  /** An edit that did not raise the risk: it is approved as soon as its preview says the same (AP-6, AP-7). */
  readonly awaitsPreview?: boolean;
}

/** How a person decides about a request: approves or rejects it, once, each in one unit of writing. */
export class ApprovalDecisions {
  readonly #deps: ApprovalDecisionsDeps;

  constructor(deps: ApprovalDecisionsDeps) {
    this.#deps = deps;
  }

  *approve(
    tx: Transaction,
    caller: Caller,
    approvalId: string,
    input: ApproveInput,
    policy: ToolCallPolicy,
    workspace: string,
  ): Unit<
    | {
        approval: ApprovalRow;
        execution: ExecutionRow;
        grant: GrantRow | undefined;
        saved: string | undefined;
        released: readonly ApprovalRows[];
      }
    | NotDecided
    /** Nothing was written: the policy has changed since it judged the call, or was read. */
    | 'POLICY_CHANGED'
  > {
    const now = this.#deps.store.now();
    const found = yield* this.#pendingForDecision(tx, caller, approvalId, now);
    if ('refusal' in found) return found;
    let { approval, execution } = found;
    if (input.digest !== undefined ? input.digest !== approval.digest : approval.revision > 1) {
      throw new Refusal('PREVIEW_CHANGED');
    }
    const { signals, presence, policies } = this.#deps;
    const isPreviewed = yield* presence.previews(tx, caller.userId, workspace);
    // The runner is told the rules of this policy, and what else is released is judged by it.
    if ((yield* tx.policyVersion(caller.userId)) !== policies.versionOf(policy)) return 'POLICY_CHANGED';
    if (input.tool_params !== undefined) {
      const edited = yield* this.#edit(
        tx,
        { approval, execution },
        input.tool_params,
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
    const wider = yield* this.#widen(tx, caller, { approval, execution }, input, policy, workspace, now);
    const decided: Partial<ApprovalRow> = {
      status: 'approved',
      decided_at: now,
      decided_device: input.device ?? null,
      decided_token: caller.tokenId,
      scope: input.scope ?? 'once',
    };
    yield* tx.update('approvals', approval.id, decided);
    approval = { ...approval, ...decided };
    const rules = policy.rulesOnPaths(execution.tool_name);
    const previewer = approval.previewed_by;
    const runnerId = yield* signals.runnerFor(tx, caller.userId, workspace, previewer, rules);
    execution = yield* transition(tx, execution, 'approved', {
      approved_by: 'user',
      approved_at: now,
      digest: approval.digest,
      risk_level: approval.risk_level,
      reasons: approval.reasons,
      network: approval.network,
      attempt: execution.attempt + 1,
      runner_id: runnerId ?? null,
    });
    const device = input.device ?? null;
    const grantId = wider?.rule ? null : (wider?.grant.id ?? null);
    const events = [approvalResolvedEvent(approval, { status: 'approved', device, grantId }, now)];
    announceCall(tx, approval, events, 'approval.approved', {
      tool_id: execution.id,
      token: caller.tokenId,
      device,
      digest: approval.digest,
      scope: input.scope ?? 'once',
    });
    const { params } = yield* tx.shownPayload(execution.id);
    execution = yield* signals.signal(tx, execution, { params, grant: undefined, rules });
    const released = wider ? yield* releaseCovered(tx, signals, wider) : [];
    return {
      approval,
      execution,
      grant: wider?.rule ? undefined : wider?.grant,
      saved: wider?.rule?.id,
      released,
    };
  }

  /** AP-6: an edit is a new revision, validated, assessed and, where it matters, previewed again. */
  *#edit(
    tx: Transaction,
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
    // As a new call is recorded: with defaults, and paths in their short form.
    const params = decision.call.params as JsonObject;
    const risk = higherRisk(decision.assessed.decision, 'MEDIUM');
    const earlier = yield* wholePayload(tx, execution.id);
    const requested = earlier.requested_params ?? earlier.params;
    const before = policy.decide(execution.tool_name, earlier.params).assessed?.decision ?? 'MEDIUM';
    const rose = isAbove(risk, higherRisk(before, 'MEDIUM'));
    // The runner sees the disk, and found more than the text says: what it finds now is not known yet (VA-8).
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
    };
    const payload = {
      params,
      description: describeCall(current.approval.agent, execution.tool_name, params),
      offered_scopes: scopesOffered(decision),
    };
    const approval = { ...current.approval, ...revised };
    yield* tx.update('approvals', approval.id, revised);
    yield* tx.update('payloads', execution.id, {
      ...payload,
      params_size: sizeOf(params),
      requested_params: JSON.stringify(requested) === JSON.stringify(params) ? null : requested,
    });
    const { policies } = this.#deps;
    const judged = { tool_params: policies.mask(params), policy_version: policies.versionOf(policy) };
    yield* tx.update('tool_executions', execution.id, judged);
    const rules = policy.rulesOnPaths(execution.tool_name);
    const { revision } = approval;
    const events = [approvalUpdatedEvent(approval, payload, rules, now)];
    announceCall(tx, approval, events, 'approval.edited', { revision, risk_level: risk });
    // Returned, not thrown: the revision stays, and the person decides on its preview.
    if (rose) return { refusal: new Refusal('RISK_ROSE', { risk }), approval };
    if (risk === 'HIGH' || wasRaised) return { refusal: new Refusal('PREVIEW_PENDING'), approval };
    if (isPreviewed) return { refusal: new Refusal('PREVIEW_PENDING'), approval, awaitsPreview: true };
    return { approval, execution: { ...execution, ...judged } };
  }

  /** AP-4: a wider scope makes a grant, or a rule of the person's own policy. */
  *#widen(
    tx: Transaction,
    caller: Caller,
    { approval, execution }: ApprovalRows,
    input: ApproveInput,
    policy: ToolCallPolicy,
    workspace: string,
    now: number,
  ): Unit<Granted | undefined> {
    const scope = input.scope ?? 'once';
    if (scope === 'once') return undefined;
    const { params } = yield* wholePayload(tx, execution.id);
    const offered = scopesOffered(policy.decide(execution.tool_name, params));
    const wanted = scope === 'session' ? null : (input.pattern ?? null);
    const chosen = offered.find((offer) => offer.scope === scope && offer.pattern === wanted);
    if (!chosen) throw new Refusal('GRANT_NOT_ALLOWED', { problem: 'it is not one of the offered scopes' });
    const grant = newGrant(chosen, {
      execution,
      risk: approval.risk_level,
      includeHigh: input.include_high === true,
      workspace,
      id: newId(),
      now,
    });
    const granted = { caller, device: input.device ?? null, workspace, now, grant };
    if (scope === 'always') {
      const rule = ruleToSave(grant);
      yield* this.#deps.policies.addRule(tx, caller.userId, rule);
      tx.announce(caller.userId, {
        audit: [{ action: 'policy.rule_added', subject: rule.id, data: rule as unknown as Json }],
      });
      const withRule = yield* this.#deps.policies.policyInside(tx, caller.userId, workspace);
      const policyVersion = this.#deps.policies.versionOf(withRule);
      return { ...granted, policy: withRule, policyVersion, rule };
    }
    yield* tx.insert('grants', grant);
    const { tool, pattern, max_risk } = grant;
    announceCall(tx, grant, [], 'grant.made', { tool, pattern, max_risk });
    return { ...granted, policy, policyVersion: this.#deps.policies.versionOf(policy), rule: undefined };
  }

  *reject(
    tx: Transaction,
    caller: Caller,
    approvalId: string,
    input: RejectInput,
  ): Unit<ApprovalRows | NotDecided> {
    const now = this.#deps.store.now();
    const found = yield* this.#pendingForDecision(tx, caller, approvalId, now);
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

  /** The rows of a request that this caller may decide now; an expired one expires here and now. */
  *#pendingForDecision(
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
}

/** The payload, however large: a decision is about all of it. */
function* wholePayload(tx: Transaction, toolId: string): Unit<PayloadRow> {
  const payload = yield* tx.get('payloads', toolId);
  if (!payload) throw notFound('approval');
  return payload;
}

const isAbove = (a: RiskLevel, b: RiskLevel): boolean => riskLevels.indexOf(a) > riskLevels.indexOf(b);
