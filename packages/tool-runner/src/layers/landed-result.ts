import { sensitivePlaces } from '@countersign/policy';
import type { ToolResult } from '../executor.ts';
import { DIRECTORY, type FileChange } from '../files/file-snapshot.ts';

/** A change that landed, or that did not. */
type Change = Pick<FileChange, 'path' | 'operation' | 'before' | 'after'>;

/** How a landing ended, as far as the result of its call tells. */
export interface LandingOutcome {
  readonly landed: readonly Change[];
  readonly conflicts: readonly Change[];
  readonly notUndoable: string | undefined;
  /** What the system said where a change could not be made. */
  readonly problem: string | undefined;
}

/** The result of a command whose effects landed. Lists at most `most` files; folders, git's data and secrets are not listed. */
export function landedResult(
  result: ToolResult,
  { landed, conflicts, notUndoable, problem }: LandingOutcome,
  most: number,
): ToolResult {
  const files = landed.filter(isListed);
  const incomplete = [
    files.length > most ? `${files.length} files changed; ${most} of them are listed` : undefined,
    problem,
  ].filter((text) => text !== undefined);
  const known = (result.conflicts ?? []) as { path: string }[];
  return {
    ...result,
    ...(files.length > 0 && {
      changed_files: files
        .slice(0, most)
        .map(({ path, operation }) => ({ path: path.toWellFormed(), operation })),
    }),
    ...(incomplete.length > 0 && { changed_files_incomplete: incomplete.join('; ') }),
    ...(landed.length > 0 && { undoable: notUndoable === undefined }),
    ...(landed.length > 0 && notUndoable !== undefined && { not_undoable: notUndoable }),
    ...leftFields({ conflicts: [...known, ...conflicts] }, most),
  };
}

/** Whether results and diffs name a change: not a folder, not git's data, and no sensitive file (VA-2). */
export const isListed = ({ path, before, after }: Omit<Change, 'operation'>): boolean =>
  (after ?? before) !== DIRECTORY && !path.split('/').includes('.git') && !sensitivePlaces.find(path);

/** The fields that name what did not land; a field is left out if it would be empty. */
export const leftFields = (
  left: Readonly<Partial<Record<'withheld' | 'conflicts', readonly Pick<Change, 'path'>[]>>>,
  most: number,
): { withheld?: { path: string }[]; conflicts?: { path: string }[] } =>
  Object.fromEntries(
    Object.entries(left)
      .filter(([, changes]) => changes.length > 0)
      .map(([name, changes]) => [
        name,
        changes.slice(0, most).map(({ path }) => ({ path: path.toWellFormed() })),
      ]),
  );
