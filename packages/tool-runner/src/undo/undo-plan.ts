import { readdirSync } from 'node:fs';
import { CountersignError } from '@countersign/protocol';
import { DIRECTORY, type FileVersion } from '../files/file-snapshot.ts';
import { nameFromDisk } from '../isolation/disk-names.ts';
import type { Journal } from '../journal/journal.ts';
import type { PlannedChange, RecordedChange } from '../journal/recorded-change.ts';
import { type EntryNow, entryNow, isFileVersion, targetOf, versionNow } from '../layers/entry-now.ts';
import { FolderWalk } from '../layers/folder-walk.ts';
import { Turns } from '../layers/turns.ts';
import type { Workspace } from '../workspace.ts';

/** The plan to restore one entry. */
interface Restoration {
  readonly path: string;
  /** Undefined if there is no entry now. */
  readonly now: EntryNow | undefined;
  readonly version: FileVersion;
  /** The oldest of the changes. Undo restores the state before it. */
  readonly target: RecordedChange;
  readonly isAsLeft: boolean;
}

export interface UndoOptions {
  /** Undo even if a file was changed after the call. A copy of the later content is kept. */
  readonly force: boolean;
  /** Why a requested force is not allowed. Part of the error if a file was changed after the call. */
  readonly whyNotForced?: string;
  /** True: calls that are all undone already leave nothing to do, so that a lost report can be repeated. */
  readonly skipUndone?: boolean;
}

export interface UndoPlan {
  /** What to change, the newest change of the calls first. */
  readonly changes: readonly PlannedChange[];
  /** True if something is replaced that a person or another program changed after the calls. */
  readonly isForced: boolean;
}

/**
 * Plans to undo some calls, the newest change first, without touching any file. Throws NOT_UNDOABLE, or UNDO_CONFLICT with
 * all files that were changed after the calls, unless forced. A directory that is not empty is a conflict even if forced.
 */
export async function planUndo(
  journal: Journal,
  { root }: Workspace,
  toolIds: readonly string[],
  { force, whyNotForced, skipUndone = false }: UndoOptions,
): Promise<UndoPlan> {
  let recorded: RecordedChange[] = [];
  for (const toolId of toolIds) {
    const changes = await journal.landings.changesOf(toolId);
    if (changes.length === 0 || changes.some(isCopyMissing))
      throw new CountersignError('NOT_UNDOABLE', { problem: 'no copy is kept of what was there before' });
    recorded = recorded.concat(changes.filter(({ isUndone }) => !isUndone));
  }
  if (recorded.length === 0 && !skipUndone)
    throw new CountersignError('NOT_UNDOABLE', { problem: 'it was undone already' });
  const byPath = Map.groupBy(
    recorded.sort((a, b) => b.order - a.order),
    ({ path }) => path,
  );
  const restorations: Restoration[] = [];
  const changedSince: string[] = [];
  const walk = new FolderWalk(root);
  const turns = new Turns();
  try {
    for (const path of byPath.keys()) {
      await turns.next();
      const restoration = await restorationOf(walk, path, byPath);
      const { now, target, isAsLeft } = restoration;
      if (!isAsLeft && !force) changedSince.push(path);
      else if (!isAsLeft && (now?.type === 'directory' || target.before === DIRECTORY))
        throw conflict([path]);
      restorations.push(restoration);
    }
    if (changedSince.length > 0) throw conflict(changedSince, whyNotForced);
    const leaving = restorations.filter(({ target }) => target.before !== DIRECTORY);
    const removed = new Set(leaving.filter(({ target }) => target.before === null).map(({ path }) => path));
    for (const { path, now } of leaving)
      if (now?.type === 'directory' && !holdsOnly(walk, path, removed)) throw conflict([path]);
  } finally {
    walk.close();
  }
  return {
    changes: restorations.filter(isNeeded).map(changeOf),
    isForced: restorations.some(({ isAsLeft }) => !isAsLeft),
  };
}

/**
 * The entry at a path now. Something else than a folder on the way, such as a link, means that the path is not the one that
 * was recorded (VA-1), unless the undo puts the folder back.
 */
async function restorationOf(
  walk: FolderWalk,
  path: string,
  byPath: ReadonlyMap<string, readonly RecordedChange[]>,
): Promise<Restoration> {
  const changes = byPath.get(path) as readonly RecordedChange[];
  const at = walk.at(path);
  const blocker = at === undefined ? walk.blockedAt(path) : undefined;
  if (blocker !== undefined && byPath.get(blocker)?.at(-1)?.before !== DIRECTORY) throw conflict([path]);
  const now = entryNow(at);
  const version = await versionNow(at, now);
  const target = changes.at(-1) as RecordedChange;
  const isKnownLink =
    now?.type !== 'link' || changes.some(({ before, after }) => isLink(before) || isLink(after));
  if (version === undefined || !isKnownLink) throw conflict([path]);
  return { path, now, version, target, isAsLeft: revertsCleanly(version, now, changes) };
}

const isLink = (version: FileVersion): boolean => targetOf(version) !== undefined;

/** Whether reverting the changes one by one, the newest first, leads from the entry now to the one before all of them. */
function revertsCleanly(
  version: FileVersion,
  now: EntryNow | undefined,
  changes: readonly RecordedChange[],
): boolean {
  let current: { version: FileVersion; mode: number | undefined } = {
    version,
    mode: now?.type === 'link' ? undefined : now?.mode,
  };
  const isCurrent = (other: FileVersion, mode: number | undefined): boolean =>
    current.version === other && (mode === undefined || current.mode === undefined || current.mode === mode);
  for (const { before, after, mode, modeAfter } of changes) {
    // A change that was never made, or was already reverted, needs nothing.
    if (isCurrent(after, modeAfter)) current = { version: before, mode };
    else if (!isCurrent(before, modeAfter === undefined ? undefined : mode)) return false;
  }
  return true;
}

const isNeeded = ({ version, now, target }: Restoration): boolean =>
  version !== target.before ||
  (target.modeAfter !== undefined && target.mode !== undefined && now?.mode !== target.mode);

function changeOf({ path, now, version, target }: Restoration): PlannedChange {
  const { before: after, mode, mtimeNs, copy } = target;
  return {
    path,
    operation: version === null ? 'created' : after === null ? 'deleted' : 'modified',
    before: version,
    after,
    mode: now?.type === 'link' ? undefined : now?.mode,
    modeAfter: mode,
    isModeOnly: version === after,
    mtimeNs: now?.mtimeNs,
    mtimeNsAfter: mtimeNs,
    identity: now?.identity,
    copy: undefined,
    copyBytes: 0,
    source: version === after ? undefined : copy,
  };
}

/** A file was there before, and only its mode is known now. */
const isCopyMissing = ({ before, isModeOnly, copy }: RecordedChange): boolean =>
  isFileVersion(before) && !isModeOnly && copy === undefined;

function holdsOnly(walk: FolderWalk, path: string, expected: ReadonlySet<string>): boolean {
  const at = walk.at(path);
  if (at === undefined) return false;
  const names = readdirSync(at, { encoding: 'buffer' });
  return names.every((name) => expected.has(`${path}/${nameFromDisk(name)}`));
}

/** A refusal names at most this many files. */
const NAMED = 20;

export function conflict(paths: readonly string[], whyNotForced?: string): CountersignError {
  const named = paths.slice(0, NAMED).map((path) => `"${path.toWellFormed()}"`);
  const path = [...named, ...(paths.length > NAMED ? [`… (${paths.length})`] : [])].join(', ');
  return whyNotForced === undefined
    ? new CountersignError('UNDO_CONFLICT', { path })
    : new CountersignError('DENIED_BY_POLICY', {
        owner: "machine's",
        why: `${path} was changed after the call, and ${whyNotForced}`,
      });
}
