import { closeSync, constants, fstatSync, readFileSync } from 'node:fs';
import { PathValidator } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { decodeText } from '../files/text-encoding.ts';
import { unsavedText } from '../open-documents.ts';
import { openInside } from '../open-inside.ts';
import { realDisk } from '../real-disk.ts';
import type { Workspace } from '../workspace.ts';

/** No source that a person wrote is larger, and each opened one is kept. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;

/** The texts of one workspace that language tools may show: inside it (VA-1), not sensitive (VA-2), no binaries. */
export class WorkspaceTexts {
  readonly #workspace: Workspace;
  readonly #validator: PathValidator;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
    this.#validator = new PathValidator({
      root: workspace.root,
      disk: realDisk,
      limits: workspace.limits,
    });
  }

  /** The file that a call names, below the root and with its links resolved. Throws when it may not be used. */
  resolve(path: string): string {
    const check = this.#validator.check(path);
    if (check.ok) return check.relative;
    const refusal = new CountersignError(check.refused.code);
    refusal.message = check.refused.message; // policy has filled it in already
    throw refusal;
  }

  /** The same for a path that a server named: the answer is data. */
  locate(absolutePath: string): string | 'outside' | 'refused' {
    const check = this.#validator.check(absolutePath);
    if (check.ok) return check.relative;
    return check.refused.code === 'PATH_OUTSIDE_WORKSPACE' ? 'outside' : 'refused';
  }

  /** The whole text of a workspace-relative path, as it is on the disk now, or unsaved in an editor (RN-9). */
  read(path: string): string {
    let descriptor: number | undefined;
    try {
      descriptor = openInside(this.#workspace.root, path, constants.O_RDONLY);
      const stats = fstatSync(descriptor);
      if (stats.isDirectory()) throw new CountersignError('IS_A_DIRECTORY', { path });
      const limit = Math.min(MAX_TEXT_BYTES, this.#workspace.limits.fileBytes);
      if (stats.size > limit) throw new CountersignError('FILE_TOO_LARGE', { path, size: stats.size, limit });
      const decoded = decodeText(readFileSync(descriptor));
      if (!decoded) throw new CountersignError('BINARY_FILE', { path });
      return unsavedText(this.#workspace, path) ?? decoded.text;
    } catch (cause) {
      throw cause instanceof CountersignError ? cause : readFailure(path, cause as NodeJS.ErrnoException);
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }
}

function readFailure(path: string, cause: NodeJS.ErrnoException): CountersignError {
  switch (cause.code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new CountersignError('FILE_NOT_FOUND', { path }, { cause });
    case 'EACCES':
    case 'EPERM':
      return new CountersignError('PERMISSION_DENIED', { path }, { cause });
    default:
      return new CountersignError('READ_FAILED', { path, problem: cause.code ?? cause.message }, { cause });
  }
}
