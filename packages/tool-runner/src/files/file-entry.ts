import type { Stats } from 'node:fs';

/** An entry in results of list_directory and search_files (TL-2). A type, because no interface is assignable to JSON. */
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

/** Returns the result of a listing or a search, sorted by path in code unit order, which is the same on every machine. */
export function listingOf<Entry extends FileEntry>(found: { files: Entry[]; truncated: boolean }) {
  const files = found.files.sort((left, right) => (left.path < right.path ? -1 : 1));
  return { success: true as const, files, total_count: files.length, truncated: found.truncated };
}

// File times outside these years cannot be written with a four-digit year.
const firstMoment = Date.parse('0001-01-01T00:00:00Z');
const lastMoment = Date.parse('9999-12-31T23:59:59Z');

function typeOf(stats: Stats): FileEntry['type'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'link' : 'other';
}
