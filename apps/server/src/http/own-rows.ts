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

/** The caller's own rows. Another person's, and one that does not exist, are the same NOT_FOUND (RE-3). */

export async function ownProject(store: Store, caller: Caller, projectId: string): Promise<ProjectRow> {
  const row = await store.read((tx) => tx.get('projects', projectId));
  if (row?.user_id !== caller.userId || !reaches(caller, row.id)) throw notFound('project');
  return row;
}

/** Whether the caller may have to do with a project: a token that is bound to one reaches no other. */
export const reaches = ({ projectId }: Caller, named: string): boolean =>
  projectId === undefined || projectId === named;

export async function ownSession(store: Store, caller: Caller, sessionId: string): Promise<SessionRow> {
  const row = await store.read((tx) => tx.get('sessions', sessionId));
  if (row?.user_id !== caller.userId || !reaches(caller, row.project_id)) throw notFound('session');
  return row;
}

export async function ownRun(
  store: Store,
  { userId }: Pick<Caller, 'userId'>,
  runId: string,
): Promise<RunRow> {
  const row = await store.read((tx) => tx.get('runs', runId));
  if (row?.user_id !== userId) throw notFound('run');
  return row;
}

/** The caller, where the path names a project: the engine finds nothing of another one for them. */
export const inProject = <C extends Caller>(caller: C, { project_id }: { project_id: string }): C => ({
  ...caller,
  projectId: project_id,
});

/** A call of this project. The path must be true: an id of another project is not found under this one. */
export async function ownCall(
  store: Store,
  caller: Caller,
  toolId: string,
  projectId?: string,
): Promise<ExecutionRow> {
  const row = await store.read((tx) => tx.get('tool_executions', toolId));
  if (row?.user_id !== caller.userId || !reaches(caller, row.project_id)) throw notFound('tool call');
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

/** Everything that a path names is the caller's own. */
export async function requireNamed(
  store: Store,
  caller: Caller,
  { project_id, tool_id, approval_id }: { project_id?: string; tool_id?: string; approval_id?: string },
): Promise<void> {
  if (project_id !== undefined) await ownProject(store, caller, project_id);
  if (tool_id !== undefined) await ownCall(store, caller, tool_id, project_id);
  if (approval_id !== undefined) await ownApproval(store, caller, approval_id, project_id);
}

/** The project of who names none: the one that the token is bound to, or the person's only one (RE-2). */
export async function onlyProject(store: Store, caller: AuthenticatedCaller): Promise<ProjectRow> {
  const all = await store.read((tx) => tx.projectsOf(caller.userId));
  const projects = all.filter(({ id }) => reaches(caller, id));
  const [project] = projects;
  if (!project || projects.length > 1) throw new Refusal('PROJECT_REQUIRED', { count: projects.length });
  return project;
}

/** The runner that a report is from (AP-9). What the path names and another person has is not found (RE-3). */
export async function speakerOf(
  { bindings, store }: Pick<ServerParts, 'bindings' | 'store'>,
  caller: AuthenticatedCaller,
  params: Parameters<typeof requireNamed>[2],
  named: NamedRunner,
): Promise<NamedRunner> {
  try {
    return await bindings.speaker(caller, named);
  } catch (error) {
    await requireNamed(store, caller, params);
    throw error;
  }
}

/**
 * The latest call of a session in which this token works alone, or the session itself where nothing was called yet.
 * Undefined where somebody else has spoken or called something: what was granted in a session counts for who works in it
 * (AP-4), so neither the person's conversation nor the session of another agent is this one's.
 */
export function* latestWork(
  tx: Reading,
  session: SessionRow,
  { userId, tokenId }: Caller,
): Unit<ExecutionRow | SessionRow | undefined> {
  if (session.last_message_at !== null) return undefined;
  const [latest] = yield* tx.history(userId, { sessionId: session.id, limit: 1 });
  if (!latest) return session;
  return latest.requested_by === tokenId ? latest : undefined;
}
