import {
  AgentRuns,
  type Bus,
  type Engine,
  type FaultPoints,
  type RunBudget,
  type RunObserver,
  type Store,
  systemClock,
} from '@countersign/engine';
import { createModels, type ModelSettings } from './model-registry.ts';

export interface AgentOptions extends FaultPoints {
  readonly engine: Engine;
  readonly store: Store;
  readonly bus: Bus;
  readonly settings: ModelSettings;
  readonly budget?: Partial<RunBudget>;
  readonly observer?: RunObserver | undefined;
  readonly onError: (error: unknown) => void;
}

/** Makes the agent and takes up the runs of the process before. After `engine.start()`. */
export async function startAgent(
  options: AgentOptions,
): Promise<{ readonly runs: AgentRuns; close(): Promise<void> }> {
  const { engine, store, bus, settings, budget, observer, onError, reached } = options;
  const runs = new AgentRuns({
    engine,
    store,
    bus,
    clock: systemClock,
    models: createModels(settings),
    node: engine.node,
    isOnlyNode: !store.isShared,
    onError,
    observer,
    ...(budget && { budget }),
    ...(reached && { atPoint: (point) => void reached(point) }),
  });
  await runs.resume();
  return { runs, close: () => runs.close() };
}
