import { grantCovers, isRefused, type PolicyDecision } from '@countersign/policy';
import {
  describeCall,
  type ErrorCode,
  type ExecutionStatus,
  higherRisk,
  isFinal,
  type PolicyRule,
  type ToolOutcome,
} from '@countersign/protocol';
import type { ApprovalManager } from './approve/approval-manager.ts';
import { scopesOffered } from './approve/grants.ts';
import type { StoredPolicies } from './approve/stored-policies.ts';
import type { Dispatcher } from './dispatch/dispatcher.ts';
import { commit, type FaultPoints } from './fault-points.ts';
import { newId } from './ids.ts';
import { digestOfCall } from './record/call-digest.ts';
import { callEvent, resultEvent } from './record/call-events.ts';
import type { CallRequest } from './record/call-request.ts';
import { failure, moved, recordedReasons } from './record/execution-record.ts';
import { sizeOf } from './record/shown-size.ts';
import { Refusal } from './refusal.ts';
import type { ApprovalRow, ExecutionRow, GrantRow, Json, JsonObject, PayloadRow } from './rows.ts';
import type { Outcomes } from './settle/outcomes.ts';
import { DuplicateRow, type Store, type Transaction, type Unit } from './store.ts';

export interface ToolExecutorDeps extends FaultPoints {
  readonly store: Store;
  readonly policies: StoredPolicies;
  readonly approvals: ApprovalManager;
  readonly dispatcher: Dispatcher;
  readonly outcomes: Outcomes;
}

/** At most this many approvals wait in one session (AG-3). */
const MAX_PENDING_APPROVALS = 10;
/** A call that was rejected this often is not asked again (AG-3). */
const MAX_REJECTIONS = 2;

/**
 * Takes one tool call from the agent's request to its outcome (EX-1). To learn the system, start here:
 * validate and assess (policy), record, ask (ApprovalManager), signal the runner (Dispatcher), answer (Outcomes).
 */
export class ToolExecutor {
  readonly #deps: ToolExecutorDeps;

  constructor(deps: ToolExecutorDeps) {
    this.#deps = deps;
  }

  /** Resolves with the final state, whenever that is: the rows, not this promise, carry the call. */
  async executeTool(request: CallRequest): Promise<ToolOutcome> {
    const { outcomes, store } = this.#deps;
    // Who waits before the commit need not look afterwards whether the call has ended meanwhile.
    const id = newId(store.now());
    const outcome = outcomes.wait(id);
    let waits = false;
    try {
      const { execution } = await this.submit(request, id);
      waits = execution.id === id && !isFinal(execution.status);
      return await (waits ? outcome : outcomes.of(execution.id));
    } finally {
      if (!waits) outcomes.forget(id);
    }
  }

  /** Records the call and sets it going; resolves once that is committed. `id` is for a call that is new. */
  async submit(request: CallRequest, id: string = newId(this.#deps.store.now())): Promise<Recorded> {
    const { policies, approvals, dispatcher } = this.#deps;
    const policy = await policies.policyFor(request.userId, request.project.workspace, request.toolName);
    const decision = policy.decide(request.toolName, request.toolParams);
    // Here and not in the unit, which others wait for: the parameters may be a whole file.
    const judged: Judged = {
      decision,
      version: policies.versionOf(policy),
      rules: policy.rulesOnPaths(request.toolName),
      paramsDigest: digestOfCall(request, decision),
      maskedParams: policies.mask(paramsOf(request, decision)),
    };
    let recorded: Recorded;
    try {
      recorded = await this.#recordOnce(request, judged, id);
    } catch (error) {
      if (!(error instanceof PolicyChanged)) throw error;
      policies.forget(request.userId);
      return this.submit(request, id);
    }
    if (recorded.approval) approvals.watch(recorded.approval);
    else dispatcher.signalled(recorded.execution);
    return recorded;
  }

  /** Two nodes may take up the same run at once: the call is the one that was recorded first (AG-2). */
  async #recordOnce(request: CallRequest, judged: Judged, id: string): Promise<Recorded> {
    try {
      return await commit(this.#deps, 'record', (tx) => this.#record(tx, request, judged, id));
    } catch (error) {
      if (!(error instanceof DuplicateRow) || !request.run) throw error;
      return commit(this.#deps, 'record', (tx) => this.#record(tx, request, judged, id));
    }
  }

  *#record(tx: Transaction, request: CallRequest, judged: Judged, id: string): Unit<Recorded> {
    const { decision, rules } = judged;
    const known =
      request.run && (yield* tx.executionOfCall(request.run.runId, request.run.step, request.run.index));
    if (known) return { execution: known, approval: undefined };
    const now = this.#deps.store.now();
    if (request.opens) yield* tx.insert('sessions', request.opens);
    const fate = yield* this.#decideFate(tx, request, judged, now);
    // Nobody is asked: what lets it run must not have been forbidden since the policy was read. Later the claim looks (EX-6).
    if (
      fate.kind === 'run' &&
      fate.by === 'config' &&
      (yield* tx.policyVersion(request.userId)) !== judged.version
    )
      throw new PolicyChanged();
    const { workspace } = request.project;
    const runnerId =
      fate.kind === 'run' && workspace !== null
        ? yield* this.#deps.dispatcher.runnerFor(tx, request.userId, workspace, null, rules)
        : undefined;
    const created = this.#newExecution(id, request, judged, fate, { runnerId, now });
    const reached = moved(created, ...statesOf(fate, created));
    const execution = reached.status === 'executing' ? { ...reached, started_at: now } : reached;
    const params = paramsOf(request, decision);
    yield* tx.insert('tool_executions', execution);
    const payload: PayloadRow = {
      id: execution.id,
      user_id: request.userId,
      created_at: now,
      params_size: sizeOf(params),
      description: fate.kind === 'ask' ? describeCall(request.agent, request.toolName, params) : null,
      offered_scopes: fate.kind === 'ask' ? scopesOffered(decision) : null,
      requested_params: null,
      params,
    };
    yield* tx.insert('payloads', payload);
    tx.announce(request.userId, {
      events: [
        {
          projectId: request.project.id,
          event: callEvent(created, params, request.context as unknown as Json, now),
        },
      ],
      audit: [
        {
          action: 'call.recorded',
          subject: execution.id,
          data: {
            tool: execution.tool_name,
            params: execution.tool_params,
            status: created.status,
            risk_level: execution.risk_level,
            by: request.requestedBy,
          },
        },
      ],
    });
    switch (fate.kind) {
      case 'refused':
        tx.announce(request.userId, {
          events: [{ projectId: request.project.id, event: resultEvent(execution, null, now) }],
          audit: [{ action: 'call.failed', subject: execution.id, data: { code: fate.code } }],
        });
        return { execution, approval: undefined };
      case 'ask': {
        const { agent, context } = request;
        const about = { payload, agent, context, rules };
        const approval = yield* this.#deps.approvals.requestToolApproval(tx, execution, about);
        return { execution, approval };
      }
      case 'run': {
        const signalled = yield* this.#deps.dispatcher.signal(tx, execution, params, fate.grant, rules);
        return { execution: signalled, approval: undefined };
      }
    }
  }

  /** What becomes of a call: refused, asked about, or run at once, and by whose word. */
  *#decideFate(
    tx: Transaction,
    request: CallRequest,
    { decision, paramsDigest }: Judged,
    now: number,
  ): Unit<Fate> {
    const { verdict, assessed, allowedBy, call, details } = decision;
    if (isRefused(verdict)) return { kind: 'refused', code: verdict.code, message: verdict.message };
    if (allowedBy) return { kind: 'run', by: 'config', grant: undefined, rule: allowedBy };
    if (verdict.decision === 'LOW') return { kind: 'run', by: 'auto', grant: undefined, rule: undefined };
    const workspace = request.project.workspace ?? '';
    for (const grant of yield* tx.liveGrants(request.userId, request.project.id, now)) {
      if (!call || !details || !assessed || grant.revoked_at !== null) continue;
      const here = { sessionId: request.sessionId, workspace, risk: assessed.decision, now };
      if (grantCovers(grant, call, details, here))
        return { kind: 'run', by: 'config', grant, rule: undefined };
    }
    return (yield* this.#whyNotAsked(tx, request, paramsDigest)) ?? { kind: 'ask' };
  }

  /** AG-3: in a session, and over all sessions of a token that opens one after the other. */
  *#whyNotAsked(tx: Transaction, request: CallRequest, paramsDigest: string): Unit<Fate | undefined> {
    const { userId, sessionId, opens, isOutsideAgent } = request;
    const requestedBy = isOutsideAgent || opens ? request.requestedBy : null;
    // Locked, so that of many calls at once each counts those before it.
    if (opens) yield* tx.get('projects', request.project.id);
    else yield* tx.get('sessions', sessionId);
    const rejections = yield* tx.countRejections(userId, { paramsDigest, sessionId, requestedBy });
    if (rejections >= MAX_REJECTIONS) return refusedBy(new Refusal('REJECTED_BEFORE'));
    const pending = Math.max(
      yield* tx.countPendingApprovals(sessionId),
      requestedBy === null ? 0 : yield* tx.countAwaiting(userId, requestedBy),
    );
    if (pending < MAX_PENDING_APPROVALS) return undefined;
    return refusedBy(new Refusal('TOO_MANY_PENDING', { limit: MAX_PENDING_APPROVALS }));
  }

  #newExecution(
    id: string,
    request: CallRequest,
    { decision: { assessed, verdict }, version, paramsDigest, maskedParams }: Judged,
    fate: Fate,
    { runnerId, now }: { runnerId: string | undefined; now: number },
  ): ExecutionRow {
    const runs = fate.kind === 'run';
    return {
      id,
      user_id: request.userId,
      project_id: request.project.id,
      session_id: request.sessionId,
      run_id: request.run?.runId ?? null,
      step: request.run?.step ?? null,
      call_index: request.run?.index ?? null,
      tool_call_id: request.toolCallId,
      requested_by: request.requestedBy,
      tool_name: request.toolName,
      tool_params: maskedParams,
      params_digest: paramsDigest,
      status: 'pending',
      // Whoever asks for a harmless call to be asked about gets a request as any other, with time to decide.
      risk_level: assessed
        ? fate.kind === 'ask'
          ? higherRisk(assessed.decision, 'MEDIUM')
          : assessed.decision
        : null,
      reasons: recordedReasons(verdict.reasons),
      network: assessed?.network ?? false,
      requires_approval: fate.kind === 'ask',
      approval_id: fate.kind === 'ask' ? newId(now) : null,
      approved_by: runs ? fate.by : null,
      grant_id: runs ? (fate.grant?.id ?? null) : null,
      policy_version: version,
      allowed_by: runs && fate.rule ? withoutExamples(fate.rule) : null,
      digest: null,
      runner_id: runnerId ?? null,
      claimed_by: null,
      attempt: runs ? 1 : 0,
      due_at: null,
      cancel_requested: false,
      error: null,
      error_type: null,
      error_recoverable: null,
      execution_time_ms: null,
      exit_code: null,
      result_digest: null,
      undoable: false,
      undo_id: null,
      undo_runner_id: null,
      created_at: now,
      approved_at: runs ? now : null,
      started_at: null,
      completed_at: null,
      undone_at: null,
      ...(fate.kind === 'refused' && failure(fate.code, fate.message, now)),
    };
  }
}

/** The parameters that run are those that were decided on: with the tool's defaults, and paths in their short form. */
const paramsOf = (request: CallRequest, { call }: PolicyDecision): JsonObject =>
  (call?.params ?? request.toolParams) as JsonObject;

/** The states that a call passes when it is recorded (EX-2). Only the last one is stored: it is all one commit (PF-1). */
function statesOf(fate: Fate, { risk_level, runner_id }: ExecutionRow): readonly ExecutionStatus[] {
  if (fate.kind === 'refused') return ['failed'];
  if (fate.kind === 'ask') return ['awaiting_approval'];
  return risk_level === 'LOW' && runner_id !== null ? ['approved', 'executing'] : ['approved'];
}

/** Between judging a call and recording it: it is judged again. */
class PolicyChanged extends Error {}

/** What is known of a call before it is recorded. */
interface Judged {
  readonly decision: PolicyDecision;
  /** Of the policy that it was judged by. */
  readonly version: number;
  readonly rules: readonly PolicyRule[];
  readonly paramsDigest: string;
  readonly maskedParams: Json;
}

interface Recorded {
  readonly execution: ExecutionRow;
  readonly approval: ApprovalRow | undefined;
}

type Fate =
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'ask' }
  | {
      readonly kind: 'run';
      readonly by: 'auto' | 'config';
      readonly grant: GrantRow | undefined;
      readonly rule: PolicyRule | undefined;
    };

/** What decides; its examples are for whoever edits it. */
const withoutExamples = ({ matches: _m, does_not_match: _d, ...rule }: PolicyRule): PolicyRule => rule;

const refusedBy = ({ code, message }: Refusal): Fate => ({ kind: 'refused', code, message });
