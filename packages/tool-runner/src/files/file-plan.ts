import { accessSync, constants } from 'node:fs';
import { CountersignError } from '@countersign/protocol';
import { unsavedText } from '../open-documents.ts';
import { fileFailure } from '../real-disk.ts';
import type { Workspace } from '../workspace.ts';
import {
  type FileChange,
  type FileSnapshot,
  type SnapshotOptions,
  takeSnapshot,
  versionOf,
} from './file-snapshot.ts';
import { decodeText, encodeText, type TextEncoding, type TextForm } from './text-encoding.ts';
import { findPlace } from './workspace-directory.ts';

/**
 * What a call will do to one file: the preview draws it, the digest covers it, the executor carries it out. Each of the
 * three plans anew, from the disk as it is then.
 */
export interface PlannedChange {
  /** Workspace-relative; where the call named a link, the file that it leads to. */
  readonly path: string;
  readonly operation: FileChange['operation'];
  readonly before: FileSnapshot | null;
  /** What the disk has, where `before` is an editor's unsaved buffer (RN-9). */
  readonly saved?: FileSnapshot;
  readonly after: Uint8Array | null;
  /** The permission bits afterwards; undefined: what the system gives to a new file. */
  readonly mode: number | undefined;
  /** Of the text afterwards, or of the text that is deleted. */
  readonly encoding: TextEncoding | 'binary';
  /** The file that a copy is made of. */
  readonly source?: { readonly path: string; readonly snapshot: FileSnapshot };
}

export type OnRead = SnapshotOptions['onRead'];

/** Set-user-id and the like do not outlive a new content, as when the kernel writes it. */
export const PERMISSIONS = 0o777;

/** The file that a call names, or the place where it would be. */
export interface Target {
  readonly path: string;
  readonly snapshot: FileSnapshot | undefined;
  /** What the disk has, where the snapshot is of a buffer. */
  readonly saved?: FileSnapshot;
  readonly throughLink: boolean;
}

/**
 * Finds a file through descriptors and follows no link out of the workspace (VA-1). Throws where the call cannot succeed:
 * too large, not a regular file, write-protected …
 */
export async function findTarget(
  workspace: Workspace,
  asked: string,
  {
    toWrite = false,
    ofDisk = false,
    onRead,
  }: { readonly toWrite?: boolean; readonly ofDisk?: boolean; readonly onRead?: OnRead } = {},
): Promise<Target> {
  const { root, limits } = workspace;
  try {
    const { directory, path, name, throughLink } = findPlace(root, asked);
    if (!directory) return { path, snapshot: undefined, throughLink };
    try {
      const snapshot = await takeSnapshot(directory, name, { path, maxBytes: limits.fileBytes, onRead });
      // Replacing a file asks only the directory; a file that is write-protected is to stay as it is all the same.
      if (toWrite && snapshot) accessSync(directory.at(name), constants.W_OK);
      const buffer = ofDisk ? undefined : snapshot && bufferOf(workspace, path, snapshot);
      return buffer
        ? { path, snapshot: buffer, saved: snapshot as FileSnapshot, throughLink }
        : { path, snapshot, throughLink };
    } finally {
      directory.close();
    }
  } catch (error) {
    throw fileFailure(error, asked, 'READ_FAILED');
  }
}

/** The file as the person's editor has it; undefined where that is saved. */
function bufferOf(workspace: Workspace, path: string, saved: FileSnapshot): FileSnapshot | undefined {
  const text = unsavedText(workspace, path);
  const form = decodeText(saved.bytes);
  if (text === undefined || !form) return undefined;
  const bytes = encodeText(text, form) ?? Buffer.from(text.toWellFormed());
  return { ...saved, bytes, version: versionOf(bytes) };
}

/** The plan of a file that gets these bytes. */
export function written(
  { limits }: Workspace,
  { path, snapshot, saved }: Target,
  after: Uint8Array,
  encoding: PlannedChange['encoding'],
): PlannedChange {
  if (after.length > limits.fileBytes)
    throw new CountersignError('CONTENT_TOO_LARGE', { size: after.length, limit: limits.fileBytes });
  return {
    path,
    operation: snapshot ? 'modified' : 'created',
    before: snapshot ?? null,
    ...(saved && { saved }),
    after,
    mode: snapshot && snapshot.mode & PERMISSIONS,
    encoding,
  };
}

/** The bytes of a text in the form that the file has. */
export function encode(
  text: string,
  form: TextForm,
  { tool, path }: { tool: string; path: string },
): Uint8Array {
  const bytes = encodeText(text, form);
  if (bytes) return bytes;
  const problem = `"${path}" is kept in ${form.encoding}, which has no character ${firstUnknown(text, form)}`;
  throw new CountersignError('INVALID_PARAMS', { tool, problem });
}

function firstUnknown(text: string, { encoding }: TextForm): string {
  for (const character of text) {
    if (encodeText(character, { encoding, bom: false })) continue;
    return `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
  }
  return 'for it';
}
