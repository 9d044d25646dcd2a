/** The names under which answers are kept, so that an event can say which are out of date. */
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
