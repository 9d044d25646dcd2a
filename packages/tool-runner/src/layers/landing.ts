import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import type { ToolResult } from '../executor.ts';
import { toDiskPath } from '../isolation/disk-names.ts';
import type { Journal } from '../journal/journal.ts';
import type { PendingLanding } from '../journal/landing-records.ts';
import type { PlannedChange, RecordedChange } from '../journal/recorded-change.ts';
import type { Workspace } from '../workspace.ts';
import { applyChanges } from './apply-changes.ts';
import type { Effect, EntryState } from './effect.ts';
import { entryNow, isSameMount } from './entry-now.ts';
import { flush } from './flush.ts';
import { discardOriginals, type KeptOriginals, keepOriginals } from './keep-originals.ts';

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

/** Lands the effects of commands in a workspace (docs/decisions/0031). */
export function landingIn(journal: Journal, workspace: Pick<Workspace, 'root'>): Land {
  return (request) => land(journal, workspace, request);
}

/**
 * Keeps undo copies, journals every effect and the report, and makes the changes. Each file is replaced by an atomic
 * rename. If the process is killed after the effects were journalled, `resumeLanding` completes the landing; before,
 * nothing has landed. If it throws, nothing has landed either.
 */
async function land(
  journal: Journal,
  { root }: Pick<Workspace, 'root'>,
  { toolId, attempt, runId, upper, layerId, effects, result }: LandingRequest,
): Promise<Landed> {
  const byPath = new Map(effects.map((effect) => [effect.path, effect]));
  const effectOf = ({ path }: { readonly path: string }) => byPath.get(path) as Effect;
  let pending: PendingLanding;
  let conflicts: readonly Effect[];
  let kept: KeptOriginals | undefined;
  try {
    requireRoom(root, upper, effects);
    kept = await keepOriginals(journal, root, effects.map(changeOf), [toolId]);
    conflicts = kept.conflicts.map(effectOf);
    const made = new Set(kept.changes.map(({ path }) => path));
    const fromLayer = effects.filter(({ path, after }) => after?.type === 'file' && made.has(path));
    const paths = fromLayer.map(({ path }) => path);
    await flush(paths, upper, (path) => toDiskPath(join(upper, path)));
    const notUndoable = kept.isKept ? undefined : doesNotFit;
    pending = { toolId, attempt, layer: { id: layerId, upper, result }, notUndoable };
    await journal.landings.begin(pending, kept.changes, runId);
  } catch (error) {
    journal.landings.forget(toolId, attempt);
    discardOriginals(journal, kept);
    throw error;
  }
  const done = await complete(journal, { root }, pending, false);
  return {
    landed: done.landed.map(effectOf),
    conflicts: [...conflicts, ...done.conflicts.map(effectOf)],
    notUndoable: pending.notUndoable,
    problem: done.problem,
  };
}

const doesNotFit =
  'The files that it changed or deleted were too large to keep what was there before, so this cannot be undone.';

/** A landing that was completed after a crash. */
export interface ResumedLanding {
  readonly landed: readonly RecordedChange[];
  readonly conflicts: readonly RecordedChange[];
  readonly problem: string | undefined;
}

/**
 * Completes a landing that an earlier process journalled and did not end. Harmless twice. Throws RUNNER_LOST if its layer
 * is gone: then nobody knows what has landed.
 */
export async function resumeLanding(
  journal: Journal,
  workspace: Pick<Workspace, 'root'>,
  pending: PendingLanding,
): Promise<ResumedLanding> {
  if (!entryNow(pending.layer?.upper)) throw new CountersignError('RUNNER_LOST');
  return complete(journal, workspace, pending, true);
}

async function complete(
  journal: Journal,
  { root }: Pick<Workspace, 'root'>,
  { toolId, attempt, layer }: PendingLanding,
  isResumed: boolean,
): Promise<ResumedLanding> {
  const changes = await journal.landings.changesOf(toolId, attempt);
  journal.announceChanges(changes);
  const { conflicts, problem } = await applyChanges(changes, {
    root,
    ...(layer && { upper: layer.upper }),
    copyAt: (name) => journal.copies.pathOf(name),
    makesFolders: false,
    isResumed,
  });
  journal.landings.drop([...conflicts]);
  return { landed: changes.filter((change) => !conflicts.has(change)), conflicts: [...conflicts], problem };
}

/** Throws DISK_FULL if the files of a layer on another mount do not fit into the workspace's. */
function requireRoom(root: string, upper: string, effects: readonly Effect[]): void {
  const { bavail, bsize } = statfsSync(root);
  const bytes = effects.reduce((sum, { after }) => sum + (after?.size ?? 0), 0);
  if (!isSameMount(root, upper) && bytes > bavail * bsize)
    throw new CountersignError('DISK_FULL', { path: root });
}

export function changeOf({ path, change, before, after }: Effect): PlannedChange {
  return {
    path,
    operation: before === undefined ? 'created' : after === undefined ? 'deleted' : 'modified',
    before: before?.version ?? null,
    after: after?.version ?? null,
    mode: modeOf(before),
    modeAfter: modeOf(after),
    isModeOnly: change === 'mode',
    mtimeNs: mtimeOf(before),
    mtimeNsAfter: mtimeOf(after),
    identity: before?.identity,
    copy: undefined,
    copyBytes: 0,
    source: undefined,
  };
}

/** Every link has the same mode. */
const modeOf = (entry: EntryState | undefined): number | undefined =>
  entry?.type === 'link' ? undefined : entry?.mode;

/** The identity ends with the modification time (`identityOf`). */
const mtimeOf = (entry: EntryState | undefined): bigint | undefined => {
  const last = entry?.identity.split(':').at(-1);
  return last === undefined ? undefined : BigInt(last);
};
