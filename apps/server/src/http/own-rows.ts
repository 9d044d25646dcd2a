import {
  type ApprovalRow,
  type Caller,
  type ExecutionRow,
  type NamedRunner,
  notFound,
  type ProjectRow,
  type Reading,
  Refusal,
  type RunRow,
  type SessionRow,
  type Store,
  type Unit,
} from '@countersign/engine';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';
import type { ServerParts } from './server-parts.ts';

/** Finds the caller's own rows. Another person's row gives the same NOT_FOUND as one that does not exist (RE-3). */

export async function ownProject(store: Store, caller: Caller, projectId: string): Promise<ProjectRow> {
  const row = await store.read((tx) => tx.get('projects', projectId));
  if (row?.user_id !== caller.userId || !mayUseProject(caller, row.id)) throw notFound('project');
  return row;
}

/** Whether the caller may use a project. A token that is bound to a project may use only that one. */
export const mayUseProject = ({ projectId }: Pick<Caller, 'projectId'>, named: string): boolean =>
  projectId === undefined || projectId === named;

export async function ownSession(store: Store, caller: Caller, sessionId: string): Promise<SessionRow> {
  const row = await store.read((tx) => tx.get('sessions', sessionId));
  if (row?.user_id !== caller.userId || !mayUseProject(caller, row.project_id) || row.deleted_at !== null)
    throw notFound('session');
  return row;
}

export async function ownRun(
  store: Store,
  caller: Pick<Caller, 'userId' | 'projectId'>,
  runId: string,
): Promise<RunRow> {
  const row = await store.read((tx) => tx.get('runs', runId));
  if (row?.user_id !== caller.userId || !mayUseProject(caller, row.project_id)) throw notFound('run');
  return row;
}

/** Limits the caller to the project in the path: the engine then finds no rows of other projects. */
export const inProject = <C extends Caller>(caller: C, { project_id }: { project_id: string }): C => ({
  ...caller,
  projectId: project_id,
});

/** The caller's own call. With `projectId`, a call of another project gives NOT_FOUND too. */
export async function ownCall(
  store: Store,
  caller: Caller,
  toolId: string,
  projectId?: string,
): Promise<ExecutionRow> {
  const row = await store.read((tx) => tx.get('tool_executions', toolId));
  if (row?.user_id !== caller.userId || !mayUseProject(caller, row.project_id)) throw notFound('tool call');
  if (projectId !== undefined && row.project_id !== projectId) throw notFound('tool call');
  return row;
}

async function ownApproval(
  store: Store,
  { userId }: Caller,
  approvalId: string,
  projectId?: string,
): Promise<ApprovalRow> {
  const row = await store.read((tx) => tx.get('approvals', approvalId));
  if (row?.user_id !== userId) throw notFound('approval');
  if (projectId !== undefined && row.project_id !== projectId) throw notFound('approval');
  return row;
}

/** Throws NOT_FOUND unless every row that a path names is the caller's own. */
export async function requireNamed(
  store: Store,
  caller: Caller,
  named: {
    readonly project_id?: string;
    readonly tool_id?: string;
    readonly approval_id?: string;
    readonly session_id?: string;
    readonly run_id?: string;
  },
): Promise<void> {
  const { project_id, tool_id, approval_id, session_id, run_id } = named;
  if (project_id !== undefined) await ownProject(store, caller, project_id);
  if (tool_id !== undefined) await ownCall(store, caller, tool_id, project_id);
  if (approval_id !== undefined) await ownApproval(store, caller, approval_id, project_id);
  if (session_id !== undefined) await ownSession(store, caller, session_id);
  if (run_id !== undefined) await ownRun(store, caller, run_id);
}

/** The default project: the one that the token is bound to, or the person's only one (RE-2). */
export async function onlyProject(store: Store, caller: AuthenticatedCaller): Promise<ProjectRow> {
  const all = await store.read((tx) => tx.projectsOf(caller.userId));
  const projects = all.filter(({ id }) => mayUseProject(caller, id));
  const [project] = projects;
  if (!project || projects.length > 1) throw new Refusal('PROJECT_REQUIRED', { count: projects.length });
  return project;
}

/** The runner that sends a report (AP-9). Throws NOT_FOUND if the path names another person's rows (RE-3). */
export async function reportingRunner(
  { bindings, store }: Pick<ServerParts, 'bindings' | 'store'>,
  caller: AuthenticatedCaller,
  params: Parameters<typeof requireNamed>[2],
  named: NamedRunner,
): Promise<NamedRunner> {
  try {
    return await bindings.runnerOfReport(caller, named);
  } catch (error) {
    await requireNamed(store, caller, params);
    throw error;
  }
}

/**
 * The latest call of a session that only this token uses, or the session itself if it has no calls yet. Undefined if
 * the session has messages or calls of others: a grant counts for a whole session (AP-4), so an agent may not use the
 * person's conversation or another agent's session. Nor may it use a session that a person opened and gave a mode, which
 * is meant for their own agent (AP-11).
 */
export function* latestWork(
  tx: Reading,
  session: SessionRow,
  { userId, tokenId }: Caller,
): Unit<ExecutionRow | SessionRow | undefined> {
  if (session.last_message_at !== null) return undefined;
  if (session.mode !== 'ask' && session.opened_by !== tokenId) return undefined;
  const [latest] = yield* tx.history(userId, { sessionId: session.id, limit: 1 });
  if (!latest) return session;
  return latest.requested_by === tokenId ? latest : undefined;
}
