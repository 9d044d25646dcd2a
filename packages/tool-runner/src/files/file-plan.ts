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
import { decodeText, encodeText, type TextForm } from './text-encoding.ts';
import { findPlace } from './workspace-directory.ts';

/** The change that a call will make to one file. Preview, digest and execution each plan again from the current disk. */
export interface PlannedChange {
  /** Workspace-relative. If the call named a link, the path of its target. */
  readonly path: string;
  readonly operation: FileChange['operation'];
  readonly before: FileSnapshot | null;
  /** The content on disk. Set only if `before` is an editor's unsaved buffer (RN-9). */
  readonly saved?: FileSnapshot;
  readonly after: Uint8Array | null;
  /** The permission bits afterwards. If undefined, the system's default for a new file. */
  readonly mode: number | undefined;
  /** The original, if this change is a copy. */
  readonly source?: { readonly path: string; readonly snapshot: FileSnapshot };
}

export type OnRead = SnapshotOptions['onRead'];

/** New content does not keep bits such as set-user-id: the kernel clears them on a write, too. */
export const PERMISSIONS = 0o777;

/** The file that a call names. `snapshot` is undefined if the file does not exist. */
export interface Target {
  readonly path: string;
  readonly snapshot: FileSnapshot | undefined;
  /** The content on disk. Set only if `snapshot` is an editor's unsaved buffer. */
  readonly saved?: FileSnapshot;
  readonly throughLink: boolean;
}

/**
 * Finds a file through descriptors, without following links out of the workspace (VA-1). Throws if the call cannot
 * succeed, for example because the file is too large, not regular or write-protected. `ignoreBuffers` ignores unsaved buffers.
 */
export async function findTarget(
  workspace: Workspace,
  asked: string,
  {
    toWrite = false,
    ignoreBuffers = false,
    onRead,
  }: { readonly toWrite?: boolean; readonly ignoreBuffers?: boolean; readonly onRead?: OnRead } = {},
): Promise<Target> {
  const { root, limits } = workspace;
  try {
    const { directory, path, name, throughLink } = findPlace(root, asked);
    if (!directory) return { path, snapshot: undefined, throughLink };
    try {
      const snapshot = await takeSnapshot(directory, name, { path, maxBytes: limits.fileBytes, onRead });
      // A rename would replace a write-protected file, because it needs permission only for the directory.
      if (toWrite && snapshot) accessSync(directory.at(name), constants.W_OK);
      const buffer = ignoreBuffers ? undefined : snapshot && bufferOf(workspace, path, snapshot);
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

/** Returns the unsaved text in the person's editor as a snapshot; undefined if the file has no unsaved changes. */
function bufferOf(workspace: Workspace, path: string, saved: FileSnapshot): FileSnapshot | undefined {
  const text = unsavedText(workspace, path);
  const form = decodeText(saved.bytes);
  if (text === undefined || !form) return undefined;
  const bytes = encodeText(text, form) ?? Buffer.from(text.toWellFormed());
  return { ...saved, bytes, version: versionOf(bytes) };
}

/** Returns the plan to write these bytes to a file. */
export function plannedWrite(
  { limits }: Workspace,
  { path, snapshot, saved }: Target,
  after: Uint8Array,
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
  };
}

/** Encodes a text like the existing file. Throws INVALID_PARAMS if the encoding lacks one of its characters. */
export function encode(
  text: string,
  form: TextForm,
  { tool, path }: { tool: string; path: string },
): Uint8Array {
  const bytes = encodeText(text, form);
  if (bytes) return bytes;
  const problem = `"${path}" is kept in ${form.encoding}, which has no character ${firstUnencodable(text, form)}`;
  throw new CountersignError('INVALID_PARAMS', { tool, problem });
}

function firstUnencodable(text: string, { encoding }: TextForm): string {
  for (const character of text) {
    if (encodeText(character, { encoding, bom: false })) continue;
    return `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
  }
  return 'for it';
}
