import { AgentRuns, StorageFull, systemClock } from '@countersign/engine';
import type { AgentParts } from '../serve.ts';
import { createModels } from './model-registry.ts';

/** Makes the agent of the configuration (AG-1) and takes up the runs of the process before. After `engine.start()`. */
export async function startAgent(parts: AgentParts): Promise<AgentRuns> {
  const { engine, store, bus, config, logger, observer, reached } = parts;
  const { model, modelUrl, modelKey, anthropicKey, openaiKey } = config;
  const runs = new AgentRuns({
    engine,
    store,
    bus,
    clock: systemClock,
    models: createModels({
      model,
      modelUrl,
      modelKey,
      providerKeys: { anthropic: anthropicKey, openai: openaiKey },
    }),
    node: engine.node,
    isOnlyNode: !store.isShared,
    onError: (error) => {
      // The store reported a full disk.
      if (!(error instanceof StorageFull)) logger.error({ err: error }, 'agent run failed');
    },
    observer,
    reached,
  });
  await runs.resume();
  return runs;
}
