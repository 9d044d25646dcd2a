import { useQuery } from '@tanstack/react-query';
import { useLive } from '../live/live-context.ts';
import { keys } from './keys.ts';

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

export function useSessions(projectId: string | null) {
  const { client } = useLive();
  return useQuery({
    queryKey: keys.sessions(projectId ?? ''),
    enabled: projectId !== null,
    queryFn: async ({ signal }) =>
      (await client.listSessions({ params: { project_id: projectId ?? '' } }, { signal })).sessions,
  });
}

export function useRunners() {
  const { client } = useLive();
  return useQuery({
    queryKey: keys.runners,
    queryFn: async ({ signal }) => (await client.listRunners({}, { signal })).runners,
  });
}

export function useTools(projectId: string) {
  const { client } = useLive();
  return useQuery({
    queryKey: keys.tools(projectId),
    queryFn: async ({ signal }) =>
      (await client.availableTools({ params: { project_id: projectId } }, { signal })).tools,
  });
}

/** The server's model and its problem, if any. Changes only with a restart of the server. */
export function useModel() {
  const { client } = useLive();
  return useQuery({ queryKey: keys.model, queryFn: ({ signal }) => client.getModel({}, { signal }) });
}
