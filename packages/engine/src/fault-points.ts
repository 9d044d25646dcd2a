import type { Store, Transaction, Unit } from './store.ts';

/** The commits of a tool call and of a run, by what they do. */
export const labelledCommits = [
  'record', // a call: refused, asked about or signalled
  'preview',
  'approve',
  'reject',
  'expire',
  'claim',
  'result',
  'cancel',
  'lease', // a runner's lease ended: its calls are taken from it
  'give', // a call without a runner is given to a runner or a plain listener
  'retry', // a harmless call is signalled again
  'no_runner',
  'runner', // a runner connected or disconnected
  'run', // a message and the run that it starts
  'queue', // a message that waits for the agent
  'mode', // the mode of a session is switched
  'stop', // a run is ended from outside
] as const;
export type LabelledCommit = (typeof labelledCommits)[number];

/** Nothing is written yet; written but not committed; committed, but no hint was sent. */
export const commitMoments = ['before', 'written', 'committed'] as const;

/** Points of a run between its commits. Each must be survived as well (AG-2). */
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

/**
 * Where a process may die without losing a call or executing one twice. `hint.before` is after any commit that has
 * events, before a hint is sent.
 */
export type FaultPoint =
  | `${LabelledCommit}.${(typeof commitMoments)[number]}`
  | 'hint.before'
  | (typeof runPoints)[number];

export interface FaultPoints {
  /** For tests: called at each labelled point, and may end the process there. `runPoints` await it. */
  readonly reached?: ((point: FaultPoint) => unknown) | undefined;
}

/** Writes a unit whose commit has a label. Without a test that listens, this is `store.write`. */
export async function commit<T>(
  { store, reached }: FaultPoints & { readonly store: Store },
  label: LabelledCommit,
  unit: (tx: Transaction) => Unit<T>,
): Promise<T> {
  if (!reached) return store.write(unit);
  reached(`${label}.before`);
  const done = await store.write(function* (tx) {
    const value = yield* unit(tx);
    reached(`${label}.written`);
    return value;
  });
  reached(`${label}.committed`);
  return done;
}
