import { join } from 'node:path';
import type { Limits } from '@countersign/protocol';
import { type UnsavedText, unsavedTexts } from '../open-documents.ts';
import { summarised, visibleName } from '../preview/look.ts';
import type { ToolModule } from '../tool-module.ts';
import { reportProgress } from '../work-progress.ts';
import { ConfirmedFile, statExactly } from './confirmed-file.ts';
import { joinPath, type RawPath, rawPath, shownName } from './exact-path.ts';
import { describeEntry, type FileEntry, listingOf } from './file-entry.ts';
import { holdsLogin, isGitConfig, MAX_GIT_CONFIG_BYTES } from './git-login.ts';
import { isBelowRepository } from './repository-above.ts';
import { type RipgrepQuery, runRipgrep } from './ripgrep.ts';
import { FoundNames, type MatchedLine, MatchedLines } from './ripgrep-records.ts';
import { VisibleEntries } from './visible-entries.ts';
import { inDirectory, type OpenedPath } from './workspace-directory.ts';

interface Search {
  readonly directory: OpenedPath;
  /** Absolute, links resolved. */
  readonly root: string;
  readonly visible: VisibleEntries;
  readonly content: string | undefined;
  readonly limits: Limits;
  readonly signal: AbortSignal;
  /** Unsaved buffers of an editor, which are searched instead of the files on disk (RN-9). */
  readonly unsaved: readonly UnsavedText[];
  /** Updated while the search runs. */
  readonly count: { found: number };
  /** Path of ripgrep; our own if undefined. */
  readonly ripgrep: string | undefined;
}

type Match = { readonly line: number; readonly text: string };
export type FoundFile = FileEntry & { readonly matches?: Match[] };
interface Found {
  readonly files: FoundFile[];
  readonly truncated: boolean;
}

const MATCHES_PER_FILE = 100;
/** A longer line is cut and ends with `…`. */
const LINE_CHARACTERS = 500;

/** The result is sorted by path. If it is truncated, which files it has is arbitrary. */
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
      reportProgress({ report, describe }, async () => listingOf(await findFiles({ ...search, directory }))),
    );
  },
};

/**
 * Finds files by name, by content or both, in no particular order. Returns at most `limits.entries` files, 100 matches
 * per file, 500 characters per line, and `limits.outputStreamBytes` of text; `truncated` is true if a limit was reached.
 */
async function findFiles(search: Search): Promise<Found> {
  return search.content === undefined
    ? findByName(search)
    : withUnsavedBuffers(search, await findByContent(search));
}

async function findByName(search: Search): Promise<Found> {
  const { directory, limits, signal, ripgrep } = search;
  const names = new FoundNames();
  const files: FoundFile[] = [];
  let truncated = false;
  const take = (piece: Buffer): boolean => {
    for (const below of names.push(piece)) {
      const place = placeOf(search, below);
      const stats = place && statExactly(place.root, place.raw);
      if (!stats) continue;
      truncated = files.length === limits.entries;
      if (truncated) return false;
      files.push(describeEntry(place.path, stats));
      search.count.found = files.length;
    }
    return true;
  };
  await runRipgrep(directory.fsPath, queryFor(search), signal, take, ripgrep);
  return { files, truncated };
}

async function findByContent(search: Search): Promise<Found> {
  const lines = new MatchedLines();
  const found = new ConfirmedMatches(search);
  try {
    const take = (piece: Buffer): boolean => {
      for (const line of lines.push(piece)) if (!found.add(line)) return false;
      search.count.found = found.files.length;
      return true;
    };
    await runRipgrep(search.directory.fsPath, queryFor(search), search.signal, take, search.ripgrep);
  } finally {
    found.close();
  }
  return { files: found.files, truncated: found.truncated };
}

/** Replaces results from the disk by results from the editor's unsaved buffers. */
async function withUnsavedBuffers(search: Search, { files, truncated }: Found): Promise<Found> {
  const { directory, visible, root, limits, unsaved } = search;
  const below = directory.path === '' ? '' : `${directory.path}/`;
  const searched = unsaved.filter(
    ({ path }) => path.startsWith(below) && visible.shows(path.slice(below.length), path),
  );
  const found: FoundFile[] = [];
  for (const { path, text } of searched) {
    const stats = statExactly(rawPath(root), rawPath(path));
    const matches = stats && stats.nlink === 1 && (await matchesIn(text, search));
    if (stats && matches && matches.length > 0) found.push({ ...describeEntry(path, stats), matches });
  }
  const paths = new Set(searched.map(({ path }) => path));
  const all = [...files.filter(({ path }) => !paths.has(path)), ...found];
  return { files: all.slice(0, limits.entries), truncated: truncated || all.length > limits.entries };
}

async function matchesIn(text: string, search: Search): Promise<Match[]> {
  const lines = new MatchedLines();
  const matches: Match[] = [];
  const take = (piece: Buffer): boolean => {
    for (const { line, text: bytes, isCut } of lines.push(piece))
      matches.push({ line, text: shownLine(bytes.toString('utf8'), isCut) });
    return matches.length <= MATCHES_PER_FILE;
  };
  const query = { ...queryFor(search), names: [], text };
  await runRipgrep(search.directory.fsPath, query, search.signal, take, search.ripgrep);
  return matches.slice(0, MATCHES_PER_FILE);
}

/** Collects the lines that ripgrep found, after verifying them. All lines of a file come one after the other. */
class ConfirmedMatches {
  readonly files: FoundFile[] = [];
  truncated = false;
  readonly #search: Search;
  #bytes = 0;
  #path: RawPath | undefined;
  #file: ConfirmedFile | undefined;
  #shown = '';
  #matches: Match[] = [];

  constructor(search: Search) {
    this.#search = search;
  }

  /** Returns false if a limit is reached and the search can stop. */
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
    // Leave out a file with several hard links, which may be a file outside: read_file needs approval for it (VA-1).
    if (showsLogin || this.#file.stats.nlink > 1) this.close();
  }
}

function shownLine(text: string, isCut: boolean): string {
  const line = text.replace(/\r$/, '');
  if (!isCut && line.length <= LINE_CHARACTERS) return line;
  return `${line.slice(0, LINE_CHARACTERS).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Returns the place of a path that ripgrep printed; undefined if it must not be shown. */
function placeOf(
  { root, directory, visible }: Search,
  below: RawPath,
): { readonly root: RawPath; readonly raw: RawPath; readonly path: string } | undefined {
  const shown = shownName(below);
  const path = joinPath(directory.path, shown);
  if (!visible.shows(shown, path)) return undefined;
  return { root: rawPath(root), raw: joinPath(rawPath(directory.path), below), path };
}

function queryFor({ content, visible, limits, root, directory }: Search): RipgrepQuery {
  return {
    ignoredFromAbove: isBelowRepository(join(root, directory.path)),
    content,
    names: namesFor(visible.pattern),
    hidden: visible.matchesDotFiles,
    gitFolder: visible.pattern.split('/').includes('.git'),
    maxFileBytes: limits.fileBytes,
    maxMatchesPerFile: MATCHES_PER_FILE + 1, // one more, to detect truncation
    maxLineCharacters: LINE_CHARACTERS,
  };
}

/**
 * Returns a glob for the last path component by which ripgrep skips files, if ripgrep interprets it like `VisibleEntries`.
 * This only saves time: `VisibleEntries` decides which files are shown.
 */
function namesFor(pattern: string): readonly string[] {
  const last = pattern.slice(pattern.lastIndexOf('/') + 1);
  const isPlain = /^[\w.*?-]*(\{[\w.*?,-]+\}[\w.*?-]*)?$/.test(last) && !/\{.*\//.test(pattern);
  return isPlain && !/^\**$/.test(last) ? [last] : [];
}
