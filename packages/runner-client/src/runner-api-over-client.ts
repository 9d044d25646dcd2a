import {
  ApiError,
  type ApprovalDecision,
  type Client,
  type DecisionOutcome,
  decide,
} from '@countersign/client';
import { CountersignError } from '@countersign/protocol';
import type { DecisionAnswer, RunnerApi } from '@countersign/tool-runner';

export interface RunnerApiOptions {
  /** With a token that can do what a runner does, and no more. */
  readonly runner: Client;
  /** The person's, for decisions made at this machine. */
  readonly person: Client;
  readonly projectId: string;
  readonly runnerId: string;
  /** Which program of that runner it is. */
  readonly instance: string;
  /** Which approval a card of this call is about. */
  readonly approvalOf: (toolId: string) => string | undefined;
  /** How a decision was taken, for the card that made it; also when it was not. */
  readonly onDecided: (approvalId: string, sent: Promise<DecisionOutcome>) => void;
}

/** What the runner says to the server, over the typed client. Refusals keep the server's code and words. */
export function runnerApiOverClient(options: RunnerApiOptions): RunnerApi {
  const { runner, person, projectId: project_id, runnerId: runner_id, instance } = options;
  const { approvalOf, onDecided } = options;
  const call = (tool_id: string) => ({ project_id, tool_id });

  const send = async (decision: ApprovalDecision): Promise<DecisionAnswer> => {
    const sent = decide(person, decision);
    onDecided(decision.params.approval_id, sent);
    const outcome = await refusing(sent);
    return outcome.outcome === 'overruled'
      ? { outcome: 'overruled', status: outcome.standing.status }
      : { outcome: 'stands' };
  };

  return {
    approveToolExecution: (_toolId, { approvalId, digest, scope, pattern, toolParams, includeHigh }) =>
      send({
        decision: 'approved',
        params: { project_id, approval_id: approvalId },
        body: {
          ...(digest !== undefined && { digest }),
          ...(scope !== undefined && { scope }),
          ...(pattern !== undefined && { pattern }),
          ...(toolParams !== undefined && { tool_params: toolParams }),
          ...(includeHigh !== undefined && { include_high: includeHigh }),
        },
      }),

    rejectToolExecution(toolId, reason, message) {
      const approval_id = approvalOf(toolId);
      if (approval_id === undefined) throw new CountersignError('NOT_FOUND', { what: 'approval' });
      const body = { reason, ...(message !== undefined && { message }) };
      return send({ decision: 'rejected', params: { project_id, approval_id }, body });
    },

    async sendToolResult(toolId, { status, result, error, executionTimeMs, attempt, undoId }) {
      const about = {
        ...(executionTimeMs !== undefined && { execution_time_ms: Math.round(executionTimeMs) }),
        attempt,
        runner_id,
        instance,
        ...(undoId !== undefined && { undo_id: undoId }),
      };
      const body =
        status === 'completed'
          ? { status, result: result ?? null, ...about }
          : status === 'failed'
            ? { status, error: error ?? 'failed', ...(result !== undefined && { result }), ...about }
            : { status, ...(error && { error }), ...(result !== undefined && { result }), ...about };
      try {
        const { audit_head } = await runner.submitResult({ params: call(toolId), body });
        return { outcome: 'acknowledged', ...(audit_head !== undefined && { auditHead: audit_head }) };
      } catch (failure) {
        const isFinal = failure instanceof ApiError && failure.status >= 400 && !failure.isRetryable;
        if (!isFinal || failure.status === 401) throw refusal(failure);
        return { outcome: 'refused', code: failure.code, message: failure.message };
      }
    },

    async startToolExecution(toolId, { digest, attempt }) {
      const body = { digest, runner_id, attempt, instance };
      await refusing(runner.startExecution({ params: call(toolId), body }));
    },

    async sendToolPreview(approvalId, report) {
      const { revision, reasons } = report;
      const common = { runner_id, instance, revision, reasons: [...reasons] };
      const body =
        'refused' in report
          ? { ...common, refused: report.refused }
          : {
              ...common,
              preview: report.preview,
              digest_base: report.base,
              digest: report.digest,
              risk_level: report.riskLevel,
              network: report.network,
            };
      const params = { project_id, approval_id: approvalId };
      await refusing(runner.submitPreview({ params, body: body as never }));
    },

    async sendToolProgress(toolId, progress) {
      await refusing(
        runner.submitProgress({ params: call(toolId), body: { ...progress, runner_id, instance } }),
      );
    },

    async sendHeartbeat({ queued, executing, unacknowledged, customTools, limits }) {
      const body = {
        instance,
        queued: [...queued],
        executing: [...executing],
        unacknowledged: [...unacknowledged],
        ...(customTools && { custom_tools: [...customTools] }),
        ...(limits && { limits }),
      };
      const answer = await refusing(runner.heartbeat({ params: { project_id, runner_id }, body }));
      return {
        calls: answer.calls,
        ...(answer.audit_head !== undefined && { auditHead: answer.audit_head }),
        ...(answer.limits && { limits: answer.limits }),
      };
    },

    async fetchToolParams(toolId) {
      const { execution, omitted } = await refusing(runner.getExecution({ params: { tool_id: toolId } }));
      // What is left of them is their record, with its secrets and contents masked: that is nothing to run.
      if (omitted?.includes('tool_params')) throw new CountersignError('NOT_FOUND', { what: 'tool call' });
      return execution.tool_params;
    },
  };
}

/** The server's refusal as the runner knows refusals: by its code. */
class RefusedByServer extends CountersignError {
  constructor(error: ApiError) {
    super(error.code, {}, { cause: error });
    this.message = error.message;
  }
}

const refusal = (failure: unknown): unknown =>
  failure instanceof ApiError ? new RefusedByServer(failure) : failure;

async function refusing<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (failure) {
    throw refusal(failure);
  }
}
