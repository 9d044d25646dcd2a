import { maxQueuedMessages, type QueuedMessage } from '@countersign/protocol';
import type { Edges } from '../engine-parts.ts';
import { commit, type FaultPoints } from '../fault-points.ts';
import { newId } from '../ids.ts';
import { announceCall, fits, isoTime, makeEvent } from '../record/announcements.ts';
import type { Caller } from '../record/call-request.ts';
import { belongsToCaller } from '../record/execution-record.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { QueuedMessageRow, SessionRow } from '../rows.ts';
import type { Hint, Store, Transaction, Unit } from '../store.ts';
import type { HeldRun, HeldUnit } from './held-run.ts';

/** Messages that were sent while a run was under way, and wait until the agent takes them (AG-5). */

export const queuedMessageView = (row: QueuedMessageRow): QueuedMessage => ({
  message_id: row.id,
  content: row.content,
  when_busy: row.when_busy,
  created_at: isoTime(row.created_at),
});

/** Inside a unit that has locked the session: adds a message at the end of its queue. */
export function* enqueue(
  tx: Transaction,
  { id: session_id, user_id, project_id }: SessionRow,
  message: Pick<QueuedMessageRow, 'content' | 'model' | 'when_busy'>,
  now: number,
): Unit<QueuedMessageRow> {
  const before = yield* tx.queuedMessagesOf(session_id);
  if (before.length >= maxQueuedMessages) throw new Refusal('QUEUE_FULL', { limit: maxQueuedMessages });
  const position = (before.at(-1)?.position ?? 0) + 1;
  const row = { id: newId(now), user_id, project_id, session_id, position, ...message, created_at: now };
  yield* tx.insert('queued_messages', row);
  announceQueue(tx, row, [...before, row], now);
  return row;
}

/** Inside a unit of a run: moves the whole queue to the end of the conversation. */
export function* takeQueue({ tx, run, now, add }: HeldUnit): Unit<void> {
  const rows = yield* tx.queuedMessagesOf(run.session_id);
  if (rows.length === 0) return;
  for (const { id, content } of rows) {
    yield* tx.remove('queued_messages', id);
    yield* add({ id, role: 'user', content });
  }
  yield* tx.update('sessions', run.session_id, { last_message_at: now });
  announceQueue(tx, run, [], now);
}

/** Inside a unit: announces the queue of a session as it is now. */
export function announceQueue(
  tx: Transaction,
  place: Pick<QueuedMessageRow, 'id' | 'user_id' | 'project_id' | 'session_id'>,
  rows: readonly QueuedMessageRow[],
  now: number,
): void {
  const { project_id, session_id } = place;
  const queued = rows.map(queuedMessageView);
  const event = { project_id, session_id, queued, timestamp: isoTime(now) };
  // Clients fetch a text that is too large for an event with the conversation (EV-2).
  const withoutContent = queued.map((message) => ({
    ...message,
    content: '',
    omitted: ['content' as const],
  }));
  const shown = fits(event) ? event : { ...event, queued: withoutContent };
  announceCall(tx, place, [makeEvent('queue.changed', shown)]);
}

export type FoundMessage =
  | { readonly queued: QueuedMessageRow }
  /** The agent has taken it, in this run. */
  | { readonly sent: { readonly sessionId: string; readonly runId: string } };

type QueueParts = FaultPoints & { readonly store: Store };

/**
 * Runs a unit on a message of the caller's queue, with its session locked. Throws NOT_FOUND for another person's message,
 * as for one that does not exist.
 */
export async function withQueued<T>(
  parts: QueueParts,
  caller: Caller,
  messageId: string,
  unit: (tx: Transaction, found: FoundMessage, session: SessionRow) => Unit<T>,
): Promise<T> {
  // Find the session first, because it must be locked before any other row. A message never changes its session.
  const sessionId = await parts.store.read(function* (tx) {
    const row = (yield* tx.get('queued_messages', messageId)) ?? (yield* tx.get('messages', messageId));
    return row?.session_id;
  });
  if (sessionId === undefined) throw notFound('message');
  return commit(parts, 'queue', function* (tx) {
    const session = yield* tx.get('sessions', sessionId);
    if (!session || !belongsToCaller(caller, session)) throw notFound('message');
    const queued = yield* tx.get('queued_messages', messageId);
    if (queued) return yield* unit(tx, { queued }, session);
    const message = yield* tx.get('messages', messageId);
    if (message?.role !== 'user' || message.run_id === null) throw notFound('message');
    return yield* unit(tx, { sent: { sessionId, runId: message.run_id } }, session);
  });
}

/** Changes the text of a message that waits. Throws MESSAGE_SENT once the agent has taken it. */
export function changeQueuedMessage(
  parts: QueueParts,
  caller: Caller,
  messageId: string,
  content: string,
): Promise<QueuedMessageRow> {
  return withQueued(parts, caller, messageId, function* (tx, found) {
    if (!('queued' in found)) throw new Refusal('MESSAGE_SENT');
    const row = { ...found.queued, content };
    yield* tx.update('queued_messages', row.id, { content });
    announceQueue(tx, row, yield* tx.queuedMessagesOf(row.session_id), parts.store.now());
    return row;
  });
}

/** Takes a message out of the queue. Throws MESSAGE_SENT once the agent has taken it. */
export function removeQueuedMessage(parts: QueueParts, caller: Caller, messageId: string): Promise<void> {
  return withQueued(parts, caller, messageId, function* (tx, found) {
    if (!('queued' in found)) throw new Refusal('MESSAGE_SENT');
    yield* tx.remove('queued_messages', messageId);
    announceQueue(tx, found.queued, yield* tx.queuedMessagesOf(found.queued.session_id), parts.store.now());
  });
}

/** How often the queue is read although no hint came, in case one was lost. */
const TICK_MS = 5_000;

/**
 * Tells a step whether a queued message is to be sent now. While there is such a message, `onSendNow` is called each
 * time that the queue or the pending approvals have changed.
 */
export class SendNowWatch {
  readonly #run: HeldRun;
  readonly #deps: Edges;
  readonly #onSendNow: () => Promise<void>;
  readonly #unsubscribe: () => void;
  #stopTick: (() => void) | undefined;
  #closed = false;
  #isDue = false;

  constructor(run: HeldRun, deps: Edges, onSendNow: () => Promise<void>) {
    this.#run = run;
    this.#deps = deps;
    this.#onSendNow = onSendNow;
    this.#unsubscribe = deps.bus.subscribe((hint) => {
      if (this.#concerns(hint)) this.look().catch(deps.onError);
    });
    this.#scheduleTick();
  }

  /** Whether the step should end: no further call of it begins. */
  get isDue(): boolean {
    return this.#isDue;
  }

  async look(): Promise<void> {
    const { sessionId } = this.#run;
    const queued = await this.#deps.store.read((tx) => tx.queuedMessagesOf(sessionId));
    if (this.#closed) return;
    this.#isDue = queued.some(({ when_busy }) => when_busy === 'send_now');
    if (this.#isDue) await this.#onSendNow();
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    this.#stopTick?.();
  }

  #concerns(hint: Hint): boolean {
    if (hint.kind !== 'events' || hint.userId !== this.#run.userId) return false;
    // A hint from another node carries no events: read the rows.
    if (!hint.events) return true;
    return hint.events.some(
      ({ event }) =>
        (event.event === 'queue.changed' || event.event === 'tool.approval_request') &&
        event.data.session_id === this.#run.sessionId,
    );
  }

  #scheduleTick(): void {
    if (this.#closed) return;
    this.#stopTick = this.#deps.clock.after(TICK_MS, () => {
      this.look()
        .catch(this.#deps.onError)
        .finally(() => this.#scheduleTick());
    });
  }
}
