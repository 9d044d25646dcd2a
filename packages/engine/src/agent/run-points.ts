import type { FaultPoint } from '../fault-points.ts';

/**
 * Points of a run at which a process may die; each must be survived (AG-2). A test is called at each and may end the
 * process, or never answer.
 */
export const runPoints = [
  'run.taken',
  'model.before',
  'model.answered',
  'step.stored',
  'tool.before',
  'tool.recorded',
  'tool.answered',
  'tool.stored',
] as const;
export type RunPoint = (typeof runPoints)[number];

export type AtPoint = (point: FaultPoint) => void | Promise<void>;
