import { join } from 'node:path';
import type { Limits } from '@countersign/protocol';
import { type UnsavedText, unsavedTexts } from '../open-documents.ts';
import { summarised, visibleName } from '../preview/look.ts';
import type { ToolModule } from '../tool-module.ts';
import { tellProgress } from '../work-progress.ts';
import { ConfirmedFile, lookExactly } from './confirmed-file.ts';
import { type RawPath, rawPath, shownName } from './exact-path.ts';
import { describeEntry, type FileEntry, listingOf } from './file-entry.ts';
import { holdsLogin, isGitConfig, MAX_GIT_CONFIG_BYTES } from './git-login.ts';
import { isBelowRepository } from './repository-above.ts';
import { type RipgrepQuestion, runRipgrep } from './ripgrep.ts';
import { FoundNames, type MatchedLine, MatchedLines } from './ripgrep-records.ts';
import { VisibleEntries } from './visible-entries.ts';
import { inDirectory } from './workspace-directory.ts';

interface Search {
  /** The directory that is searched: where it is below the root, and what to give to a process as its own. */
  readonly directory: { readonly path: string; readonly reach: string };
  /** Links resolved. */
  readonly root: string;
  readonly visible: VisibleEntries;
  readonly content: string | undefined;
  readonly limits: Limits;
  readonly signal: AbortSignal;
  /** What an editor has not saved yet: it is searched in place of the disk's (RN-9). */
  readonly unsaved?: readonly UnsavedText[];
  /** Kept up to date while it works. */
  readonly count?: { found: number };
  /** Our own by default. */
  readonly ripgrep?: string | undefined;
}

/** Types, not interfaces: results are plain JSON. */
export type FoundFile = FileEntry & { readonly matches?: { readonly line: number; readonly text: string }[] };
interface Found {
  readonly files: FoundFile[];
  readonly truncated: boolean;
}

/** Lines of one file that are shown. */
const MATCHES_PER_FILE = 100;
/** Characters of one line that are shown; what is cut ends in `…`. */
const LINE_CHARACTERS = 500;

/** Sorted by path. Where not all fit, chance decides which files are returned. */
export const searchFiles: ToolModule<'search_files'> = {
  look: summarised(({ path = '.' }) => `Searches in "${visibleName(path)}".`),
  execute({ params }, { signal, onProgress: report }, { workspace }) {
    const { path = '.', pattern = '*', content } = params;
    const { root, limits, ripgrep } = workspace;
    const visible = new VisibleEntries(pattern);
    const unsaved = unsavedTexts(workspace);
    const count = { found: 0 };
    const describe = () => ({ message: `${count.found} files found so far` });
    const search = { root, visible, content, limits, signal, unsaved, ripgrep, count };
    return inDirectory(root, path, (directory) =>
      tellProgress({ report, describe }, async () => listingOf(await findFiles({ ...search, directory }))),
    );
  },
};

/**
 * Finds files by name, by content or both. At most `entries` files, 100 matches in each, 500 characters of a line, and
 * `outputStreamBytes` of text in all; it stops as soon as one bound is reached and says `truncated`. The files come in
 * no particular order.
 */
async function findFiles(search: Search): Promise<Found> {
  return search.content === undefined ? findByName(search) : inBuffers(search, await findByContent(search));
}

async function findByName(search: Search): Promise<Found> {
  const { directory, limits, signal, ripgrep } = search;
  const names = new FoundNames();
  const files: FoundFile[] = [];
  let truncated = false;
  const take = (piece: Buffer): boolean => {
    for (const below of names.push(piece)) {
      const place = placeOf(search, below);
      const stats = place && lookExactly(place.root, place.raw);
      if (!stats) continue;
      truncated = files.length === limits.entries;
      if (truncated) return false;
      files.push(describeEntry(place.path, stats));
      if (search.count) search.count.found = files.length;
    }
    return true;
  };
  await runRipgrep(directory.reach, questionOf(search), signal, take, ripgrep);
  return { files, truncated };
}

async function findByContent(search: Search): Promise<Found> {
  const lines = new MatchedLines();
  const found = new ConfirmedMatches(search);
  try {
    const take = (piece: Buffer): boolean => {
      for (const line of lines.push(piece)) if (!found.add(line)) return false;
      if (search.count) search.count.found = found.files.length;
      return true;
    };
    await runRipgrep(search.directory.reach, questionOf(search), search.signal, take, search.ripgrep);
  } finally {
    found.close();
  }
  return { files: found.files, truncated: found.truncated };
}

/** What was found on the disk, with the unsaved buffers in the place of their files. */
async function inBuffers(search: Search, { files, truncated }: Found): Promise<Found> {
  const { directory, visible, root, limits, unsaved = [] } = search;
  const below = directory.path === '' ? '' : `${directory.path}/`;
  const searched = unsaved.filter(
    ({ path }) => path.startsWith(below) && visible.shows(path.slice(below.length), path),
  );
  const found: FoundFile[] = [];
  for (const { path, text } of searched) {
    const stats = lookExactly(rawPath(root), rawPath(path));
    const matches = stats && stats.nlink === 1 && (await matchesIn(text, search));
    if (stats && matches && matches.length > 0) found.push({ ...describeEntry(path, stats), matches });
  }
  const paths = new Set(searched.map(({ path }) => path));
  const all = [...files.filter(({ path }) => !paths.has(path)), ...found];
  return { files: all.slice(0, limits.entries), truncated: truncated || all.length > limits.entries };
}

async function matchesIn(text: string, search: Search): Promise<{ line: number; text: string }[]> {
  const lines = new MatchedLines();
  const matches: { line: number; text: string }[] = [];
  const take = (piece: Buffer): boolean => {
    for (const { line, text: bytes, isCut } of lines.push(piece))
      matches.push({ line, text: shownLine(bytes.toString('utf8'), isCut) });
    return matches.length <= MATCHES_PER_FILE;
  };
  const question = { ...questionOf(search), names: [], text };
  await runRipgrep(search.directory.reach, question, search.signal, take, search.ripgrep);
  return matches.slice(0, MATCHES_PER_FILE);
}

/** Collects what ripgrep found, line by line; the lines of a file come one after the other. */
class ConfirmedMatches {
  readonly files: FoundFile[] = [];
  truncated = false;
  readonly #search: Search;
  #bytes = 0;
  #path: RawPath | undefined;
  #file: ConfirmedFile | undefined;
  #shown = '';
  #matches: { line: number; text: string }[] = [];

  constructor(search: Search) {
    this.#search = search;
  }

  /** False when that is enough. */
  add(found: MatchedLine): boolean {
    const { limits } = this.#search;
    if (found.path !== this.#path) this.#begin(found.path);
    const text = this.#file?.confirm(found);
    if (!this.#file || text === undefined) return true;
    if (this.#matches.length === MATCHES_PER_FILE) {
      this.truncated = true;
      return true;
    }
    const isFirst = this.#matches.length === 0;
    const shown = shownLine(text, found.isCut);
    this.#bytes += Buffer.byteLength(shown);
    if ((isFirst && this.files.length === limits.entries) || this.#bytes > limits.outputStreamBytes) {
      this.truncated = true;
      return false;
    }
    this.#matches.push({ line: found.line, text: shown });
    if (isFirst) this.files.push({ ...describeEntry(this.#shown, this.#file.stats), matches: this.#matches });
    return true;
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #begin(below: RawPath): void {
    this.close();
    this.#path = below;
    this.#matches = [];
    const place = placeOf(this.#search, below);
    if (!place) return;
    this.#shown = place.path;
    this.#file = ConfirmedFile.open(place.root, place.raw);
    if (!this.#file) return;
    const showsLogin = isGitConfig(place.path) && holdsLogin(this.#file.head(MAX_GIT_CONFIG_BYTES));
    // A file with several names may be one outside: `read_file` asks about it, so a search leaves it out (VA-1).
    if (showsLogin || this.#file.stats.nlink > 1) this.close();
  }
}

function shownLine(text: string, isCut: boolean): string {
  const line = text.replace(/\r$/, '');
  if (!isCut && line.length <= LINE_CHARACTERS) return line;
  return `${line.slice(0, LINE_CHARACTERS).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Where something that ripgrep named is; undefined when it is not to be shown. */
function placeOf(
  { root, directory, visible }: Search,
  below: RawPath,
): { readonly root: RawPath; readonly raw: RawPath; readonly path: string } | undefined {
  const shown = shownName(below);
  const path = directory.path === '' ? shown : `${directory.path}/${shown}`;
  if (!visible.shows(shown, path)) return undefined;
  const raw = directory.path === '' ? below : `${rawPath(directory.path)}/${below}`;
  return { root: rawPath(root), raw, path };
}

function questionOf({ content, visible, limits, root, directory }: Search): RipgrepQuestion {
  return {
    ignoredFromAbove: isBelowRepository(join(root, directory.path)),
    content,
    names: namesFor(visible.pattern),
    hidden: visible.asksForDots,
    gitFolder: visible.pattern.split('/').includes('.git'),
    maxFileBytes: limits.fileBytes,
    maxMatchesPerFile: MATCHES_PER_FILE + 1, // one more, to know that there are more
    maxLineCharacters: LINE_CHARACTERS,
  };
}

/**
 * Globs by which ripgrep can skip files itself: those on the last component that mean the same to it as to us. This only
 * saves work; `VisibleEntries` decides.
 */
function namesFor(pattern: string): readonly string[] {
  const last = pattern.slice(pattern.lastIndexOf('/') + 1);
  const isPlain = /^[\w.*?-]*(\{[\w.*?,-]+\}[\w.*?-]*)?$/.test(last) && !/\{.*\//.test(pattern);
  return isPlain && !/^\**$/.test(last) ? [last] : [];
}
