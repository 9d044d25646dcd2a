import { isFinal, type ToolOutcome } from '@countersign/protocol';
import { requireHeld } from './agent/held-run.ts';
import type { ApprovalManager } from './approve/approval-manager.ts';
import type { EngineParts } from './engine-parts.ts';
import { commit } from './fault-points.ts';
import { newId } from './ids.ts';
import { announceCall } from './record/announcements.ts';
import { callEvent, resultEvent } from './record/call-events.ts';
import type { CallRequest } from './record/call-request.ts';
import {
  digestOfCall,
  findPermission,
  type Judged,
  newExecution,
  newPayload,
  recordedAs,
} from './record/new-call.ts';
import type { ApprovalRow, ExecutionRow, JsonObject } from './rows.ts';
import type { Transaction, Unit } from './store.ts';
import { orAborted } from './waiting.ts';

interface Recorded {
  readonly execution: ExecutionRow;
  readonly approval: ApprovalRow | undefined;
}

/**
 * Takes one tool call from the agent's request to its outcome (EX-1). To learn the system, start here:
 * validate and assess (policy), record, ask (ApprovalManager) or signal the runner (Signals), answer (Outcomes).
 */
export class ToolExecutor {
  readonly #parts: EngineParts;
  readonly #approvals: ApprovalManager;

  constructor(parts: EngineParts, approvals: ApprovalManager) {
    this.#parts = parts;
    this.#approvals = approvals;
  }

  /**
   * Records a call and resolves with its outcome, which may take hours. The rows carry the call, so it survives a
   * restart that loses this promise. `recorded` is awaited after the commit. Aborting ends the waiting, not the call.
   */
  executeTool(
    request: CallRequest,
    { signal, recorded }: { signal?: AbortSignal; recorded?: (toolId: string) => Promise<void> } = {},
  ): Promise<ToolOutcome> {
    const { outcomes, store } = this.#parts;
    // Subscribe before committing, so that no re-read is needed.
    const id = newId(store.now());
    const outcome = outcomes.wait(id);
    // Chained, not awaited: a call that waits for a person must not keep its whole request in memory.
    return this.submit(request, id).then(
      async ({ execution: { id: toolId, status } }) => {
        await recorded?.(toolId);
        if (toolId === id && !isFinal(status)) return orAborted(outcome, signal);
        outcomes.forget(id);
        return orAborted(outcomes.of(toolId), signal);
      },
      (error: unknown) => {
        outcomes.forget(id);
        throw error;
      },
    );
  }

  /** Records the call and starts it. Resolves after the commit. `id` is used unless the call was recorded before. */
  async submit(request: CallRequest, id: string = newId(this.#parts.store.now())): Promise<Recorded> {
    const { policies, decisions, assignments } = this.#parts;
    // Judge the call outside the unit: others wait for the unit, and the parameters may be a whole file.
    const judged = await this.#judge(request);
    const recorded = await commit(this.#parts, 'record', (tx) => this.#record(tx, request, judged, id));
    if (recorded === 'POLICY_CHANGED') {
      policies.forget(request.userId);
      return this.submit(request, id);
    }
    if (recorded.approval) decisions.watch(recorded.approval);
    else assignments.watch(recorded.execution);
    return recorded;
  }

  async #judge(request: CallRequest): Promise<Judged> {
    const { policies } = this.#parts;
    const { toolName, toolParams, decided } = request;
    const policy = await policies.policyFor(request.userId, request.project.workspace, toolName);
    const decision = decided?.policy === policy ? decided.decision : policy.decide(toolName, toolParams);
    const params = (decision.call?.params ?? toolParams) as JsonObject;
    return {
      policy,
      decision,
      version: policies.versionOf(policy),
      rules: policy.rulesOnPaths(toolName),
      params,
      paramsDigest: digestOfCall(request, decision),
      maskedParams: policies.mask(params),
    };
  }

  *#record(
    tx: Transaction,
    request: CallRequest,
    judged: Judged,
    id: string,
  ): Unit<Recorded | 'POLICY_CHANGED'> {
    const { store, signals } = this.#parts;
    const { userId, project, agent, context, run } = request;
    const { params, rules } = judged;
    // Locked before all else, so that a switch of its mode comes before this call or after it.
    const session = request.opens ?? (yield* tx.get('sessions', request.sessionId));
    if (run) {
      // Lock order: the session, then the run. Only the run's holder may record its calls, each once.
      yield* requireHeld(tx, run);
      const known = yield* tx.executionOfCall(run.runId, run.step, run.index);
      if (known) return { execution: known, approval: undefined };
    }
    const now = store.now();
    const mode = session?.mode ?? 'ask';
    const permission = yield* findPermission(tx, request, judged, mode, now);
    const runs = permission.kind === 'run';
    // The call runs without asking, so the policy must be the newest. Later, the claim checks (EX-6).
    if (runs && permission.by === 'config' && (yield* tx.policyVersion(userId)) !== judged.version)
      return 'POLICY_CHANGED';
    const runnerId =
      runs && project.workspace !== null
        ? yield* signals.runnerFor(tx, userId, project.workspace, null, rules)
        : undefined;
    const created = newExecution(id, request, judged, permission, runnerId, now);
    const execution = recordedAs(created, permission);
    const payload = newPayload(execution, agent, judged);
    if (request.opens) yield* tx.insert('sessions', request.opens);
    yield* tx.insert('tool_executions', execution);
    yield* tx.insert('payloads', payload);
    const allowed =
      permission.kind === 'run' && permission.by === 'config'
        ? { approved_by: permission.by, scope: permission.grants[0]?.scope ?? null }
        : {};
    announceCall(tx, created, [callEvent(created, params, context, now, allowed)], 'call.recorded', {
      tool: execution.tool_name,
      params: execution.tool_params,
      status: created.status,
      risk_level: execution.risk_level,
      by: request.requestedBy,
    });
    switch (permission.kind) {
      case 'refused': {
        const { code } = permission;
        announceCall(tx, execution, [resultEvent(execution, null, now)], 'call.failed', { code });
        return { execution, approval: undefined };
      }
      case 'ask': {
        const about = { payload, agent, context, rules };
        return { execution, approval: yield* this.#approvals.requestToolApproval(tx, execution, about) };
      }
      case 'run': {
        const { grants } = permission;
        const signalled = yield* signals.signal(tx, execution, { params, grants, rules });
        return { execution: signalled, approval: undefined };
      }
    }
  }
}
