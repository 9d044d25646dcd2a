import { useQuery } from '@tanstack/react-query';
import { useLive } from '../live/live-context.ts';
import { endOf } from '../metrics/series.ts';
import { keys } from './keys.ts';

export const periods = ['day', 'week', 'month'] as const;
export type Period = (typeof periods)[number];

const days: Readonly<Record<Period, number>> = { day: 1, week: 7, month: 30 };

/** Metrics of one project, and the time at which plots end. */
export function useMetrics(projectId: string, period: Period) {
  const { client } = useLive();
  return useQuery({
    queryKey: keys.metrics({ projectId, period }),
    queryFn: async ({ signal }) => {
      const now = Date.now();
      const since = new Date(now - days[period] * 24 * 3600 * 1000).toISOString();
      const response = await client.metrics({ query: { project_id: projectId, since } }, { signal });
      return { response, now: endOf(response, now) };
    },
  });
}
