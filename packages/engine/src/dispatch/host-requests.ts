import { isFinal, type ParsedBody } from '@countersign/protocol';
import { requireGivenTo } from '../claim/runner-bindings.ts';
import type { EngineParts } from '../engine-parts.ts';
import type { Caller } from '../record/call-request.ts';
import { ownExecution } from '../record/execution-record.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ExecutionRow, JsonObject } from '../rows.ts';
import type { ToolExecutor } from '../tool-executor.ts';
import type { Dispatcher } from './dispatcher.ts';

/** The name of a command on a card, at most. */
const MAX_NAME = 80;

/**
 * Asks the person whether a running command may reach a host that its card did not name (RN-5). It is a call of its own, of
 * `reach_host` in the command's conversation: recorded, assessed, covered by grants and rules, and executed by the runner,
 * which then lets the connection through.
 */
export class HostRequests {
  readonly #parts: EngineParts;
  readonly #executor: ToolExecutor;
  readonly #dispatcher: Dispatcher;

  constructor(parts: EngineParts, executor: ToolExecutor, dispatcher: Dispatcher) {
    this.#parts = parts;
    this.#executor = executor;
    this.#dispatcher = dispatcher;
  }

  /** Resolves when the request is recorded. `toolId` is the call whose command wants to reach the host. */
  async ask(caller: Caller, toolId: string, input: ParsedBody<'askForHost'>): Promise<ExecutionRow> {
    const { store, runners, policies, outcomes, onError } = this.#parts;
    const { call, project, params, context } = await store.read(function* (tx) {
      const call = yield* ownExecution(tx, caller, toolId);
      yield* requireGivenTo(tx, call, input, runners);
      const project = yield* tx.get('projects', call.project_id);
      const params = (yield* tx.get('payloads', toolId))?.params;
      const context =
        call.approval_id === null ? undefined : (yield* tx.get('approvals', call.approval_id))?.context;
      return { call, project, params, context };
    });
    if (!project) throw notFound('project');
    // A background job runs on after its call.
    const isJob = call.tool_name === 'shell_background' && call.status === 'completed';
    if (isFinal(call.status) && !isJob) throw new Refusal('ALREADY_FINAL', { status: call.status });
    const { execution } = await this.#executor.submit({
      userId: call.user_id,
      project,
      sessionId: call.session_id,
      toolName: 'reach_host',
      toolParams: { host: input.host, tool_id: toolId },
      toolCallId: toolId,
      agent: nameOf(policies.mask((params ?? {}) as JsonObject) as JsonObject),
      requestedBy: call.requested_by,
      context: context ?? { message_id: null, run_id: call.run_id, step: call.step, excerpt: '' },
    });
    // Nobody needs to decide any more when the command has ended.
    if (!isJob && !isFinal(execution.status))
      void outcomes
        .of(toolId)
        .then(() =>
          this.#dispatcher.cancel(caller, execution.id, 'the command has ended', ['awaiting_approval']),
        )
        .catch((error: unknown) => {
          if (!(error instanceof Refusal)) onError(error);
        });
    return execution;
  }
}

/** The command as its own card began: `npm test`. */
function nameOf({ command, args }: JsonObject): string {
  const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === 'string');
  const text = words.join(' ').trim() || 'a command';
  return text.length <= MAX_NAME ? text : `${text.slice(0, MAX_NAME - 1)}…`;
}
