import { randomBytes } from 'node:crypto';
import { constants, readdirSync, renameSync, unlinkSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { failedWith } from '../real-disk.ts';
import { tryOr } from '../try-or.ts';
import { openIfThere, type WorkspaceDirectory } from './workspace-directory.ts';

export interface Replacement {
  readonly directory: WorkspaceDirectory;
  readonly name: string;
  readonly bytes: Uint8Array;
  /** If undefined, the system's default for a new file. */
  readonly mode: number | undefined;
  /** If undefined, the user that runs this process. */
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
  /** Part of the temporary file's name, so that recovery finds the file after a crash. */
  readonly toolId: string;
  /** Called after each piece with the number of bytes written so far. */
  readonly onWritten?: (length: number, size: number) => void;
  /** Called just before the file is replaced. Throws if it must not be replaced. */
  readonly confirm: () => Promise<void> | void;
}

/**
 * Replaces the content of a file atomically: after a crash, the file has either the whole old content or the whole new
 * content (RN-3). If it throws, nothing has changed and no temporary file is left. Other hard links to the file keep the
 * old content. Extended attributes are lost, because Node cannot read them.
 */
export async function replaceFile(replacement: Replacement): Promise<void> {
  const { directory, name, toolId, confirm } = replacement;
  const temporary = `${prefixFor(toolId)}${randomBytes(8).toString('hex')}.tmp`;
  const mode = replacement.mode === undefined ? 0o666 : 0o600;
  const file = await open(directory.at(temporary), createFlags, mode);
  try {
    try {
      await writeContent(file, replacement);
    } finally {
      await file.close();
    }
    await confirm();
    directory.assertSamePlace();
    renameSync(directory.at(temporary), directory.at(name));
  } catch (error) {
    // Keep the first error if removing fails too: recovery removes temporary files by their name.
    tryOr(() => unlinkSync(directory.at(temporary)), undefined);
    throw error;
  }
  flushNames(directory);
}

/** Removes a file. `confirm` must throw unless it is a regular file, because unlink removes links too. */
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

/** Removes the temporary files that an interrupted call left beside `path`. Returns how many there were. */
export function removeLeftovers(root: string, path: string, toolId: string): number {
  const directory = openIfThere(root, dirname(path), 'ENOTDIR');
  if (!directory) return 0;
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

async function writeContent(file: FileHandle, { bytes, mode, owner, onWritten }: Replacement): Promise<void> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    // FileHandle.writeFile appends at the current position and writes the whole piece.
    await file.writeFile(bytes.subarray(from, from + PIECE_BYTES));
    onWritten?.(Math.min(from + PIECE_BYTES, bytes.length), bytes.length);
  }
  const own = await file.stat();
  // Change the owner before the mode, because chown clears the set-user-id bits.
  if (owner && (own.uid !== owner.uid || own.gid !== owner.gid)) await file.chown(owner.uid, owner.gid);
  if (mode !== undefined) await file.chmod(mode);
  await file.sync();
}

/** The file was changed, but the change may be lost if the machine stops now. */
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
    // These file systems flush names by themselves and do not support fsync on a directory.
    if (failedWith(cause, 'EINVAL', 'ENOTSUP')) return;
    throw new ChangeNotFlushed(cause);
  }
}
