import { realpathSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { ApiError, type CallResponse, type Client } from '@countersign/client';
import { CountersignError } from '@countersign/protocol';
import type { Words } from '../words.ts';

export type Project = Pick<
  CallResponse<'listProjects'>['projects'][number],
  'project_id' | 'name' | 'workspace'
>;

/** The absolute path of a command's workspace with links resolved, which is how runners name it. */
export function workspaceRoot(folder: string | undefined): string {
  const path = resolve(folder ?? '.');
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return realpathSync(path);
  } catch (cause) {
    throw new CountersignError('PATH_INVALID', { path, problem: 'you may not read it' }, { cause });
  }
  throw new CountersignError('WORKSPACE_NOT_FOUND', { path });
}

export interface WantedProject {
  readonly root: string;
  /** Project id from `--project`. It takes precedence over the workspace. */
  readonly projectId: string | undefined;
  /** Also accept a folder inside a project's workspace; the innermost project wins. */
  readonly inside?: boolean;
}

/** The project of a workspace, by its path. */
export async function findProject(
  client: Client,
  { root, projectId, inside = false }: WantedProject,
  words: Words,
  usage: (problem: string) => CountersignError,
): Promise<Project | undefined> {
  const known = await client.listProjects().catch(orForbidden);
  if (projectId !== undefined) {
    // A runner's token cannot list projects; the server refuses an unknown one later.
    if (!known) return { project_id: projectId, name: projectId, workspace: root };
    const found = known.projects.find(({ project_id }) => project_id === projectId);
    if (!found) throw usage(words.server.noProject(projectId));
    return found;
  }
  if (!known) throw usage(words.server.needsProject);
  const holds = (workspace: string) => workspace === root || (inside && root.startsWith(`${workspace}/`));
  return known.projects
    .filter(({ workspace }) => workspace !== null && holds(workspace))
    .sort((a, b) => (b.workspace?.length ?? 0) - (a.workspace?.length ?? 0))[0];
}

/** The person's project if they have just one, as for a call without a project (RE-2). */
export async function onlyProject(client: Client): Promise<Project | undefined> {
  const { projects } = await client.listProjects();
  return projects.length === 1 ? projects[0] : undefined;
}

/** Finds the project of a workspace, or creates it. */
export async function findOrMakeProject(
  client: Client,
  wanted: WantedProject,
  words: Words,
  usage: (problem: string) => CountersignError,
): Promise<{ project: Project; isNew: boolean }> {
  const found = await findProject(client, wanted, words, usage);
  if (found) return { project: found, isNew: false };
  const name = basename(wanted.root).slice(0, 200) || wanted.root;
  const made = await client.createProject({ body: { name, workspace: wanted.root } }).catch(orForbidden);
  if (!made) throw usage(words.server.cannotCreate(wanted.root));
  return { project: made.project, isNew: true };
}

/** Undefined if the token may not do this; rethrows other errors. */
function orForbidden(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 403) return undefined;
  throw error;
}
