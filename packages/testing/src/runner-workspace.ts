import { defaultLimits, type Limits, lowerLimits } from '@countersign/protocol';
import type { TemporaryWorkspace } from './temporary-workspace.ts';

/** A temporary folder in the form that the runner's executors take. Its state is kept outside the workspace. */
export const runnerWorkspace = ({ root, outside }: TemporaryWorkspace, limits: Partial<Limits> = {}) => ({
  root,
  stateFolder: `${outside}/state`,
  limits: lowerLimits(defaultLimits, limits),
  home: `${outside}/home`,
  addedEnvironment: [],
});

/** The context in which an executor runs a call that changes nothing. */
export const readingContext = (signal: AbortSignal = new AbortController().signal) => ({
  toolId: 'tool-1',
  attempt: 1,
  sessionId: 'session-1',
  riskLevel: 'LOW' as const,
  network: false,
  signal,
  onProgress: () => {},
  changes: {
    begin: () => {
      throw new Error('a call that only reads has nothing to write down');
    },
  },
});
