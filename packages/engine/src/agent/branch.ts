import { sessionView } from '../approve/session-modes.ts';
import { newId } from '../ids.ts';
import { isoTime, makeEvent } from '../record/announcements.ts';
import type { Caller } from '../record/call-request.ts';
import { notFound } from '../refusal.ts';
import type { MessageRow, SessionRow } from '../rows.ts';
import type { Store } from '../store.ts';
import { toolCallsOf, toolMessageId } from './messages.ts';

/**
 * Starts a new conversation with copies of the messages of another one, up to one of them and the results of its calls.
 * The calls themselves stay with the first conversation: rewinding the branch does not undo them.
 */
export async function branchSession(
  { store }: { readonly store: Store },
  caller: Caller,
  source: SessionRow,
  { messageId, session }: { readonly messageId: string; readonly session: SessionRow },
): Promise<SessionRow> {
  return store.write(function* (tx) {
    yield* tx.get('sessions', source.id);
    const last = yield* tx.get('messages', messageId);
    if (last?.session_id !== source.id || last.rewound_at !== null || !last.complete)
      throw notFound('message');
    const all = yield* tx.latestMessages(source.id, Number.MAX_SAFE_INTEGER);
    const results = new Set(toolCallsOf(last).map(({ index }) => toolMessageId(last.id, index)));
    const kept = all.filter((row) => row.complete && (row.position <= last.position || results.has(row.id)));
    const now = store.now();
    const branch = { ...session, last_message_at: now };
    yield* tx.insert('sessions', branch);
    for (const copy of copiesOf(kept, branch.id)) yield* tx.insert('messages', copy);
    const data = { from: source.id, message_id: messageId, token: caller.tokenId };
    const event = makeEvent('session.changed', { session: sessionView(branch), timestamp: isoTime(now) });
    tx.announce(caller.userId, {
      events: [{ projectId: branch.project_id, event }],
      audit: [{ action: 'session.branched', subject: branch.id, data }],
    });
    return branch;
  });
}

/** Copies with new ids. The id of a result names the message of its call, so that each call finds its result. */
function copiesOf(rows: readonly MessageRow[], sessionId: string): readonly MessageRow[] {
  const newIds = new Map<string, string>();
  for (const row of rows) {
    const id = newIds.get(row.id) ?? newId();
    newIds.set(row.id, id);
    for (const { index } of toolCallsOf(row))
      newIds.set(toolMessageId(row.id, index), toolMessageId(id, index));
  }
  return rows.map((row, index) => ({
    ...row,
    id: newIds.get(row.id) as string,
    session_id: sessionId,
    position: index + 1,
  }));
}

/** The title of a branch that the person did not name: that of its source with the next number. */
export function branchTitle(title: string): string {
  const [, plain = title, number = '1'] = /^(.*?) \((\d{1,4})\)$/s.exec(title) ?? [];
  return `${plain} (${Number(number) + 1})`.trim();
}
