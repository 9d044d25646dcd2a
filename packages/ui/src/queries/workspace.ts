import { useQuery } from '@tanstack/react-query';
import { useLive } from '../live/live-context.ts';
import { keys } from './keys.ts';
import { useRead } from './use-read.ts';

/** Poll while there is no project: no event announces the first one. */
const whileEmptyMs = 3_000;

export function useProjects() {
  const { client } = useLive();
  return useQuery({
    queryKey: keys.projects,
    queryFn: async ({ signal }) => (await client.listProjects({}, { signal })).projects,
    refetchInterval: ({ state }) => (state.data?.length === 0 ? whileEmptyMs : false),
  });
}

/** With null, no request is made. */
export const useSessions = (project_id: string | null) =>
  useRead(
    keys.sessions(project_id ?? ''),
    async (client, options) =>
      (await client.listSessions({ params: { project_id: project_id ?? '' } }, options)).sessions,
    project_id !== null,
  );

/** The conversations with these words in their title or messages; without words, no request is made. */
export const useFoundSessions = (project_id: string, q: string) =>
  useRead(
    keys.foundSessions(project_id, q),
    async (client, options) =>
      (await client.listSessions({ params: { project_id }, query: { q } }, options)).sessions,
    q !== '',
  );

/** The files that a run changed. Without `enabled`, no request is made. */
export const useRunChanges = (run_id: string, enabled: boolean) =>
  useRead(
    keys.runChanges(run_id),
    async (client, options) => (await client.runChanges({ params: { run_id } }, options)).files,
    enabled,
  );

export const useRunners = () =>
  useRead(keys.runners, async (client, options) => (await client.listRunners({}, options)).runners);

export const useTools = (project_id: string) =>
  useRead(
    keys.tools(project_id),
    async (client, options) => (await client.availableTools({ params: { project_id } }, options)).tools,
  );

/** The server's model and its problem, if any. They change only when the server restarts. */
export const useModel = () => useRead(keys.model, (client, options) => client.getModel({}, options));
