import { randomBytes } from 'node:crypto';
import { constants, readdirSync, renameSync, unlinkSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { failedWith } from '../real-disk.ts';
import { openDirectory, type WorkspaceDirectory } from './workspace-directory.ts';

export interface Replacement {
  readonly directory: WorkspaceDirectory;
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Undefined: what the system gives to a new file. */
  readonly mode: number | undefined;
  /** Undefined: the user that runs this. */
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
  /** Part of the temporary file's name, so that after a crash its call is known. */
  readonly toolId: string;
  /** Told after each piece. */
  readonly onWritten?: (length: number, size: number) => void;
  /** The last look before the file is replaced; throws when it must not be. */
  readonly confirm: () => Promise<void> | void;
}

/**
 * Gives a file a new content at once: under its name stands the old content whole or the new content whole, whenever
 * the machine stops (RN-3). The content is on the disk before its name is. Where it fails, nothing has changed and
 * no temporary file is left. Another name of the same file (a hard link) keeps the old content; extended attributes
 * are not carried over, since Node cannot read them.
 */
export async function replaceFile(replacement: Replacement): Promise<void> {
  const { directory, name, toolId, confirm } = replacement;
  const temporary = `${prefixFor(toolId)}${randomBytes(8).toString('hex')}.tmp`;
  const mode = replacement.mode === undefined ? 0o666 : 0o600;
  const file = await open(directory.at(temporary), createFlags, mode);
  try {
    try {
      await fill(file, replacement);
    } finally {
      await file.close();
    }
    await confirm();
    directory.assertSamePlace();
    renameSync(directory.at(temporary), directory.at(name));
  } catch (error) {
    remove(directory, temporary);
    throw error;
  }
  flushNames(directory);
}

/** Removes a file at once. A regular file is what `confirm` must have seen: unlinking takes links too. */
export async function removeFile(
  directory: WorkspaceDirectory,
  name: string,
  confirm: () => Promise<void> | void,
): Promise<void> {
  await confirm();
  directory.assertSamePlace();
  unlinkSync(directory.at(name));
  flushNames(directory);
}

/**
 * Removes the temporary files that an interrupted call left beside the file it was about to write, and no others.
 * Returns how many there were.
 */
export function removeLeftovers(root: string, path: string, toolId: string): number {
  let directory: WorkspaceDirectory;
  try {
    directory = openDirectory(root, dirname(path));
  } catch (error) {
    if (failedWith(error, 'ENOENT', 'ENOTDIR')) return 0;
    throw error;
  }
  try {
    const prefix = prefixFor(toolId);
    const left = readdirSync(directory.at('.')).filter(
      (name) => name.startsWith(prefix) && name.endsWith('.tmp'),
    );
    for (const name of left) unlinkSync(directory.at(name));
    return left.length;
  } finally {
    directory.close();
  }
}

const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

const prefixFor = (toolId: string): string =>
  `.countersign-${toolId.replaceAll(/[^\w-]/g, '_').slice(0, 64)}-`;

const PIECE_BYTES = 4 * 1024 * 1024;

async function fill(file: FileHandle, { bytes, mode, owner, onWritten }: Replacement): Promise<void> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    // It goes on where the piece before ended, and writes the piece whole.
    await file.writeFile(bytes.subarray(from, from + PIECE_BYTES));
    onWritten?.(Math.min(from + PIECE_BYTES, bytes.length), bytes.length);
  }
  const own = await file.stat();
  // The owner first: changing it takes set-user-id bits away.
  if (owner && (own.uid !== owner.uid || own.gid !== owner.gid)) await file.chown(owner.uid, owner.gid);
  if (mode !== undefined) await file.chmod(mode);
  await file.sync();
}

function remove(directory: WorkspaceDirectory, name: string): void {
  try {
    unlinkSync(directory.at(name));
  } catch {
    // The failure that brought us here is the one to tell; recovery looks for leftovers by their name.
  }
}

/** The change has happened, but may be lost if the machine stops now. */
export class ChangeNotFlushed extends CountersignError {
  constructor(cause: unknown) {
    const problem = 'the file was changed, but the disk could not be told to keep that';
    super('EXECUTION_FAILED', { problem }, { cause });
  }
}

function flushNames(directory: WorkspaceDirectory): void {
  try {
    directory.sync();
  } catch (cause) {
    // Some file systems flush names by themselves and say so.
    if (failedWith(cause, 'EINVAL', 'ENOTSUP')) return;
    throw new ChangeNotFlushed(cause);
  }
}
