import { type ProjectRow, Refusal, type Store } from '@countersign/engine';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';
import { reaches } from './own-rows.ts';

/** The project of who names none: the one that the token is bound to, or the person's only one (RE-2). */
export async function onlyProject(store: Store, caller: AuthenticatedCaller): Promise<ProjectRow> {
  const all = await store.read((tx) => tx.projectsOf(caller.userId));
  const projects = all.filter(({ id }) => reaches(caller, id));
  const [project] = projects;
  if (!project || projects.length > 1) throw new Refusal('PROJECT_REQUIRED', { count: projects.length });
  return project;
}
