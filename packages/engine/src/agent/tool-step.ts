import type { PolicyDecision } from '@countersign/policy';
import {
  describeError,
  findTool,
  isCustomCall,
  isCustomToolName,
  type ToolOutcome,
  toModelResult,
} from '@countersign/protocol';
import type { Caller, CallRequest } from '../record/call-request.ts';
import { Refusal } from '../refusal.ts';
import type { MessageRow, ProjectRow } from '../rows.ts';
import type { Bus, Hint, Store } from '../store.ts';
import type { AgentDeps } from './agent-loop.ts';
import { resultText } from './conversation.ts';
import { type HeldRun, RunLost } from './held-run.ts';
import { SendNowWatch } from './message-queue.ts';
import { type StoredToolCall, toJson, toolCallsOf, toolMessageId, unparsableParameter } from './messages.ts';

/** Maximum number of calls that run at once: a session may not have more pending approvals (AG-3). */
const MAX_AT_ONCE = 10;

/** The identity with which a run makes its calls, and may cancel them. */
export const agentOf = (userId: string, runId: string): Caller => ({
  userId,
  tokenId: `run-${runId}`,
  scope: 'agent',
});

/**
 * The tool calls of one assistant message. Independent calls run in parallel, the others in order (EX-4). A call that
 * was made before a crash is not made again. The step ends when each call has its tool message. If the person sends a
 * queued message now, it ends early: calls that have not begun get a tool message that says so (AG-5).
 */
export class ToolStep {
  readonly #deps: AgentDeps;
  readonly #run: HeldRun;
  readonly #project: ProjectRow;
  readonly #message: MessageRow;
  readonly #signal: AbortSignal;
  readonly #state: StepState;
  readonly #sendNow: SendNowWatch;
  /** Executions of this step that have not ended. */
  readonly #underWay = new Set<string>();
  #unanswered = 0;

  constructor(deps: AgentDeps, run: HeldRun, project: ProjectRow, message: MessageRow, signal: AbortSignal) {
    this.#deps = deps;
    this.#run = run;
    this.#project = project;
    this.#message = message;
    this.#signal = signal;
    this.#state = new StepState(run, deps);
    this.#sendNow = new SendNowWatch(run, deps, () => this.#cancelUnstarted());
  }

  /** `open` are the calls that have no tool message yet. */
  async finish(open: readonly StoredToolCall[]): Promise<void> {
    try {
      await this.#sendNow.look();
      await Promise.all(await this.#begin(open));
    } finally {
      this.#sendNow.close();
      await this.#state.close();
    }
  }

  /** Starts every open call, after the calls that it must wait for. Returns a promise for the end of each call. */
  async #begin(open: readonly StoredToolCall[]): Promise<readonly Promise<void>[]> {
    const { policies } = this.#deps.engine;
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
    const { reached } = this.#deps;
    this.#signal.throwIfAborted();
    await reached?.('tool.before');
    const isReadableCall = isReadable(call);
    const outcome =
      isReadableCall && (await this.#mayBegin(call))
        ? await this.#execute(call, decided, excerpt)
        : undefined;
    await reached?.('tool.answered');
    await this.#store(call, outcome ?? (isReadableCall ? 'NOT_STARTED' : 'INVALID_PARAMS'));
    await reached?.('tool.stored');
  }

  /** Whether a call may begin: yes if no message is to be sent now, or if the call began before a crash. */
  async #mayBegin({ step, index }: StoredToolCall): Promise<boolean> {
    if (!this.#sendNow.isDue) return true;
    const known = await this.#deps.store.read((tx) => tx.executionOfCall(this.#run.runId, step, index));
    return known !== undefined;
  }

  /** Cancels the calls that have not begun or wait for a decision, because the person sent a message instead. */
  async #cancelUnstarted(): Promise<void> {
    const { runId, userId } = this.#run;
    const { message } = describeError('NOT_STARTED');
    for (const toolId of this.#underWay)
      await this.#deps.engine.dispatcher
        .cancel(agentOf(userId, runId), toolId, message, ['awaiting_approval', 'approved'])
        .catch((error: unknown) => {
          if (!(error instanceof Refusal)) throw error; // it has ended meanwhile
        });
  }

  /** Throws `RunLost` if the run has ended or another node drives it: then no call is made. */
  async #execute(
    call: StoredToolCall,
    decided: CallRequest['decided'],
    excerpt: string,
  ): Promise<ToolOutcome> {
    const { engine, reached } = this.#deps;
    const { runId, epoch, userId, sessionId } = this.#run;
    const { step, index } = call;
    const outcome = await engine.executor.executeTool(
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
          await reached?.('tool.recorded');
          this.#underWay.add(toolId);
          this.#state.begin(toolId);
          if (this.#sendNow.isDue) await this.#cancelUnstarted();
        },
      },
    );
    this.#underWay.delete(outcome.tool_id);
    this.#state.end(outcome.tool_id);
    return outcome;
  }

  /** Stores the tool message. The last one of a step also announces the state `thinking`. */
  async #store(call: StoredToolCall, outcome: ToolOutcome | 'NOT_STARTED' | 'INVALID_PARAMS'): Promise<void> {
    this.#unanswered -= 1;
    const isLast = this.#unanswered === 0;
    if (isLast) await this.#state.close();
    const answered = this.#message.id;
    const id = toolMessageId(answered, call.index);
    const isMade = typeof outcome === 'object';
    const content = resultText(isMade ? toModelResult(outcome) : notMade(call, outcome));
    const answer = {
      tool_id: isMade ? outcome.tool_id : null,
      ...(outcome === 'NOT_STARTED' && { not_started: true }),
    };
    await this.#run.write(
      function* ({ tx, add, announce }) {
        if (yield* tx.get('messages', id)) return;
        yield* add({ id, role: 'tool', content, tool_id: answer.tool_id });
        const message = yield* tx.get('messages', answered);
        if (!message) return;
        const calls = toolCallsOf(message).map((other) =>
          other.index === call.index ? { ...other, ...answer } : other,
        );
        const tool_calls = toJson(calls);
        yield* tx.update('messages', answered, { tool_calls });
        // A call that was made has events of its own, so its message need not be announced again.
        if (answer.not_started) announce({ ...message, tool_calls });
      },
      isLast ? { state: 'thinking' } : {},
    );
  }

  /** The context on an approval card: the agent's own words, or else the person's last message. */
  async #excerpt(): Promise<string> {
    const { position, session_id, content } = this.#message;
    if (content !== '') return shorten(content);
    const before = await this.#deps.store.read((tx) =>
      tx.messagesOf(session_id, { after: position - 101, limit: 100 }),
    );
    return shorten(before.findLast(({ role }) => role === 'user')?.content ?? '');
  }
}

/** Unparsable parameters are safe to pass to a built-in tool, which refuses them. A custom tool might accept them. */
const isReadable = (call: StoredToolCall): boolean =>
  !Object.hasOwn(call.tool_params, unparsableParameter) || findTool(call.tool_name) !== undefined;

const notMade = (
  { tool_call_id, tool_name: tool }: StoredToolCall,
  code: 'NOT_STARTED' | 'INVALID_PARAMS',
) => ({
  status: 'error' as const,
  tool_call_id,
  error: describeError(code, { tool, problem: 'they are no JSON object' }),
  execution_time_ms: 0,
});

const shorten = (text: string): string => (text.length <= 300 ? text : `${text.slice(0, 299)}…`);

/** Limits how many run at once; the others wait in order. */
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

/**
 * Announces the agent's state while the calls of a step run: `awaiting_approval` while the person is asked about one of
 * them, `tool_execution` otherwise. It reads the rows whenever one of the calls changes.
 */
export class StepState {
  readonly #run: HeldRun;
  readonly #store: Store;
  readonly #onError: (error: unknown) => void;
  readonly #unsubscribe: () => void;
  readonly #open = new Set<string>();
  #reading: Promise<void> | undefined;
  #mustReadAgain = false;
  #closed = false;

  constructor(run: HeldRun, deps: { store: Store; bus: Bus; onError: (error: unknown) => void }) {
    this.#run = run;
    this.#store = deps.store;
    this.#onError = deps.onError;
    this.#unsubscribe = deps.bus.subscribe((hint) => {
      if (this.#concerns(hint)) this.#refresh();
    });
  }

  begin(toolId: string): void {
    this.#open.add(toolId);
    this.#refresh();
  }

  end(toolId: string): void {
    this.#open.delete(toolId);
    this.#refresh();
  }

  /** After this, no state is announced. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#unsubscribe();
    await this.#reading;
  }

  #concerns(hint: Hint): boolean {
    if (hint.kind !== 'events' || hint.userId !== this.#run.userId) return false;
    // A hint from another node carries no events: read the rows.
    return (
      hint.events?.some(
        ({ event }) =>
          (event.event === 'tool.approval_request' || event.event === 'approval.resolved') &&
          this.#open.has(event.data.tool_id),
      ) ?? true
    );
  }

  #refresh(): void {
    if (this.#closed) return;
    this.#mustReadAgain = true;
    this.#reading ??= this.#readAndAnnounce()
      .catch((error) => {
        if (!(error instanceof RunLost)) this.#onError(error);
      })
      .finally(() => {
        this.#reading = undefined;
      });
  }

  async #readAndAnnounce(): Promise<void> {
    while (this.#mustReadAgain && !this.#closed) {
      this.#mustReadAgain = false;
      const ids = [...this.#open];
      if (ids.length === 0) return;
      const isAsking = await this.#store.read(function* (tx) {
        for (const id of ids) {
          if ((yield* tx.get('tool_executions', id))?.status === 'awaiting_approval') return true;
        }
        return false;
      });
      if (!this.#closed) await this.#run.announceState(isAsking ? 'awaiting_approval' : 'tool_execution');
    }
  }
}

/**
 * Decides which calls of a step must wait for earlier ones (EX-4). Calls that change the same path, or a folder above
 * it, run in order. Commands run after earlier writes, and everything runs after a command that may write. Everything
 * else runs in parallel. Returns, for each call, the indexes of the calls that must end first.
 */
export function orderOfStep(decisions: readonly PolicyDecision[]): readonly (readonly number[])[] {
  const effects = decisions.map(effectOf);
  return effects.map((effect, index) =>
    effects.flatMap((earlier, before) => (before < index && mustWait(earlier, effect) ? [before] : [])),
  );
}

interface Effect {
  /** It runs a program, which may read anything that was written before. */
  readonly isCommand: boolean;
  /** It may write anywhere: a command that is not harmless, a commit, a push. */
  readonly writesAnywhere: boolean;
  readonly writes: readonly string[];
  readonly touches: readonly string[];
  /** For example: reading a job's output, or ending the job. */
  readonly touchesNoFile: boolean;
}

function mustWait(earlier: Effect, later: Effect): boolean {
  if (earlier.touchesNoFile || later.touchesNoFile) return false;
  if (earlier.writesAnywhere) return true;
  if (later.isCommand && earlier.writes.length > 0) return true;
  return overlap(earlier.writes, later.touches) || overlap(later.writes, earlier.touches);
}

function overlap(some: readonly string[], others: readonly string[]): boolean {
  return some.some((a) => others.some((b) => a === b || isAbove(a, b) || isAbove(b, a)));
}

/** The root is the empty path. */
const isAbove = (folder: string, path: string): boolean => folder === '' || path.startsWith(`${folder}/`);

/** Many disks ignore case. Treating two names as the same only costs waiting. */
const fold = (path: string): string => path.normalize('NFC').toLowerCase();

function effectOf({ call, details, assessed }: PolicyDecision): Effect {
  // A refused call does nothing.
  if (!call || !details || !assessed)
    return { isCommand: false, writesAnywhere: false, writes: [], touches: [], touchesNoFile: true };
  // A custom tool may touch anything.
  const isCommand = details.commands.length > 0 || call.tool.startsWith('git_') || isCustomCall(call);
  return {
    isCommand,
    writesAnywhere: isCommand && assessed.decision !== 'LOW',
    writes: details.operands.filter(({ use }) => use === 'write').map(({ path }) => fold(path)),
    touches: details.operands.map(({ path }) => fold(path)),
    touchesNoFile: 'job_id' in call.params && !isCustomCall(call),
  };
}
