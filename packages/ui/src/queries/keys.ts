/** The keys of all queries, so that events can invalidate them. */
export const keys = {
  projects: ['projects'],
  sessions: (projectId: string) => ['sessions', projectId],
  allSessions: ['sessions'],
  tools: (projectId: string) => ['tools', projectId],
  model: ['model'],
  runners: ['runners'],
  history: (filters: object) => ['history', filters],
  allHistory: ['history'],
  execution: (toolId: string) => ['execution', toolId],
  metrics: (query: object) => ['metrics', query],
  allMetrics: ['metrics'],
  grants: ['grants'],
  policy: ['policy'],
  tokens: ['tokens'],
} as const;
