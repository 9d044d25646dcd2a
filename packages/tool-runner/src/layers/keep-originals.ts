import { randomUUID } from 'node:crypto';
import type { Journal } from '../journal/journal.ts';
import type { PlannedChange } from '../journal/recorded-change.ts';
import { type EntryNow, entryNow, isEntry, isFileVersion } from './entry-now.ts';
import { flush } from './flush.ts';
import { FolderWalk } from './folder-walk.ts';
import { Turns } from './turns.ts';

export interface KeptOriginals {
  /** The changes that can be made, each with the name of its undo copy. */
  readonly changes: readonly PlannedChange[];
  /** Changes of entries that are not as planned any more. */
  readonly conflicts: readonly PlannedChange[];
  /** False if the undo copies did not fit: then there are none. */
  readonly isKept: boolean;
}

/**
 * Keeps undo copies of all files that these changes replace or remove, and flushes them. Makes room for them by forgetting
 * the oldest calls, but not those in `except`. If the changes are not recorded then, call `discardOriginals`.
 */
export async function keepOriginals(
  journal: Journal,
  root: string,
  planned: readonly PlannedChange[],
  except: readonly string[],
): Promise<KeptOriginals> {
  const walk = new FolderWalk(root);
  const turns = new Turns();
  const conflicts = new Set<PlannedChange>();
  const originals = new Map<PlannedChange, EntryNow>();
  const names: string[] = [];
  try {
    for (const change of planned.filter(losesContent)) {
      await turns.next();
      const at = walk.at(change.path);
      const now = entryNow(at);
      const isAsPlanned =
        now && (now.identity === change.identity || (await isEntry(at, now, change.before, change.mode)));
      if (isAsPlanned) originals.set(change, now);
      else conflicts.add(change);
    }
    const bytes = [...originals.values()].reduce((sum, { diskBytes }) => sum + diskBytes, 0);
    const isKept = journal.landings.makeRoom(bytes, except);
    const changes: PlannedChange[] = [];
    for (const change of planned) {
      await turns.next();
      const original = originals.get(change);
      if (!original || !isKept) {
        if (!conflicts.has(change))
          changes.push({ ...change, ...(original && { identity: original.identity }) });
        continue;
      }
      const copy = randomUUID();
      const at = walk.at(change.path);
      names.push(copy);
      const kept = at === undefined ? undefined : await journal.copies.keepEntry(copy, at, original);
      if (kept) changes.push({ ...change, identity: kept.identity, copy, copyBytes: original.diskBytes });
      else conflicts.add(change);
    }
    const { folder } = journal.copies;
    await flush([...names.map((name) => journal.copies.pathOf(name)), folder], folder);
    return { changes, conflicts: [...conflicts], isKept };
  } catch (error) {
    journal.copies.remove(names);
    throw error;
  } finally {
    walk.close();
  }
}

export function discardOriginals(journal: Journal, kept: KeptOriginals | undefined): void {
  journal.copies.remove(kept?.changes.flatMap(({ copy }) => copy ?? []) ?? []);
}

/** Whether a file's content is replaced or removed, rather than only its mode changed. */
const losesContent = ({ before, isModeOnly }: PlannedChange): boolean => isFileVersion(before) && !isModeOnly;
