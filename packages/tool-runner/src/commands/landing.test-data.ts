import type { CallLanding } from '../executor.ts';
import type { WorkspaceParts } from '../open-workspace.ts';

let count = 0;

/** Lets the commands of one call run in a layer and land, as CallExecution does. */
export function landingFor({ journal, land }: Pick<WorkspaceParts, 'journal' | 'land'>): CallLanding {
  const [toolId, attempt] = [`landing-${count++}`, 1];
  journal.start(toolId, attempt, 'shell_exec');
  return {
    begin: (layer) => journal.recordLayer(toolId, attempt, layer),
    land: async (landing) => {
      const landed = await land({ toolId, attempt, runId: undefined, ...landing });
      journal.end(toolId, attempt, { status: 'completed', attempt, result: landing.result });
      return landed;
    },
  };
}
