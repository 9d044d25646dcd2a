import type { ToolResult } from '../executor.ts';
import type { Effect } from './effect.ts';

type Named = Pick<Effect, 'path'> & { readonly operation: 'created' | 'modified' | 'deleted' };

/** How a landing ended, as far as the result of its call tells. */
export interface LandingOutcome {
  readonly landed: readonly Named[];
  readonly conflicts: readonly Pick<Effect, 'path'>[];
  readonly notUndoable: string | undefined;
  readonly problem?: string | undefined;
}

/** Fields of a command's result that a landing adds. A type, because no interface is assignable to JSON. */
export type LandingFields = {
  changed_files?: { path: string; operation: Named['operation'] }[];
  changed_files_incomplete?: string;
  /** Names of what was changed meanwhile and did not land. */
  conflicts?: string[];
  /** True if undo can bring back what was there before. Left out if nothing landed. */
  undoable?: boolean;
  /** Why it cannot be undone. */
  not_undoable?: string;
};

/** The result of a command whose effects landed. At most `most` files are listed. */
export function landedResult(
  result: ToolResult,
  { landed, conflicts, notUndoable, problem }: LandingOutcome,
  most: number,
): ToolResult {
  const incomplete = [
    landed.length > most ? `${landed.length} files changed; ${most} of them are listed` : undefined,
    problem,
  ].filter((text) => text !== undefined);
  const fields: LandingFields = {
    ...(landed.length > 0 && {
      changed_files: landed.slice(0, most).map(({ path, operation }) => ({ path: path.toWellFormed(), operation })),
      undoable: notUndoable === undefined,
    }),
    ...(landed.length > 0 && notUndoable !== undefined && { not_undoable: notUndoable }),
    ...(conflicts.length > 0 && { conflicts: conflicts.slice(0, most).map(({ path }) => path.toWellFormed()) }),
    ...(incomplete.length > 0 && { changed_files_incomplete: incomplete.join('; ') }),
  };
  return { ...result, ...fields };
}

/** An effect as a change of a file: other permissions count as modified. */
export const named = ({ path, change }: Effect): Named => ({
  path,
  operation: change === 'mode' ? 'modified' : change,
});
