import { ApiError, type ApprovalDecision, type Client, decide } from '@countersign/client';
import { CountersignError } from '@countersign/protocol';
import { RefusedByServer, type RunnerApi } from '@countersign/tool-runner';

export interface RunnerApiOptions {
  /** With a token that can only do what a runner does. */
  readonly runner: Client;
  /** The person's, for decisions made at this machine. */
  readonly person: Client;
  readonly projectId: string;
  readonly runnerId: string;
  /** Identifies this program among those that have been this runner. */
  readonly instance: string;
}

/** No retries here: the runner retries itself. */
const once = { retry: { times: 0 } };

/** The runner's API over the typed client. Refusals keep the server's code, status and message. */
export function runnerApiOverClient(options: RunnerApiOptions): RunnerApi {
  const { runner, person, projectId: project_id, runnerId: runner_id, instance } = options;
  const call = (tool_id: string) => ({ project_id, tool_id });
  const speaker = { runner_id, instance };

  const send = (decision: ApprovalDecision) => refusing(decide(person, decision, once));

  return {
    approveToolExecution: (approval_id, body) =>
      send({ decision: 'approved', params: { project_id, approval_id }, body }),
    rejectToolExecution: (approval_id, body) =>
      send({ decision: 'rejected', params: { project_id, approval_id }, body }),
    sendToolResult: (toolId, body) =>
      refusing(runner.submitResult({ params: call(toolId), body: { ...body, ...speaker } })),
    startToolExecution: (toolId, body) =>
      refusing(runner.startExecution({ params: call(toolId), body: { ...body, ...speaker } })),
    sendToolPreview: (approval_id, body) =>
      refusing(runner.submitPreview({ params: { project_id, approval_id }, body: { ...body, ...speaker } })),
    sendToolProgress: (toolId, body) =>
      refusing(runner.submitProgress({ params: call(toolId), body: { ...body, ...speaker } })),
    sendHeartbeat: (body) =>
      refusing(runner.heartbeat({ params: { project_id, runner_id }, body: { ...body, instance } })),

    async fetchToolParams(toolId) {
      const params = { tool_id: toolId };
      const found = runner.getExecution({ params }, once);
      const { execution, omitted } = await refusing(found);
      // The parameters were purged; only their masked record is left, which must not be executed.
      if (omitted?.includes('tool_params')) throw new CountersignError('NOT_FOUND', { what: 'tool call' });
      return execution.tool_params;
    },
  };
}

/** Turns the client's error into the one that the runner knows. */
async function refusing<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (failure) {
    if (!(failure instanceof ApiError)) throw failure;
    throw new RefusedByServer(failure.code, failure.message, failure.status, { cause: failure });
  }
}
