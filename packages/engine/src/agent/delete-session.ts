import { sessionView } from '../approve/session-modes.ts';
import { announceCall, isoTime, makeEvent } from '../record/announcements.ts';
import type { Caller } from '../record/call-request.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { Store } from '../store.ts';

/**
 * Deletes a conversation: removes its messages, revokes its grants, and leaves it out of lists and searches. Its calls
 * stay in the history and in the audit log.
 */
export async function deleteSession(
  { store }: { readonly store: Store },
  caller: Caller,
  sessionId: string,
): Promise<void> {
  await store.write(function* (tx) {
    const now = store.now();
    const session = yield* tx.get('sessions', sessionId);
    if (session?.user_id !== caller.userId || session.deleted_at !== null) throw notFound('session');
    if (yield* tx.activeRunOf(sessionId)) throw new Refusal('RUN_ACTIVE');
    yield* tx.removeMessages(sessionId);
    for (const { id } of yield* tx.queuedMessagesOf(sessionId)) yield* tx.remove('queued_messages', id);
    yield* tx.update('sessions', sessionId, { title: '', mode: 'ask', deleted_at: now });
    for (const grant of yield* tx.liveGrants(session.user_id, session.project_id, now)) {
      if (grant.session_id !== sessionId) continue;
      yield* tx.update('grants', grant.id, { revoked_at: now });
      announceCall(tx, grant, [], 'grant.revoked', { token: caller.tokenId });
    }
    const event = makeEvent('session.changed', {
      session: sessionView({ ...session, title: '', mode: 'ask' }),
      deleted: true,
      timestamp: isoTime(now),
    });
    tx.announce(session.user_id, {
      events: [{ projectId: session.project_id, event }],
      audit: [{ action: 'session.deleted', subject: sessionId, data: { token: caller.tokenId } }],
    });
  });
}
