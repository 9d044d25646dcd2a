import { closeSync, fstatSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { identityOf } from '../files/file-snapshot.ts';
import type { Effect, EntryState } from '../layers/effect.ts';
import { readFlags } from '../layers/entry-now.ts';
import { Folder } from '../layers/layer-effects.ts';
import { type FileDiff, fileDiff, LINK_MODE } from '../preview/file-diff.ts';
import { tryOr } from '../try-or.ts';

/** A larger file has no diff: computing it takes long, and nobody reads it. */
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_FILE_CHARACTERS = 64 * 1024;
/** Of all diffs together. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
const MAX_DIFFS = 2_000;

/** Reads the diffs of effects one by one, within bounds for all of them. */
export class EffectDiffs {
  readonly #root: string;
  readonly #upper: string;
  readonly #maxCharacters: number;
  #characters = 0;
  #count = 0;

  constructor(root: string, upper: string, maxCharacters = MAX_CHARACTERS) {
    this.#root = root;
    this.#upper = upper;
    this.#maxCharacters = maxCharacters;
  }

  /**
   * A unified diff with hidden characters made visible. Undefined for a folder, for a binary or large file, for one that was
   * changed since the effects were read, and when the bounds are reached.
   */
  of(effect: Effect): string | undefined {
    return this.read(effect)?.diff;
  }

  /** The same, and whether the diff was cut for its size. */
  read({ path, change, before, after }: Effect): Pick<FileDiff, 'diff' | 'truncated'> | undefined {
    if (this.#count >= MAX_DIFFS || this.#characters >= this.#maxCharacters) return undefined;
    if ((after ?? before)?.type === 'directory') return undefined;
    const old = contentOf(this.#root, path, before);
    const renewed = contentOf(this.#upper, path, after);
    if (old === undefined || renewed === undefined) return undefined;
    this.#count += 1;
    const { diff, truncated } = fileDiff({
      path,
      operation: change === 'mode' ? 'modified' : change,
      before: old,
      after: renewed,
      modeBefore: modeOf(before),
      modeAfter: modeOf(after),
    });
    if (/^Binary files /m.test(diff.slice(0, diff.indexOf('@@') + 1 || undefined))) return undefined;
    const shown =
      diff.length <= MAX_FILE_CHARACTERS
        ? diff
        : `${diff.slice(0, diff.lastIndexOf('\n', MAX_FILE_CHARACTERS) + 1)}\\ The rest of this file is not shown\n`;
    this.#characters += shown.length;
    return { diff: shown, truncated: truncated || shown !== diff };
  }
}

const modeOf = (entry: EntryState | undefined): number | undefined =>
  entry?.type === 'link' ? LINK_MODE : entry?.type === 'file' ? entry.mode : undefined;

/** What an entry contains: null if there is none or it is a folder, undefined if it is too large or not the same any more. */
function contentOf(base: string, path: string, entry: EntryState | undefined): Buffer | null | undefined {
  if (entry === undefined || entry.type === 'directory') return null;
  if (entry.size > MAX_FILE_BYTES) return undefined;
  const slash = path.lastIndexOf('/');
  const folder = tryOr(() => new Folder(base, path.slice(0, Math.max(slash, 0))), undefined);
  if (!folder) return undefined;
  try {
    const at = folder.at(path.slice(slash + 1));
    if (entry.type === 'link') return tryOr(() => readlinkSync(at, { encoding: 'buffer' }), undefined);
    return tryOr(() => {
      const file = openSync(at, readFlags);
      try {
        const isSame = identityOf(fstatSync(file, { bigint: true })) === entry.identity;
        return isSame ? readFileSync(file) : undefined;
      } finally {
        closeSync(file);
      }
    }, undefined);
  } finally {
    folder.close();
  }
}
