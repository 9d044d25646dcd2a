import { newId } from '../ids.ts';
import { announceCall } from '../record/make-event.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { MessageRow, RunRow } from '../rows.ts';
import type { Transaction, Unit } from '../store.ts';
import { messageCreatedEvent, stateEvent } from './message-events.ts';

export interface NewRun {
  readonly userId: string;
  readonly projectId: string;
  readonly sessionId: string;
  readonly content: string;
  readonly model: string;
  readonly lease: Pick<RunRow, 'epoch' | 'lease_owner' | 'lease_until'>;
  readonly now: number;
}

/** Inside a unit: the person's message and the run that it starts. One run at a time in a session. */
export function* storeNewRun(
  tx: Transaction,
  { userId, projectId, sessionId, content, model, lease, now }: NewRun,
): Unit<{ readonly run: RunRow; readonly message: MessageRow }> {
  // The session's row is the lock: of two messages at once, one starts a run.
  const session = yield* tx.get('sessions', sessionId);
  if (session?.user_id !== userId || session.project_id !== projectId) throw notFound('session');
  if (yield* tx.activeRunOf(sessionId)) throw new Refusal('RUN_ACTIVE');
  const run: RunRow = {
    id: newId(now),
    user_id: userId,
    project_id: projectId,
    session_id: sessionId,
    model,
    status: 'running',
    step: 0,
    ...lease,
    input_tokens: 0,
    output_tokens: 0,
    error: null,
    created_at: now,
    ended_at: null,
  };
  const message: MessageRow = {
    id: newId(now),
    user_id: userId,
    session_id: sessionId,
    run_id: run.id,
    position: (yield* tx.lastPosition(sessionId)) + 1,
    role: 'user',
    content,
    tool_calls: null,
    tool_id: null,
    complete: true,
    created_at: now,
  };
  yield* tx.insert('runs', run);
  yield* tx.insert('messages', message);
  yield* tx.update('sessions', sessionId, {
    last_message_at: now,
    ...(session.title === '' && { title: titleOf(content) }),
  });
  const events = [
    messageCreatedEvent(message, run, now),
    stateEvent({ runId: run.id, projectId, sessionId }, 'thinking', now),
  ];
  announceCall(tx, run, events, 'run.started', { model, session_id: sessionId });
  return { run, message };
}

function titleOf(content: string): string {
  const line = content.trim().split('\n', 1)[0] ?? '';
  return line.length <= 80 ? line : `${line.slice(0, 79)}…`;
}
