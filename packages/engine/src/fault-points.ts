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
  'lease', // of a runner ended: its calls are taken from it
  'give', // a call that nobody had goes to a runner that connected
  'retry', // a harmless call is signalled again
  'no_runner',
  'runner', // connected or disconnected
  'run', // a message and the run that it starts
  'stop', // a run is ended from outside
] as const;
export type LabelledCommit = (typeof labelledCommits)[number];

/** Nothing written; written but not committed; committed, but nobody was told. */
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
 * Where a process may die; each must be survived without losing a call or executing one twice. `hint.before` is
 * after any commit that has events, before anybody was told of them.
 */
export type FaultPoint =
  | `${LabelledCommit}.${(typeof commitMoments)[number]}`
  | 'hint.before'
  | (typeof runPoints)[number];

export interface FaultPoints {
  /**
   * For tests: called at each labelled point as it is passed, and may end the process there. Between the commits of a run
   * its promise is awaited.
   */
  readonly reached?: ((point: FaultPoint) => unknown) | undefined;
}

/** Writes a unit whose commit has a label. Without a test that listens, it is the store's own `write`. */
export function commit<T>(
  { store, reached }: FaultPoints & { readonly store: Store },
  label: LabelledCommit,
  unit: (tx: Transaction) => Unit<T>,
): Promise<T> {
  return reached ? commitWatched(store, label, unit, reached) : store.write(unit);
}

async function commitWatched<T>(
  store: Store,
  label: LabelledCommit,
  unit: (tx: Transaction) => Unit<T>,
  reached: (point: FaultPoint) => unknown,
): Promise<T> {
  reached(`${label}.before`);
  const done = await store.write(function* (tx) {
    const value = yield* unit(tx);
    reached(`${label}.written`);
    return value;
  });
  reached(`${label}.committed`);
  return done;
}
