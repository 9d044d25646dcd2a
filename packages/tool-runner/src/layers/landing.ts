import type { ToolResult } from '../executor.ts';
import type { Effect } from './effect.ts';

export interface LandingRequest {
  readonly toolId: string;
  readonly attempt: number;
  readonly runId: string | undefined;
  /** The layer's folder with what the command wrote, absolute. */
  readonly upper: string;
  /** Id of the layer, so that a resumed landing finds it, and cleaning up leaves it. */
  readonly layerId: string;
  /** What shall land; conflicts and withheld effects are not among them. Sorted by path. */
  readonly effects: readonly Effect[];
  /** What the call reports if the landing is completed after a crash, without the landing's own fields. */
  readonly result: ToolResult;
}

export interface Landed {
  readonly landed: readonly Effect[];
  /** Found changed in the workspace while landing; the layer still holds the command's version. */
  readonly conflicts: readonly Effect[];
  /** Undefined if the call can be undone; otherwise why not (a sentence). */
  readonly notUndoable: string | undefined;
  /** Why an effect among the conflicts could not land, if the system refused it. */
  readonly problem?: string | undefined;
}

export type Land = (request: LandingRequest) => Promise<Landed>;
