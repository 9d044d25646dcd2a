import { accessSync, constants } from 'node:fs';
import { type BuiltInToolCall, CountersignError, type ToolParams } from '@countersign/protocol';
import type { FileChange } from '../file-change.ts';
import { unsavedText } from '../open-documents.ts';
import type { Workspace } from '../workspace.ts';
import { applyEdit } from './exact-edit.ts';
import { fileFailure } from './file-failure.ts';
import { type FileSnapshot, type SnapshotOptions, takeSnapshot } from './file-snapshot.ts';
import { versionOf } from './file-version.ts';
import { inLineEndingOf } from './line-endings.ts';
import { findPlace } from './place.ts';
import {
  type DecodedText,
  decodeText,
  encodeText,
  type TextEncoding,
  type TextForm,
} from './text-encoding.ts';

/** The calls that change one file. */
export type FileChangeCall = Extract<
  BuiltInToolCall,
  { tool: 'write_file' | 'edit_file' | 'copy_file' | 'delete_file' }
>;

/**
 * What one call will do to one file: the preview draws it, the digest covers it, the executor carries it out. It is
 * made from the disk as it is now; each of the three makes it anew.
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
  /** What a copy is made of. */
  readonly source?: { readonly path: string; readonly snapshot: FileSnapshot };
}

/**
 * Says what write_file, edit_file, copy_file or delete_file will do, and changes nothing. It sees the disk through
 * descriptors and follows no link out of the workspace (VA-1); what a call may do is policy's to say and was asked
 * before. Throws a CountersignError where the call cannot succeed: no match, too large, not a regular file …
 */
export async function planFileChange(
  workspace: Workspace,
  call: FileChangeCall,
  onRead?: SnapshotOptions['onRead'],
): Promise<PlannedChange> {
  switch (call.tool) {
    case 'write_file':
      return planWrite(workspace, call.params);
    case 'edit_file':
      return planEdit(workspace, call.params);
    case 'copy_file':
      return planCopy(workspace, call.params, onRead);
    case 'delete_file':
      return planDeletion(workspace, call.params);
  }
}

async function planWrite(workspace: Workspace, params: ToolParams<'write_file'>): Promise<PlannedChange> {
  const target = await look(workspace, params.path, { toWrite: true });
  const existing = target.snapshot && decodeText(target.snapshot.bytes);
  const appends = params.mode === 'append' && target.snapshot !== undefined;
  if (appends && !existing) throw new CountersignError('BINARY_FILE', { path: target.path });
  const form: TextForm = existing ?? { encoding: 'utf-8', bom: false };
  // A mark that the file has already is no part of its text.
  const given = form.bom ? params.content.replace(/^\ufeff/, '') : params.content;
  const content = existing ? inLineEndingOf(existing.text, given) : given;
  const text = appends ? (existing as DecodedText).text + content : content;
  const after = encode(text, form, { tool: 'write_file', path: target.path });
  return written(workspace, target, after, form.encoding);
}

async function planEdit(workspace: Workspace, params: ToolParams<'edit_file'>): Promise<PlannedChange> {
  const target = await look(workspace, params.path, { toWrite: true });
  const { path } = target;
  if (!target.snapshot) throw new CountersignError('FILE_NOT_FOUND', { path });
  const existing = decodeText(target.snapshot.bytes);
  if (!existing) throw new CountersignError('BINARY_FILE', { path });
  const outcome = applyEdit(existing.text, {
    old: params.old,
    new: params.new,
    all: params.replace_all,
  });
  if ('occurrences' in outcome) {
    if (outcome.occurrences === 0) throw new CountersignError('EDIT_NO_MATCH', { path });
    if (!params.replace_all)
      throw new CountersignError('EDIT_AMBIGUOUS', { path, count: outcome.occurrences });
    const problem = `old occurs ${outcome.occurrences} times or more, which is too often to replace`;
    throw new CountersignError('INVALID_PARAMS', { tool: 'edit_file', problem });
  }
  return written(
    workspace,
    target,
    encode(outcome.text, existing, { tool: 'edit_file', path }),
    existing.encoding,
  );
}

async function planCopy(
  workspace: Workspace,
  params: ToolParams<'copy_file'>,
  onRead: SnapshotOptions['onRead'],
): Promise<PlannedChange> {
  const source = await look(workspace, params.source, { onRead });
  const { snapshot } = source;
  if (!snapshot) throw new CountersignError('FILE_NOT_FOUND', { path: source.path });
  const target = await look(workspace, params.dest, { toWrite: true });
  if (target.snapshot && target.snapshot.identity === snapshot.identity) {
    const problem = `source and dest are the same file, "${target.path}"`;
    throw new CountersignError('INVALID_PARAMS', { tool: 'copy_file', problem });
  }
  const encoding = decodeText(snapshot.bytes)?.encoding ?? 'binary';
  return {
    ...written(workspace, target, snapshot.bytes, encoding),
    mode: snapshot.mode & PERMISSIONS,
    source: { path: source.path, snapshot },
  };
}

async function planDeletion(workspace: Workspace, params: ToolParams<'delete_file'>): Promise<PlannedChange> {
  // What is only in an editor's buffer stays there.
  const target = await look(workspace, params.path, { ofDisk: true });
  const { path, snapshot } = target;
  // Through a link, is the link meant or the file? Nobody could tell from the card.
  if (target.throughLink)
    throw new CountersignError('NOT_A_REGULAR_FILE', { path: params.path, kind: 'link' });
  if (!snapshot) throw new CountersignError('FILE_NOT_FOUND', { path });
  const encoding = decodeText(snapshot.bytes)?.encoding ?? 'binary';
  return { path, operation: 'deleted', before: snapshot, after: null, mode: snapshot.mode, encoding };
}

/** Set-user-id and the like do not outlive a new content, as when the kernel writes it. */
const PERMISSIONS = 0o777;

interface Target {
  readonly path: string;
  readonly snapshot: FileSnapshot | undefined;
  /** What the disk has, where the snapshot is of a buffer. */
  readonly saved?: FileSnapshot;
  readonly throughLink: boolean;
}

async function look(
  workspace: Workspace,
  asked: string,
  {
    toWrite = false,
    ofDisk = false,
    onRead,
  }: { toWrite?: boolean; ofDisk?: boolean; onRead?: SnapshotOptions['onRead'] } = {},
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

/** The file as the person's editor has it, where that is not saved; undefined where it is. */
function bufferOf(workspace: Workspace, path: string, saved: FileSnapshot): FileSnapshot | undefined {
  const text = unsavedText(workspace, path);
  const form = decodeText(saved.bytes);
  if (text === undefined || !form) return undefined;
  const bytes = encodeText(text, form) ?? Buffer.from(text.toWellFormed());
  return { ...saved, bytes, version: versionOf(bytes) };
}

function written(
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

function encode(text: string, form: TextForm, { tool, path }: { tool: string; path: string }): Uint8Array {
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
