import {
  describeError,
  findTool,
  isCustomToolName,
  type ToolOutcome,
  toModelResult,
} from '@countersign/protocol';
import type { StoredPolicies } from '../approve/stored-policies.ts';
import type { Caller } from '../caller.ts';
import type { AtPoint } from '../fault-points.ts';
import type { CallRequest } from '../record/call-request.ts';
import { orderOfStep } from '../record/step-order.ts';
import type { MessageRow, ProjectRow } from '../rows.ts';
import type { Bus, Store } from '../store.ts';
import type { ToolExecutor } from '../tool-executor.ts';
import type { HeldRun } from './held-run.ts';
import { toolMessageId } from './message-ids.ts';
import { resultText } from './model-visible-result.ts';
import { StepState } from './step-state.ts';
import { type StoredToolCall, toJson, toolCallsOf, unparsableParameter } from './stored-tool-call.ts';

export interface ToolStepDeps {
  readonly store: Store;
  readonly bus: Bus;
  readonly executor: ToolExecutor;
  readonly policies: StoredPolicies;
  readonly onError: (error: unknown) => void;
  readonly atPoint: AtPoint;
}

/** So many calls of a step are under way at once: no more approvals may be pending in a session (AG-3). */
const MAX_AT_ONCE = 10;

/** The agent inside the server, as the dispatcher knows it: each run may cancel its own calls. */
export const agentOf = (userId: string, runId: string): Caller => ({
  userId,
  tokenId: `run-${runId}`,
  scope: 'agent',
});

/**
 * The tool calls of one assistant message: each is made once, whoever asked for it before a crash, independent ones in
 * parallel, the others in order (EX-4). Ends when each has its tool message.
 */
export class ToolStep {
  readonly #deps: ToolStepDeps;
  readonly #run: HeldRun;
  readonly #project: ProjectRow;
  readonly #message: MessageRow;
  readonly #signal: AbortSignal;
  readonly #state: StepState;
  #unanswered = 0;

  constructor(
    deps: ToolStepDeps,
    run: HeldRun,
    project: ProjectRow,
    message: MessageRow,
    signal: AbortSignal,
  ) {
    this.#deps = deps;
    this.#run = run;
    this.#project = project;
    this.#message = message;
    this.#signal = signal;
    this.#state = new StepState(run, deps);
  }

  /** `open` are the calls that have no tool message yet. */
  async finish(open: readonly StoredToolCall[]): Promise<void> {
    try {
      await Promise.all(await this.#begin(open));
    } finally {
      await this.#state.close();
    }
  }

  /** Sets every open call going, each after those it must wait for. */
  async #begin(open: readonly StoredToolCall[]): Promise<readonly Promise<void>[]> {
    const { policies } = this.#deps;
    const calls = toolCallsOf(this.#message);
    const custom = calls.find(({ tool_name }) => isCustomToolName(tool_name));
    const policy = await policies.policyFor(
      this.#run.userId,
      this.#project.workspace,
      custom?.tool_name ?? '',
    );
    const decisions = calls.map((call) => policy.decide(call.tool_name, call.tool_params));
    const order = orderOfStep(decisions);
    const excerpt = await this.#excerpt();
    const slots = new Slots(MAX_AT_ONCE);
    const ended: Promise<void>[] = [];
    this.#unanswered = open.length;
    for (const [position, call] of calls.entries()) {
      const before = (order[position] ?? []).map((index) => ended[index]);
      const isOpen = open.some(({ index }) => index === call.index);
      const decision = decisions[position];
      const decided = decision && { policy, decision };
      ended.push(
        isOpen
          ? Promise.all(before).then(() => slots.use(() => this.#answer(call, decided, excerpt)))
          : Promise.resolve(),
      );
    }
    return ended;
  }

  async #answer(call: StoredToolCall, decided: CallRequest['decided'], excerpt: string): Promise<void> {
    const { atPoint } = this.#deps;
    this.#signal.throwIfAborted();
    await atPoint('tool.before');
    const outcome = isReadable(call) ? await this.#execute(call, decided, excerpt) : undefined;
    await atPoint('tool.answered');
    await this.#store(call, outcome);
    await atPoint('tool.stored');
  }

  /** A run that has ended, or that another node drives by now, makes no call: that throws `RunLost`. */
  async #execute(
    call: StoredToolCall,
    decided: CallRequest['decided'],
    excerpt: string,
  ): Promise<ToolOutcome> {
    const { executor, atPoint } = this.#deps;
    const { runId, epoch, userId, sessionId } = this.#run;
    const { step, index } = call;
    const outcome = await executor.executeTool(
      {
        userId,
        project: this.#project,
        sessionId,
        toolName: call.tool_name,
        toolParams: call.tool_params,
        toolCallId: call.tool_call_id,
        agent: 'Agent',
        requestedBy: agentOf(userId, runId).tokenId,
        context: { message_id: this.#message.id, run_id: runId, step, excerpt },
        run: { runId, epoch, step, index },
        decided,
      },
      {
        signal: this.#signal,
        recorded: async (toolId) => {
          await atPoint('tool.recorded');
          this.#state.begin(toolId);
        },
      },
    );
    this.#state.end(outcome.tool_id);
    return outcome;
  }

  /** The last of a step's results also says that the model thinks again. */
  async #store(call: StoredToolCall, outcome: ToolOutcome | undefined): Promise<void> {
    this.#unanswered -= 1;
    const isLast = this.#unanswered === 0;
    if (isLast) await this.#state.close();
    const answered = this.#message.id;
    const id = toolMessageId(answered, call.index);
    const content = resultText(outcome ? toModelResult(outcome) : unreadable(call));
    const tool_id = outcome?.tool_id ?? null;
    await this.#run.write(
      function* ({ tx, add }) {
        if (yield* tx.get('messages', id)) return;
        yield* add({ id, role: 'tool', content, tool_calls: null, tool_id, complete: true });
        const message = yield* tx.get('messages', answered);
        if (!message) return;
        const calls = toolCallsOf(message).map((other) =>
          other.index === call.index ? { ...other, tool_id } : other,
        );
        yield* tx.update('messages', answered, { tool_calls: toJson(calls) });
      },
      isLast ? { state: 'thinking' } : {},
    );
  }

  /** What the person reads beside an approval: why the agent says it wants this, or what it was asked. */
  async #excerpt(): Promise<string> {
    const { position, session_id, content } = this.#message;
    if (content !== '') return shorten(content);
    const before = await this.#deps.store.read((tx) =>
      tx.messagesOf(session_id, { after: position - 101, limit: 100 }),
    );
    return shorten(before.findLast(({ role }) => role === 'user')?.content ?? '');
  }
}

/** Parameters that were no JSON go to a built-in tool, which refuses them; a tool we do not know might take them. */
const isReadable = (call: StoredToolCall): boolean =>
  !Object.hasOwn(call.tool_params, unparsableParameter) || findTool(call.tool_name) !== undefined;

const unreadable = (call: StoredToolCall) => ({
  status: 'error' as const,
  tool_call_id: call.tool_call_id,
  error: describeError('INVALID_PARAMS', { tool: call.tool_name, problem: 'they are no JSON object' }),
  execution_time_ms: 0,
});

const shorten = (text: string): string => (text.length <= 300 ? text : `${text.slice(0, 299)}…`);

/** Lets so many through at once; the others wait in order. */
class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
