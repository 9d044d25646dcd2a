import { basename } from 'node:path';
import type { Client } from '@countersign/client';

export interface FolderProject {
  readonly project_id: string;
  readonly name: string;
  readonly workspace: string | null;
}

/** The project of a folder, by its path; made where there is none. */
export async function projectOfFolder(
  client: Client,
  root: string,
  signal: AbortSignal,
): Promise<FolderProject> {
  const { projects } = await client.listProjects({}, { signal, retry: { times: 3 } });
  const known = projects.find(({ workspace }) => workspace === root);
  if (known) return known;
  const name = basename(root).slice(0, 200) || root;
  return (await client.createProject({ body: { name, workspace: root } }, { signal })).project;
}
