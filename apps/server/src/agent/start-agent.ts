import { AgentRuns, StorageFull, systemClock } from '@countersign/engine';
import type { AgentParts } from '../serve.ts';
import { createModels } from './model-registry.ts';

/** Starts the configured agent (AG-1) and resumes the runs of the previous process. Call it after `engine.start()`. */
export async function startAgent(parts: AgentParts): Promise<AgentRuns> {
  const { engine, store, config, logger } = parts;
  const { model, modelUrl, modelKey, anthropicKey, openaiKey } = config;
  const runs = new AgentRuns({
    ...parts,
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
      // A full disk is logged once, by StorageHealth.
      if (!(error instanceof StorageFull)) logger.error({ err: error }, 'agent run failed');
    },
  });
  await runs.resume();
  return runs;
}
