import { hash } from 'node:crypto';

/**
 * What stands at a path: null where there is nothing, `directory`, or for a file `sha256:` and 64 hexadecimal digits of
 * its bytes.
 */
export type FileVersion = string | null;
/** The version of a file with these bytes. */
export const versionOf = (bytes: Uint8Array): NonNullable<FileVersion> => `sha256:${hash('sha256', bytes)}`;
export const DIRECTORY = 'directory';

export interface FileChange {
  /** Workspace-relative. */
  readonly path: string;
  readonly operation: 'created' | 'modified' | 'deleted';
  readonly before: FileVersion;
  readonly after: FileVersion;
  /** What undo puts back; undefined where there was no file. */
  readonly original: { readonly bytes: Uint8Array; readonly mode: number } | undefined;
}

/** The journal's side of one call that changes files. */
export interface ChangeRecorder {
  /**
   * Keeps the undo copy and writes "started" with both digests, each flushed to the disk before it returns (RN-3).
   * Only then may the file be touched. Throws JOURNAL_UNAVAILABLE: then nothing may run.
   */
  begin(changes: readonly FileChange[]): void;
}
