import { offeredTools } from '@countersign/engine';
import { type AvailableTool, catalogue, describeTool, type PolicyFile } from '@countersign/protocol';

/** The catalogue as the API lists it, made once. */
const everyTool: readonly AvailableTool[] = catalogue.map(describeTool);

/** What the agent is offered (AG-4), as `GET …/tools/available` lists it. */
export function availableTools(policy: PolicyFile): readonly AvailableTool[] {
  const offered = new Set(offeredTools(policy).map(({ name }) => name));
  return everyTool.filter(({ name }) => offered.has(name));
}
