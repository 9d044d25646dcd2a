import {
  messageView,
  newId,
  notFound,
  type ProjectRow,
  Refusal,
  type SessionRow,
  type Store,
} from '@countersign/engine';
import { toldLimits } from '@countersign/protocol';
import { refuseWhenOverloaded } from '../admission.ts';
import { encodeCursor, readMessageCursor } from '../cursor.ts';
import { mayUseProject, ownProject, ownRun, ownSession } from '../own-rows.ts';
import type { Handlers } from '../route-types.ts';
import type { ServerParts } from '../server-parts.ts';
import { isoTime, projectView, runView, sessionView, workspaceRoot } from '../views.ts';

/** Sessions where a person wrote come first. Sessions that agents or session-less calls opened are left out until then. */
const LISTED_SESSIONS = 1_000;

/** Projects, sessions, messages, runs and runners. */
export function conversationHandlers({ store, engine, runs, config }: ServerParts) {
  return {
    async sendMessage({ caller, params, body }) {
      refuseWhenOverloaded({ store, config });
      const project = await ownProject(store, caller, params.project_id);
      if (!runs)
        throw new Refusal('MODEL_NOT_CONFIGURED', {
          model: body.model ?? 'of this server',
          setting: 'an agent',
        });
      const session =
        body.session_id === undefined
          ? await latestSession(store, project)
          : await sessionIn(store, caller, body.session_id, project.id);
      const { content, model } = body;
      return { success: true, ...(await runs.start({ caller, project, session, content, model })) };
    },

    async listMessages({ caller, params, query }) {
      const project = await ownProject(store, caller, params.project_id);
      const session =
        query.session_id === undefined
          ? (await store.read((tx) => tx.sessionsOf(caller.userId, project.id, 1)))[0]
          : await sessionIn(store, caller, query.session_id, project.id);
      if (!session) return { success: true, messages: [], next_cursor: null };
      const after = query.cursor === undefined ? undefined : readMessageCursor(query.cursor);
      const page = { limit: query.limit + 1, ...(after !== undefined && { after }) };
      const { rows, models } = await store.read(function* (tx) {
        const rows = yield* tx.messagesOf(session.id, page);
        const positions = { from: rows[0]?.position ?? 0, to: rows.at(-1)?.position ?? 0 };
        return { rows, models: yield* tx.modelsOf(session.id, positions) };
      });
      const shown = rows.slice(0, query.limit);
      const last = shown.at(-1);
      const hasMore = rows.length > shown.length && last !== undefined;
      return {
        success: true,
        messages: shown.map((row) => messageView(row, models.get(row.run_id ?? ''))),
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

    async listSessions({ caller, params }) {
      await ownProject(store, caller, params.project_id);
      const rows = await store.read((tx) => tx.sessionsOf(caller.userId, params.project_id, LISTED_SESSIONS));
      return { success: true, sessions: rows.map(sessionView) };
    },

    async createSession({ caller, params, body }) {
      const project = await ownProject(store, caller, params.project_id);
      const openedBy = caller.scope === 'agent' ? caller.tokenId : null;
      const row = newSession(store, project, { title: body.title, openedBy });
      return { success: true, session: sessionView(await keepSession(store, row)) };
    },

    async getModel() {
      return { success: true, ...(runs?.model() ?? { model: null, problem: null }) };
    },

    async getRun({ caller, params }) {
      const run = runs ? await runs.get(caller, params.run_id) : await ownRun(store, caller, params.run_id);
      return { success: true, run: runView(run) };
    },

    async stopRun({ caller, params }) {
      const run = runs ? await runs.stop(caller, params.run_id) : await ownRun(store, caller, params.run_id);
      return { success: true, run: runView(run) };
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
          })),
      );
      return { success: true, runners, limits: toldLimits(engine.policies.limits) };
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
  return { id: newId(), user_id, project_id, title, opened_by: openedBy, created_at, last_message_at: null };
}

export async function keepSession(store: Store, row: SessionRow): Promise<SessionRow> {
  await store.write((tx) => tx.insert('sessions', row));
  return row;
}

/** The session with the latest message, or an unused one; a session that an agent uses is not the person's. */
async function latestSession(store: Store, project: ProjectRow): Promise<SessionRow> {
  const { user_id: userId, id: projectId } = project;
  const latest = await store.read(function* (tx) {
    const [session] = yield* tx.sessionsOf(userId, projectId, 1);
    if (!session || session.last_message_at !== null) return session;
    const calls = yield* tx.history(userId, { sessionId: session.id, limit: 1 });
    return calls.length === 0 ? session : undefined;
  });
  return latest ?? keepSession(store, newSession(store, project));
}

async function sessionIn(
  store: Store,
  caller: { userId: string; tokenId: string; scope: 'person' | 'front_end' | 'runner' | 'agent' },
  sessionId: string,
  projectId: string,
): Promise<SessionRow> {
  const session = await ownSession(store, caller, sessionId);
  if (session.project_id !== projectId) throw notFound('session');
  return session;
}
