import { type BigIntStats, closeSync, constants, fstatSync, readlinkSync, realpathSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { CERTIFICATE_BYTES, holdsOnlyCertificates, mayBeCertificate } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { unsavedText } from '../open-documents.ts';
import { openInside } from '../open-inside.ts';
import { failedWith, fileFailure } from '../real-disk.ts';
import type { FileServices } from '../tool-module.ts';
import { gitLoginKind, holdsLogin, isGitConfig, MAX_GIT_CONFIG_BYTES } from './git-login.ts';
import { readFully } from './line-range.ts';
import { refuseSensitive } from './workspace-directory.ts';

/** A file of the workspace that a call may read. */
interface WorkspaceFile {
  readonly descriptor: number;
  readonly stats: BigIntStats;
  /** The text of an editor's unsaved buffer. If set, read it instead of the file (RN-9). */
  readonly unsaved: string | undefined;
}

/**
 * Opens a file that a call names, and closes it when `work` is done. Refuses files outside the workspace (VA-1), sensitive
 * files and git configurations with a login (VA-2), directories, devices, and files that are too large (TL-3). These
 * checks use the opened file, not its name. Errors of `work` become errors that name the path.
 */
export async function inFile<T>(
  path: string,
  { workspace, liftedSensitivePaths }: Pick<FileServices, 'workspace' | 'liftedSensitivePaths'>,
  work: (file: WorkspaceFile) => Promise<T>,
): Promise<T> {
  const { root, limits } = workspace;
  const lifted = liftedSensitivePaths?.();
  let descriptor: number | undefined;
  try {
    descriptor = openInside(root, path, constants.O_RDONLY);
    const stats = fstatSync(descriptor, { bigint: true });
    if (stats.isDirectory()) throw new CountersignError('IS_A_DIRECTORY', { path });
    const real = realPathOf(descriptor, root, path);
    const unsaved = unsavedText(workspace, real);
    if (!(mayBeCertificate(real) && (await isCertificate(descriptor, unsaved))))
      refuseSensitive(real, path, lifted);
    if (isGitConfig(real) && !lifted?.has(real)) await refuseLogin(descriptor, unsaved, path);
    if (unsaved === undefined && stats.size > limits.fileBytes)
      throw new CountersignError('FILE_TOO_LARGE', {
        path,
        size: Number(stats.size),
        limit: limits.fileBytes,
      });
    return await work({ descriptor, stats, unsaved });
  } catch (error) {
    throw readFailure(error, path);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** VA-2: whether the opened file holds certificates without a private key. */
async function isCertificate(descriptor: number, unsaved: string | undefined): Promise<boolean> {
  if (unsaved !== undefined && !holdsOnlyCertificates(Buffer.from(unsaved))) return false;
  const buffer = Buffer.allocUnsafe(CERTIFICATE_BYTES + 1);
  return holdsOnlyCertificates(buffer.subarray(0, await readFully(descriptor, buffer, 0)));
}

/** Returns the real path of an opened file, relative to the root. */
function realPathOf(descriptor: number, root: string, path: string): string {
  const onLinux = process.platform === 'linux';
  const real = onLinux
    ? readlinkSync(`/proc/self/fd/${descriptor}`)
    : realpathSync.native(resolve(root, path));
  return relative(realpathSync.native(root), real);
}

async function refuseLogin(descriptor: number, unsaved: string | undefined, path: string): Promise<void> {
  const buffer = Buffer.allocUnsafe(MAX_GIT_CONFIG_BYTES);
  const saved = buffer.subarray(0, await readFully(descriptor, buffer, 0));
  if (holdsLogin(saved) || (unsaved !== undefined && holdsLogin(Buffer.from(unsaved))))
    throw new CountersignError('PATH_SENSITIVE', { path, kind: gitLoginKind });
}

function readFailure(error: unknown, path: string): CountersignError {
  // A parent in the path is a file. The policy reports FILE_NOT_FOUND for this, too.
  if (failedWith(error, 'ENOTDIR')) return new CountersignError('FILE_NOT_FOUND', { path }, { cause: error });
  if (failedWith(error, 'ENXIO', 'ENODEV')) {
    const kind = 'device, pipe or socket';
    return new CountersignError('NOT_A_REGULAR_FILE', { path, kind }, { cause: error });
  }
  return fileFailure(error, path, 'READ_FAILED');
}
