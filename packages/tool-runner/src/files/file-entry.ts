import type { Stats } from 'node:fs';

/** One entry of list_directory and search_files (TL-2). A type, not an interface: results are plain JSON. */
export type FileEntry = {
  readonly name: string;
  /** Workspace-relative, links resolved. */
  readonly path: string;
  readonly type: 'file' | 'directory' | 'link' | 'other';
  readonly size: number;
  /** ISO 8601, UTC. */
  readonly modified: string;
};

export function describeEntry(path: string, stats: Stats): FileEntry {
  return {
    name: path.slice(path.lastIndexOf('/') + 1),
    path,
    type: typeOf(stats),
    size: stats.size,
    modified: new Date(Math.min(Math.max(stats.mtimeMs, firstMoment), lastMoment)).toISOString(),
  };
}

/** The result of a listing or a search. Sorted by path, each character by its code: the same order on every machine. */
export function listingOf<Entry extends FileEntry>(found: { files: Entry[]; truncated: boolean }) {
  const files = found.files.sort((left, right) => (left.path < right.path ? -1 : 1));
  return { success: true as const, files, total_count: files.length, truncated: found.truncated };
}

// A disk can hold times that ISO 8601 has no four digits for.
const firstMoment = Date.parse('0001-01-01T00:00:00Z');
const lastMoment = Date.parse('9999-12-31T23:59:59Z');

function typeOf(stats: Stats): FileEntry['type'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'link' : 'other';
}
