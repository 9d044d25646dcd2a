import { mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CallLanding, ToolResult } from '../executor.ts';
import { toDiskPath } from '../isolation/disk-names.ts';
import type { Confinement } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import type { PendingLanding } from '../journal/landing-records.ts';
import type { RecordedChange } from '../journal/recorded-change.ts';
import { landedResult, leftFields } from '../layers/landed-result.ts';
import { changeOf } from '../layers/landing.ts';
import { type LayerEffects, readEffects } from '../layers/layer-effects.ts';
import type { Layer } from '../layers/layers.ts';
import { type SplitEffects, splitWithheld } from '../layers/withheld.ts';
import { tryOr } from '../try-or.ts';
import type { Workspace } from '../workspace.ts';
import { isGitData } from './failure-notes.ts';
import type { CommandResult } from './run-command.ts';

/**
 * Lands what a command wrote in its layer after it has ended by itself, and removes the layer. What does not land is kept
 * aside: places that execute later (VA-3), and files that somebody else has changed meanwhile. Returns the call's result.
 */
export async function landEffects(
  layer: Layer,
  {
    starter,
    workspace,
    writableGit,
    landing,
    result,
    confirm,
  }: {
    readonly starter: IsolatingStarter;
    readonly workspace: Workspace;
    readonly writableGit: Confinement['writableGit'];
    readonly landing: CallLanding;
    readonly result: CommandResult;
    /** Throws if this is not what shall land. */
    readonly confirm?: (split: SplitEffects, read: LayerEffects) => void;
  },
): Promise<CommandResult> {
  const { root, limits } = workspace;
  let entries = Number.POSITIVE_INFINITY;
  try {
    const read = await readEffects(starter.layers, layer, root);
    entries = read.entries;
    const split = await splitWithheld(read.effects, { root, places: starter.executingPlaces(), writableGit });
    confirm?.(split, read);
    const withheld = outermost(split.withheld);
    const conflicts = outermost(read.conflicts);
    const keptIn = keepAside(workspace, layer, [...withheld, ...conflicts]);
    const notes = [
      ...someOf(withheld, withheldNote),
      ...someOf(conflicts, conflictNote),
      ...someOf(
        read.leftOut.map((path) => ({ path })),
        leftOutNote,
      ),
      ...(keptIn === undefined ? [] : [`what did not land is kept in "${keptIn}"`]),
    ];
    // The cast ignores optional fields that are undefined, because JSON leaves them out.
    const before = {
      ...withNotes(result, notes),
      ...leftFields({ withheld, conflicts }, limits.entries),
    } as ToolResult;
    if (split.landing.length === 0) return before as CommandResult;
    const request = { upper: layer.upper, layerId: layer.id, effects: split.landing, result: before };
    const { landed, conflicts: late, notUndoable, problem } = await landing.land(request);
    const kept = outermost(late);
    const lateIn = keepAside(workspace, layer, kept);
    const lateNotes = [
      ...someOf(kept, conflictNote),
      ...(lateIn === undefined || lateIn === keptIn ? [] : [`what did not land is kept in "${lateIn}"`]),
    ];
    const outcome = { landed: landed.map(changeOf), conflicts: kept.map(changeOf), notUndoable, problem };
    const ended = landedResult(before, outcome, limits.entries) as CommandResult;
    return withNotes(ended, lateNotes);
  } finally {
    starter.layers.drop(layer, entries);
  }
}

/** Keeps aside what did not land when a landing was completed after a crash. */
export function keepConflicts(
  workspace: Workspace,
  { layer }: Pick<PendingLanding, 'layer'>,
  conflicts: readonly Pick<RecordedChange, 'path' | 'after'>[],
): void {
  if (layer) keepAside(workspace, layer, outermost(conflicts));
}

/** Adds notes for the agent to the standard error of a command. */
export const withNotes = (result: CommandResult, notes: readonly string[]): CommandResult => ({
  ...result,
  stderr: [result.stderr, ...notes.map((note) => `\n[Countersign: ${note}]\n`)].join(''),
});

const withheldNote = (path: string): string =>
  isGitData(path)
    ? `"${path}" did not land: git's own data lands only from a command that calls git by name`
    : `"${path}" would execute later, so it did not land (VA-3)`;
const conflictNote = (path: string): string =>
  `"${path}" was changed by others while the command ran, so it did not land`;
const leftOutNote = (path: string): string =>
  `"${path}" did not land: it is a pipe, a socket or a device, or its path is too long`;

/** The most notes of one kind in a result. */
const MAX_NOTES = 5;

function someOf(items: readonly { readonly path: string }[], say: (path: string) => string): string[] {
  const said = items.slice(0, MAX_NOTES).map(({ path }) => say(path.toWellFormed()));
  return items.length > MAX_NOTES ? [...said, `and ${items.length - MAX_NOTES} more`] : said;
}

/** Leaves out what is in a folder that is itself among the changes. */
export function outermost<T extends { readonly path: string }>(changes: readonly T[]): T[] {
  const paths = new Set(changes.map(({ path }) => path));
  const isInside = ({ path }: T): boolean => {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
      if (paths.has(path.slice(0, at))) return true;
    return false;
  };
  return changes.filter((change) => !isInside(change));
}

/** Moves what did not land out of the layer. Returns the folder; undefined if there is nothing to keep. */
export function keepAside(
  { stateFolder }: Pick<Workspace, 'stateFolder'>,
  { id, upper }: Pick<Layer, 'id' | 'upper'>,
  changes: readonly { readonly path: string; readonly after: unknown }[],
): string | undefined {
  const folder = join(stateFolder, 'set-aside', id);
  const kept = changes.filter(({ path, after }) => {
    if (after === undefined || after === null) return false;
    const to = join(folder, path);
    return tryOr(() => {
      mkdirSync(toDiskPath(dirname(to)), { recursive: true, mode: 0o700 });
      renameSync(toDiskPath(join(upper, path)), toDiskPath(to));
      return true;
    }, false);
  });
  return kept.length > 0 ? folder : undefined;
}
