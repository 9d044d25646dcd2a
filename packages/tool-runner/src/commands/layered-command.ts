import { mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sensitivePlaces } from '@countersign/policy';
import type { LandCall, ToolResult } from '../executor.ts';
import { toDiskPath } from '../isolation/disk-names.ts';
import type { Confinement } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import type { Effect } from '../layers/effect.ts';
import { type LayerEffects, readEffects } from '../layers/layer-effects.ts';
import type { Layer } from '../layers/layers.ts';
import { splitWithheld } from '../layers/withheld.ts';
import { tryOr } from '../try-or.ts';
import type { Workspace } from '../workspace.ts';
import type { CommandChanges } from './workspace-changes.ts';

/** Part of a command's result. Empty fields are left out. */
export type LayerChanges = CommandChanges & {
  /** Places that execute later, which did not land (VA-3). */
  withheld?: { path: string }[];
  /** Did not land, because somebody else has changed them meanwhile. */
  conflicts?: { path: string }[];
};

/** What became of the effects of a command. */
export interface LandedEffects {
  readonly changes: LayerChanges;
  /** Sentences for the agent. */
  readonly notes: readonly string[];
}

/**
 * Lands what a command wrote in its layer after it has ended by itself, and removes the layer. What does not land is kept
 * aside: places that execute later (VA-3), and files that somebody else has changed meanwhile. `result` is what the call
 * reports if this process is killed while it lands.
 */
export async function landEffects(
  layer: Layer,
  {
    starter,
    workspace: { root, stateFolder, limits },
    writableGit,
    land,
    result,
  }: {
    readonly starter: IsolatingStarter;
    readonly workspace: Workspace;
    readonly writableGit: Confinement['writableGit'];
    readonly land: LandCall;
    readonly result: ToolResult;
  },
): Promise<LandedEffects> {
  let entries = Number.POSITIVE_INFINITY;
  try {
    const read: LayerEffects = await readEffects(starter.layers, layer, root);
    entries = read.entries;
    const places = starter.executingPlaces();
    const { landing, withheld } = await splitWithheld(read.effects, { root, places, writableGit });
    const { upper, id: layerId } = layer;
    const nothing = { landed: [], conflicts: [], notUndoable: undefined, problem: undefined };
    const { landed, conflicts, notUndoable, problem } =
      landing.length === 0 ? nothing : await land({ upper, layerId, effects: landing, result });
    const inConflict = [...read.conflicts, ...conflicts].sort((a, b) => (a.path < b.path ? -1 : 1));
    const left = { withheld: outermost(withheld), conflicts: outermost(inConflict) };
    const keptIn = keepAside(upper, join(stateFolder, 'set-aside', layerId), [
      ...left.withheld,
      ...left.conflicts,
    ]);
    const sentences = [
      ...someOf(left.withheld, (path) => `"${path}" would execute later, so it did not land (VA-3)`),
      ...someOf(left.conflicts, (path) => `"${path}" was changed by others meanwhile, so it did not land`),
      ...someOf(
        read.leftOut.map((path) => ({ path })),
        (path) => `"${path}" did not land: it is a pipe, socket or device, or its path is too long`,
      ),
      ...(keptIn === undefined ? [] : [`what did not land is kept in "${keptIn}"`]),
      ...[problem, notUndoable].filter((sentence) => sentence !== undefined),
    ];
    return { changes: describe(landed, left, limits.entries), notes: sentences };
  } finally {
    starter.layers.drop(layer, entries);
  }
}

/** The most notes of one kind in a result. */
const MAX_NOTES = 5;

function someOf(items: readonly { readonly path: string }[], say: (path: string) => string): string[] {
  const said = items.slice(0, MAX_NOTES).map(({ path }) => say(path.toWellFormed()));
  return items.length > MAX_NOTES ? [...said, `and ${items.length - MAX_NOTES} more`] : said;
}

/** Leaves out what is in a folder that is itself among the effects. */
function outermost(effects: readonly Effect[]): Effect[] {
  const paths = new Set(effects.map(({ path }) => path));
  const isInside = ({ path }: Effect): boolean => {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
      if (paths.has(path.slice(0, at))) return true;
    return false;
  };
  return effects.filter((effect) => !isInside(effect));
}

/** Moves what did not land out of the layer. Returns the folder; undefined if there is nothing to keep. */
function keepAside(upper: string, folder: string, effects: readonly Effect[]): string | undefined {
  const kept = effects.filter(({ path, after }) => {
    if (after === undefined) return false;
    const to = join(folder, path);
    return tryOr(() => {
      mkdirSync(toDiskPath(dirname(to)), { recursive: true, mode: 0o700 });
      renameSync(toDiskPath(join(upper, path)), toDiskPath(to));
      return true;
    }, false);
  });
  return kept.length > 0 ? folder : undefined;
}

const isInGit = (path: string): boolean => path.split('/').includes('.git');

function describe(
  landed: readonly Effect[],
  left: { readonly withheld: readonly Effect[]; readonly conflicts: readonly Effect[] },
  most: number,
): LayerChanges {
  const files = landed.filter(
    ({ path, before, after }) =>
      (after ?? before)?.type !== 'directory' && !isInGit(path) && sensitivePlaces.find(path) === undefined,
  );
  const paths = (effects: readonly Effect[]) =>
    effects.slice(0, most).map(({ path }) => ({ path: path.toWellFormed() }));
  return {
    ...(files.length > 0 && {
      changed_files: files.slice(0, most).map(({ path, change }) => ({
        path: path.toWellFormed(),
        operation: change === 'mode' ? 'modified' : change,
      })),
    }),
    ...(files.length > most && {
      changed_files_incomplete: `${files.length} files changed; ${most} of them are listed`,
    }),
    ...(left.withheld.length > 0 && { withheld: paths(left.withheld) }),
    ...(left.conflicts.length > 0 && { conflicts: paths(left.conflicts) }),
  };
}
