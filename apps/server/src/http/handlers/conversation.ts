import {
  type Caller,
  changeQueuedMessage,
  messageView,
  newId,
  notFound,
  type ProjectRow,
  queuedMessageView,
  removeQueuedMessage,
  type SessionRow,
  type Store,
  sessionView,
} from '@countersign/engine';
import { sentLimits } from '@countersign/protocol';
import { refuseWhenOverloaded } from '../admission.ts';
import { encodeCursor, readMessageCursor } from '../cursor.ts';
import { inProject, mayUseProject, ownProject, ownSession } from '../own-rows.ts';
import type { Handlers } from '../route-types.ts';
import { wordsOf } from '../search-words.ts';
import type { ServerParts } from '../server-parts.ts';
import { isoTime, projectView, runView, workspaceRoot } from '../views.ts';

/** Maximum number of sessions in a list. */
const LISTED_SESSIONS = 1_000;
const FOUND_SESSIONS = 200;

/** Projects, sessions, messages, runs and runners. */
export function conversationHandlers({ store, engine, runs, config }: ServerParts) {
  return {
    async sendMessage({ caller, params, body }) {
      refuseWhenOverloaded({ store, config });
      const project = await ownProject(store, caller, params.project_id);
      const session =
        body.session_id === undefined
          ? await latestSession(store, project)
          : await sessionIn(store, caller, body.session_id, project.id);
      const { content, model, when_busy: whenBusy } = body;
      return { success: true, ...(await runs.start({ caller, project, session, content, model, whenBusy })) };
    },

    async changeQueuedMessage({ caller, params, body }) {
      const row = await changeQueuedMessage(
        { store },
        inProject(caller, params),
        params.message_id,
        body.content,
      );
      return { success: true, message: queuedMessageView(row) };
    },

    async removeQueuedMessage({ caller, params }) {
      await removeQueuedMessage({ store }, inProject(caller, params), params.message_id);
      return { success: true };
    },

    async sendQueuedMessage({ caller, params }) {
      refuseWhenOverloaded({ store, config });
      return { success: true, ...(await runs.sendQueued(inProject(caller, params), params.message_id)) };
    },

    async listMessages({ caller, params, query }) {
      const project = await ownProject(store, caller, params.project_id);
      const session =
        query.session_id === undefined
          ? (await store.read((tx) => tx.sessionsOf(caller.userId, project.id, 1)))[0]
          : await sessionIn(store, caller, query.session_id, project.id);
      if (!session) return { success: true, messages: [], queued: [], next_cursor: null };
      const after = query.cursor === undefined ? undefined : readMessageCursor(query.cursor);
      const page = { limit: query.limit + 1, ...(after !== undefined && { after }) };
      const { rows, models, queued } = await store.read(function* (tx) {
        const rows = yield* tx.messagesOf(session.id, page);
        const positions = { from: rows[0]?.position ?? 0, to: rows.at(-1)?.position ?? 0 };
        const models = yield* tx.modelsOf(session.id, positions);
        return { rows, models, queued: yield* tx.queuedMessagesOf(session.id) };
      });
      const shown = rows.slice(0, query.limit);
      const last = shown.at(-1);
      const hasMore = rows.length > shown.length && last !== undefined;
      return {
        success: true,
        messages: shown.map((row) => messageView(row, models.get(row.run_id ?? ''))),
        queued: queued.map(queuedMessageView),
        next_cursor: hasMore ? encodeCursor([last.position]) : null,
      };
    },

    async listProjects({ caller }) {
      const rows = await store.read((tx) => tx.projectsOf(caller.userId));
      return { success: true, projects: rows.filter(({ id }) => mayUseProject(caller, id)).map(projectView) };
    },

    async createProject({ caller, body }) {
      const now = store.now();
      const { name } = body;
      const workspace = typeof body.workspace === 'string' ? workspaceRoot(body.workspace) : null;
      const row: ProjectRow = { id: newId(), user_id: caller.userId, name, workspace, created_at: now };
      await store.write(function* (tx) {
        yield* tx.insert('projects', row);
        tx.announce(caller.userId, {
          audit: [{ action: 'project.made', subject: row.id, data: { name, workspace } }],
        });
      });
      return { success: true, project: projectView(row) };
    },

    async listSessions({ caller, params, query }) {
      await ownProject(store, caller, params.project_id);
      const { userId } = caller;
      const rows = await store.read((tx) =>
        query.q === undefined
          ? tx.sessionsOf(userId, params.project_id, LISTED_SESSIONS)
          : tx.searchSessions(userId, params.project_id, wordsOf(query.q), FOUND_SESSIONS),
      );
      return { success: true, sessions: rows.map(sessionView) };
    },

    async createSession({ caller, params, body }) {
      const project = await ownProject(store, caller, params.project_id);
      const openedBy = caller.scope === 'agent' ? caller.tokenId : null;
      const row = newSession(store, project, { title: body.title, openedBy });
      return { success: true, session: sessionView(await storeSession(store, row)) };
    },

    async changeSession({ caller, params, body }) {
      const row = await engine.modes.change(caller, params.session_id, body);
      return { success: true, session: sessionView(row) };
    },

    async getModel() {
      return { success: true, ...runs.model() };
    },

    async getRun({ caller, params }) {
      return { success: true, run: runView(await runs.get(caller, params.run_id)) };
    },

    async stopRun({ caller, params }) {
      return { success: true, run: runView(await runs.stop(caller, params.run_id)) };
    },

    async listRunners({ caller }) {
      const { projects, rows } = await store.read(function* (tx) {
        return { projects: yield* tx.projectsOf(caller.userId), rows: yield* tx.runnersOf(caller.userId) };
      });
      const runners = rows.flatMap((row) =>
        projects
          .filter(({ workspace }) => workspace === row.workspace)
          .map((project) => ({
            runner_id: row.runner_id,
            project_id: project.id,
            workspace: row.workspace,
            capabilities: [...row.capabilities],
            connected: engine.presence.isPresent(row),
            last_seen_at: isoTime(row.last_seen_at),
            limits: row.limits,
            policy: row.policy,
          })),
      );
      return { success: true, runners, limits: sentLimits(engine.policies.limits) };
    },
  } satisfies Partial<Handlers>;
}

/** A session that is not stored yet. */
export function newSession(
  store: Pick<Store, 'now'>,
  { user_id, id: project_id }: ProjectRow,
  { title = '', openedBy = null }: { title?: string; openedBy?: string | null } = {},
): SessionRow {
  const created_at = store.now();
  return {
    id: newId(),
    user_id,
    project_id,
    title,
    mode: 'ask',
    opened_by: openedBy,
    created_at,
    last_message_at: null,
    deleted_at: null,
  };
}

export async function storeSession(store: Store, row: SessionRow): Promise<SessionRow> {
  await store.write((tx) => tx.insert('sessions', row));
  return row;
}

/** The session with the latest message, or one without calls, else a new one. Never a session that an agent uses. */
async function latestSession(store: Store, project: ProjectRow): Promise<SessionRow> {
  const { user_id: userId, id: projectId } = project;
  const latest = await store.read(function* (tx) {
    const [session] = yield* tx.sessionsOf(userId, projectId, 1);
    if (!session || session.last_message_at !== null) return session;
    const calls = yield* tx.history(userId, { sessionId: session.id, limit: 1 });
    return calls.length === 0 ? session : undefined;
  });
  return latest ?? storeSession(store, newSession(store, project));
}

async function sessionIn(
  store: Store,
  caller: Caller,
  sessionId: string,
  projectId: string,
): Promise<SessionRow> {
  const session = await ownSession(store, caller, sessionId);
  if (session.project_id !== projectId) throw notFound('session');
  return session;
}
