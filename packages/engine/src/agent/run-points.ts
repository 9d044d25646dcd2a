/**
 * Points of a run at which a process may die; each must be survived (AG-2). A test is called at each and may end the
 * process, or never answer.
 */
export type RunPoint =
  | 'run.taken'
  | 'model.before'
  | 'model.answered'
  | 'step.stored'
  | 'tool.before'
  | 'tool.recorded'
  | 'tool.answered'
  | 'tool.stored';

export type AtPoint = (point: RunPoint) => void | Promise<void>;
