import {
  branchSession,
  branchTitle,
  deleteSession,
  previewRewind,
  readRunChanges,
  rewindSession,
  sessionView,
  systemClock,
  undoRun,
} from '@countersign/engine';
import { ownProject, ownRun, ownSession } from '../own-rows.ts';
import type { Handlers } from '../route-types.ts';
import type { ServerParts } from '../server-parts.ts';
import { newSession } from './conversation.ts';

/** Deleting, rewinding and branching conversations, and what their runs changed (docs/decisions/0025). */
export function sessionHandlers({ store, bus, engine }: ServerParts) {
  const undo = { store, bus, clock: systemClock, presence: engine.presence };
  return {
    async deleteSession({ caller, params }) {
      const session = await ownSession(store, caller, params.session_id);
      await deleteSession({ store }, caller, session.id);
      return { success: true };
    },

    async previewRewind({ caller, params, query }) {
      const session = await ownSession(store, caller, params.session_id);
      const preview = await previewRewind(undo, session, query.message_id);
      return { success: true, session_id: session.id, message_id: query.message_id, ...preview };
    },

    async rewindSession({ caller, params, body }) {
      const session = await ownSession(store, caller, params.session_id);
      const { message_id, files, force } = body;
      const done = await rewindSession(undo, caller, session, { messageId: message_id, files, force });
      return {
        success: true,
        session_id: session.id,
        message_id,
        messages: done.messages,
        files: [...done.files],
      };
    },

    async branchSession({ caller, params, body }) {
      const source = await ownSession(store, caller, params.session_id);
      const project = await ownProject(store, caller, source.project_id);
      const session = newSession(store, project, { title: body.title ?? branchTitle(source.title) });
      const branch = await branchSession({ store }, caller, source, { messageId: body.message_id, session });
      return { success: true, session: sessionView(branch) };
    },

    async runChanges({ caller, params }) {
      const run = await ownRun(store, caller, params.run_id);
      const files = await store.read((tx) => readRunChanges(tx, run.id));
      return { success: true, run_id: run.id, files: [...files] };
    },

    async undoRun({ caller, params, body }) {
      const run = await ownRun(store, caller, params.run_id);
      const files = await undoRun(undo, caller, run, body);
      return { success: true, run_id: run.id, files: [...files] };
    },
  } satisfies Partial<Handlers>;
}
