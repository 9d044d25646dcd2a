import { isFinal } from '@countersign/protocol';
import { announceCall } from '../record/announcements.ts';
import { Refusal } from '../refusal.ts';
import type { RunRow } from '../rows.ts';
import type { Transaction, Unit } from '../store.ts';
import type { AgentDeps } from './agent-loop.ts';
import { type HeldUnit, heldUnit } from './held-run.ts';
import {
  assistantMessageId,
  endNoteId,
  type StoredToolCall,
  stateEvent,
  toJson,
  toolCallsOf,
  toolMessageId,
} from './messages.ts';
import { agentOf } from './tool-step.ts';

const LEFTOVERS_AT_ONCE = 1_000;

/** How a run ends without an answer: the person stopped it, or it could not continue. */
export type RunEnding =
  | { readonly status: 'stopped'; readonly by: string }
  | { readonly status: 'failed'; readonly error: { readonly code: string; readonly message: string } };

/**
 * Inside a unit: ends a run that is running. Keeps what the model had written (`draft` is newer than the stored text),
 * tells the person why, marks the calls that were never made, and announces that the agent is idle. The queue stays.
 */
export function* endRun(
  tx: Transaction,
  run: RunRow,
  ending: RunEnding,
  now: number,
  draft?: { readonly messageId: string; readonly text: string },
): Unit<RunRow> {
  const held = heldUnit(tx, run, now);
  const ended = {
    status: ending.status,
    error: ending.status === 'failed' ? ending.error.message : null,
    ended_at: now,
    lease_owner: null,
    lease_until: null,
  } as const;
  yield* tx.update('runs', run.id, ended);
  const unfinished = yield* tx.get('messages', assistantMessageId(run.id, run.step));
  if (unfinished && !unfinished.complete) {
    const content = draft?.messageId === unfinished.id ? draft.text : unfinished.content;
    yield* tx.update('messages', unfinished.id, { content, complete: true });
    held.announce({ ...unfinished, content, complete: true });
  }
  yield* markOpenCalls(held);
  const { message: content } = ending.status === 'failed' ? ending.error : new Refusal('RUN_STOPPED');
  yield* held.add({ id: endNoteId(run.id), role: 'system', content });
  const data = ending.status === 'failed' ? { code: ending.error.code } : { token: ending.by };
  announceCall(tx, run, [stateEvent(run, 'idle', now)], `run.${ending.status}`, data);
  return { ...run, ...ended };
}

/** The last step's calls without a result: names the execution of each, or says that it never began. */
function* markOpenCalls({ tx, run, announce }: HeldUnit): Unit<void> {
  if (run.step === 0) return;
  const message = yield* tx.get('messages', assistantMessageId(run.id, run.step - 1));
  if (!message) return;
  const calls: StoredToolCall[] = [];
  let hasOpen = false;
  for (const call of toolCallsOf(message)) {
    const isAnswered = (yield* tx.get('messages', toolMessageId(message.id, call.index))) !== undefined;
    const execution = isAnswered ? undefined : yield* tx.executionOfCall(run.id, call.step, call.index);
    hasOpen ||= !isAnswered;
    calls.push(
      isAnswered ? call : execution ? { ...call, tool_id: execution.id } : { ...call, not_started: true },
    );
  }
  if (!hasOpen) return;
  const tool_calls = toJson(calls);
  yield* tx.update('messages', message.id, { tool_calls });
  announce({ ...message, tool_calls });
}

/** After the commit: cancels the calls of the run's last step that have not ended (EX-8). */
export async function cancelOpenCalls(
  run: RunRow,
  reason: string,
  { store, engine }: Pick<AgentDeps, 'store' | 'engine'>,
): Promise<void> {
  if (run.step === 0) return;
  const step = run.step - 1;
  const open = await store.read(function* (tx) {
    const message = yield* tx.get('messages', assistantMessageId(run.id, step));
    const ids: string[] = [];
    for (const { index } of message ? toolCallsOf(message) : []) {
      const execution = yield* tx.executionOfCall(run.id, step, index);
      if (execution && !isFinal(execution.status)) ids.push(execution.id);
    }
    return ids;
  });
  for (const id of open) await cancelUnlessEnded(run, id, reason, engine);
}

/** Cancels calls that are still open because a process died after it had ended their run. */
export async function cancelLeftoverCalls({
  store,
  engine,
}: Pick<AgentDeps, 'store' | 'engine'>): Promise<void> {
  for (const { id, run_id } of await store.read((tx) => tx.leftoverExecutions(LEFTOVERS_AT_ONCE))) {
    const run = run_id === null ? undefined : await store.read((tx) => tx.get('runs', run_id));
    if (!run || run.status === 'running') continue;
    await cancelUnlessEnded(run, id, run.error ?? new Refusal('RUN_STOPPED').message, engine);
  }
}

async function cancelUnlessEnded(
  run: RunRow,
  toolId: string,
  reason: string,
  { dispatcher }: AgentDeps['engine'],
): Promise<void> {
  await dispatcher.cancel(agentOf(run.user_id, run.id), toolId, reason).catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error;
  });
}
