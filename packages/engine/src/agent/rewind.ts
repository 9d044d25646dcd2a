import { findTool, type ResponseBody, type RestoredFile } from '@countersign/protocol';
import { isoTime, makeEvent } from '../record/announcements.ts';
import type { Caller } from '../record/call-request.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ExecutionRow, FileChangeSummary, MessageRow, SessionRow } from '../rows.ts';
import type { Reading, Unit } from '../store.ts';
import { restoredFiles } from '../undo/run-changes.ts';
import { type UndoDeps, undoCalls, whyNotUndoable } from '../undo/undo-requests.ts';

/** Rewinds a conversation: this message and all later ones no longer count. */
export interface Rewind {
  readonly messageId: string;
  /** Also undo what file tools have changed since the message. */
  readonly files: boolean;
  /** Undo even if a file was changed again after the calls. */
  readonly force: boolean;
}

type Preview = Omit<ResponseBody<'previewRewind'>, 'success' | 'session_id' | 'message_id'>;

/** Returns what rewinding to a message would do. */
export async function previewRewind(
  { store, presence }: UndoDeps,
  session: SessionRow,
  messageId: string,
): Promise<Preview> {
  return store.read(function* (tx) {
    const message = yield* rewindable(tx, session, messageId);
    if (message.rewound_at !== null) return { messages: 0, files: [], kept: [], runner_connected: true };
    const { calls, changes } = yield* workSince(tx, session, message);
    const undone = calls.filter((call) => whyNotUndoable(call) === undefined);
    const workspace = (yield* tx.get('projects', session.project_id))?.workspace ?? '';
    const runnerId = yield* presence.pick(tx, session.user_id, workspace, undone[0]?.runner_id ?? null);
    return {
      messages: yield* tx.countMessagesFrom(session.id, message.position),
      files: [...restoredFiles(changes, undone)],
      kept: calls
        .filter(mayHaveChangedMore)
        .map(({ id, tool_name, status }) => ({ tool_id: id, tool_name, status })),
      runner_connected: runnerId !== undefined,
    };
  });
}

/**
 * Rewinds to a message: undoes the file changes made since, newest first, then marks this message and all later ones.
 * Nothing is deleted. If the process dies in between, a repeated request skips the calls that are undone already and
 * marks the messages. If the message is already rewound, does nothing, because newer messages may follow it.
 */
export async function rewindSession(
  deps: UndoDeps,
  caller: Caller,
  session: SessionRow,
  { messageId, files, force }: Rewind,
): Promise<{ readonly messages: number; readonly files: readonly RestoredFile[] }> {
  const { store } = deps;
  const { message, last, calls, changes } = await store.read(function* (tx) {
    const message = yield* rewindable(tx, session, messageId);
    if (yield* tx.activeRunOf(session.id)) throw new Refusal('RUN_ACTIVE');
    const last = yield* tx.lastPosition(session.id);
    return { message, last, ...(yield* workSince(tx, session, message)) };
  });
  if (message.rewound_at !== null) return { messages: 0, files: [] };
  const undone = files ? await undoCalls(deps, caller, calls, { force }) : [];
  const messages = await store.write(function* (tx) {
    const now = store.now();
    yield* tx.get('sessions', session.id); // a message that starts a run takes the same lock
    if (yield* tx.activeRunOf(session.id)) throw new Refusal('RUN_ACTIVE');
    if ((yield* tx.get('messages', messageId))?.rewound_at !== null) return 0;
    // A message arrived while the files were restored, and its run has ended: the changes of that run are not undone.
    if ((yield* tx.lastPosition(session.id)) !== last) throw new Refusal('RUN_ACTIVE');
    const messages = yield* tx.rewindMessages(session.id, message.position, now);
    const { id: session_id, project_id } = session;
    const event = makeEvent('session.rewound', {
      project_id,
      session_id,
      message_id: messageId,
      messages,
      timestamp: isoTime(now),
    });
    const data = { message_id: messageId, messages, files, force, token: caller.tokenId };
    tx.announce(session.user_id, {
      events: [{ projectId: project_id, event }],
      audit: [{ action: 'session.rewound', subject: session_id, data }],
    });
    return messages;
  });
  return { messages, files: restoredFiles(changes, undone) };
}

function* rewindable(tx: Reading, session: SessionRow, messageId: string): Unit<MessageRow> {
  const message = yield* tx.get('messages', messageId);
  if (message?.session_id !== session.id) throw notFound('message');
  if (message.role !== 'user' && message.role !== 'assistant') throw new Refusal('NOT_REWINDABLE');
  return message;
}

/** The calls from a message on, newest first, and the files that calls of the session changed. */
function* workSince(
  tx: Reading,
  session: SessionRow,
  message: MessageRow,
): Unit<{ calls: readonly ExecutionRow[]; changes: readonly FileChangeSummary[] }> {
  const calls = yield* tx.callsFrom(session, message);
  return { calls, changes: yield* tx.fileChangesOf({ sessionId: session.id }) };
}

/** Whether a call, such as a command, may have changed something that undo cannot restore. */
function mayHaveChangedMore(call: ExecutionRow): boolean {
  if (call.undone_at !== null || call.undoable || call.attempt === 0) return false;
  if (call.status === 'rejected' || call.status === 'timeout' || call.risk_level === 'LOW') return false;
  const tool = findTool(call.tool_name);
  if (tool?.changes === 'nothing' || call.error_type === 'LAYER_DROPPED') return false;
  // A file tool that changed a file is undoable; one that failed changed none.
  return tool?.changes !== 'files' || call.error_type === 'RUNNER_LOST';
}
