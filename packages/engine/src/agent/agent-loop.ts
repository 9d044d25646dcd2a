import { availableTools } from '../approve/stored-policies.ts';
import type { Engine } from '../engine.ts';
import type { Edges } from '../engine-parts.ts';
import { announceCall } from '../record/announcements.ts';
import { Refusal } from '../refusal.ts';
import type { MessageRow, ProjectRow, RunRow } from '../rows.ts';
import type { Reading, Unit } from '../store.ts';
import { addLateResults, findLateResults, readConversation } from './conversation.ts';
import { type HeldRun, RunLost, requireHeld } from './held-run.ts';
import { takeQueue } from './message-queue.ts';
import {
  assistantMessageId,
  type RunPlace,
  type StoredToolCall,
  toJson,
  toolCallsOf,
  toolMessageId,
  toStoredCalls,
} from './messages.ts';
import { ModelError, type ModelMessage, type Models } from './model.ts';
import { callModel, Draft, type ModelAnswer } from './model-call.ts';
import { endRun } from './run-ending.ts';
import { ToolStep } from './tool-step.ts';

/** Why this node stopped driving a run: the run ended, another node ended it or took it over, or an error occurred. */
export type RunEnd = 'ended' | 'let_go' | { readonly error: unknown };

export type ModelCallEnd =
  | { readonly inputTokens: number; readonly outputTokens: number; readonly toolCalls: number }
  | { readonly error: unknown };

/** Observes each run that this node drives and each model call in it (OB-1). Each returned function is called once, at the end. */
export interface RunObserver {
  drives(run: RunPlace): (end: RunEnd) => void;
  asksModel(call: ModelCallPlace): (end: ModelCallEnd) => void;
}

export interface ModelCallPlace {
  readonly runId: string;
  readonly step: number;
  readonly model: string;
}

export interface AgentDeps extends Edges {
  readonly engine: Pick<Engine, 'executor' | 'dispatcher' | 'policies'>;
  readonly models: Models;
  readonly budget: RunBudget;
  /** If the model sends nothing for this long, the call is retried. */
  readonly stallMs: number;
  readonly observer?: RunObserver | undefined;
}

/** A run that this node drives. */
export interface LiveRun {
  readonly held: HeldRun;
  readonly signal: AbortSignal;
  draft: Draft | undefined;
  /** The run's step when its row was last read. */
  step: number;
}

/**
 * Drives one run to its end: think → tool calls → results → … → answer (AG-1). It keeps no state: each round reads the
 * run's rows and does what comes next, so a restart simply calls it again (AG-2).
 */
export async function driveRun(live: LiveRun, deps: AgentDeps): Promise<void> {
  const { held, signal } = live;
  for (;;) {
    signal.throwIfAborted();
    const { run, project, step } = await deps.store.read((tx) => readRun(tx, held));
    live.step = run.step;
    if (step && step.open.length > 0) {
      await new ToolStep(deps, held, project, step.message, signal).finish(step.open);
      continue;
    }
    const exceeded = exceededBudget(run, deps.budget, deps.store.now());
    if (exceeded) return fail(held, exceeded);
    const isOver = await think(live, run, project, deps);
    if (isOver) return;
  }
}

interface RunPosition {
  readonly run: RunRow;
  readonly project: ProjectRow;
  /** The model's last message in this run, and its calls that have no result yet. */
  readonly step: { readonly message: MessageRow; readonly open: readonly StoredToolCall[] } | undefined;
}

function* readRun(tx: Reading, held: HeldRun): Unit<RunPosition> {
  const { runId, projectId } = held;
  const run = yield* requireHeld(tx, held);
  const project = yield* tx.get('projects', projectId);
  if (!project) throw new RunLost();
  if (run.step === 0) return { run, project, step: undefined };
  const message = yield* tx.get('messages', assistantMessageId(runId, run.step - 1));
  if (!message) return { run, project, step: undefined };
  const open: StoredToolCall[] = [];
  for (const call of toolCallsOf(message)) {
    if (!(yield* tx.get('messages', toolMessageId(message.id, call.index)))) open.push(call);
  }
  return { run, project, step: { message, open } };
}

/** Calls the model once and stores its answer as a step. Returns whether the run is over. */
async function think(live: LiveRun, run: RunRow, project: ProjectRow, deps: AgentDeps): Promise<boolean> {
  const { held, signal } = live;
  await addLateAndQueued(held, run, deps);
  await held.announceState('thinking');
  const { policies } = deps.engine;
  const mode = (await deps.store.read((tx) => tx.modeOf(held.sessionId))) ?? 'ask';
  const tools = availableTools(
    await policies.policyFile(held.userId),
    await policies.runnerFacts(held.userId, project.workspace),
    mode,
  );
  await deps.reached?.('model.before');
  // Check the epoch last: a stalled node must not repeat a step that another node has stored.
  const messages = await deps.store.read(function* (tx) {
    yield* requireHeld(tx, held);
    const conversation = yield* readConversation(tx, held.sessionId);
    return mode === 'read_only' ? [...conversation, readOnlyNote] : conversation;
  });
  const draft = new Draft(held, assistantMessageId(run.id, run.step), deps);
  live.draft = draft;
  const answered = deps.observer?.asksModel({ runId: run.id, step: run.step, model: run.model });
  let answer: ModelAnswer;
  try {
    const model = deps.models.find(run.model);
    answer = await callModel(model, { messages, tools, signal }, draft, deps);
    const { inputTokens, outputTokens, toolCalls } = answer;
    answered?.({ inputTokens, outputTokens, toolCalls: toolCalls.length });
  } catch (error) {
    answered?.({ error });
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof ModelError || error instanceof Refusal)) throw error;
    await fail(held, error, draft);
    return true;
  }
  await deps.reached?.('model.answered');
  signal.throwIfAborted();
  const isOver = await storeStep(held, run.step, answer, messages);
  live.draft = undefined;
  await deps.reached?.('step.stored');
  return isOver;
}

/** Before a model call: adds late results, and the messages that were queued while the run went on (AG-5). */
async function addLateAndQueued(held: HeldRun, { step }: RunRow, { store }: AgentDeps): Promise<void> {
  const { late, isQueued } = await store.read(function* (tx) {
    // The first step answers the message that started the run. Queued messages wait for the second step.
    const isQueued = step > 0 && (yield* tx.queuedMessagesOf(held.sessionId)).length > 0;
    return { late: yield* findLateResults(tx, held), isQueued };
  });
  if (late.length === 0 && !isQueued) return;
  await held.write(
    function* (unit) {
      yield* addLateResults(unit, late);
      if (isQueued) yield* takeQueue(unit);
    },
    { state: 'thinking' },
  );
}

/** Tells the model why some of its tools are missing. */
const readOnlyNote: ModelMessage = {
  role: 'note',
  text: 'This conversation is read only: tools that change something are not available, and calls of them are refused. Say what should be changed instead.',
};

/**
 * Stores the model's answer with its tool calls, the step and its tokens in one unit, so that a restart does not call
 * the model again. An answer without tool calls ends the run, unless messages are queued: the next step takes them
 * (AG-5).
 */
async function storeStep(
  held: HeldRun,
  step: number,
  answer: ModelAnswer,
  conversation: readonly ModelMessage[],
): Promise<boolean> {
  const id = assistantMessageId(held.runId, step);
  const calls = toStoredCalls(answer.toolCalls, step, conversation);
  return held.write(
    function* ({ tx, run, now, add, announce }) {
      if (run.step !== step) throw new RunLost();
      const isOver = calls.length === 0 && (yield* tx.queuedMessagesOf(held.sessionId)).length === 0;
      const content = { content: answer.text, tool_calls: toJson(calls), complete: true };
      if (yield* tx.update('messages', id, content)) {
        const stored = yield* tx.get('messages', id);
        if (stored) announce(stored);
      } else yield* add({ id, role: 'assistant', ...content });
      const usage = {
        input_tokens: run.input_tokens + answer.inputTokens,
        output_tokens: run.output_tokens + answer.outputTokens,
      };
      yield* tx.update('runs', held.runId, {
        step: step + 1,
        ...usage,
        ...(isOver && { status: 'completed', ended_at: now, lease_owner: null, lease_until: null }),
      });
      if (isOver) announceCall(tx, run, [], 'run.completed', { steps: step + 1, ...usage });
      return isOver;
    },
    { state: (isOver) => (isOver ? 'idle' : calls.length === 0 ? 'thinking' : 'tool_execution') },
  );
}

async function fail(
  held: HeldRun,
  error: { readonly code: string; readonly message: string },
  draft?: Draft,
): Promise<void> {
  await held.write(function* ({ tx, run, now }) {
    yield* endRun(tx, run, { status: 'failed', error }, now, draft);
  });
}

/** The limits of one run (AG-3). */
export interface RunBudget {
  /** Model calls. */
  readonly steps: number;
  /** Input and output tokens together. */
  readonly tokens: number;
  /** From the message to the answer, including the time that the person takes to decide. */
  readonly milliseconds: number;
}

export const defaultBudget: RunBudget = { steps: 50, tokens: 2_000_000, milliseconds: 4 * 3_600_000 };

/** Returns a refusal if the run has used up a part of its budget. */
function exceededBudget(run: RunRow, budget: RunBudget, now: number): Refusal | undefined {
  if (run.step >= budget.steps) return exceeded(`${budget.steps} steps`);
  if (run.input_tokens + run.output_tokens >= budget.tokens) return exceeded(`${budget.tokens} tokens`);
  if (now - run.created_at >= budget.milliseconds) return timeExceeded(budget);
  return undefined;
}

export const timeExceeded = ({ milliseconds }: RunBudget): Refusal =>
  exceeded(
    milliseconds < 60_000
      ? `${Math.round(milliseconds / 1000)} seconds`
      : `${Math.round(milliseconds / 60_000)} minutes`,
  );

const exceeded = (budget: string): Refusal => new Refusal('BUDGET_EXCEEDED', { budget });
