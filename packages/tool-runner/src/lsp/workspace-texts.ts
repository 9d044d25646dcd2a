import { closeSync, constants, fstatSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PathValidator } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { decodeText } from '../files/text-encoding.ts';
import { unsavedText } from '../open-documents.ts';
import { openInside } from '../open-inside.ts';
import { realDisk } from '../real-disk.ts';
import type { Workspace } from '../workspace.ts';
import { type FileStamp, stampOf } from './changed-files.ts';
import { TextLines } from './character-position.ts';

/** More than any hand-written source has. Opened texts are kept in memory, so larger files are refused. */
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

  /** The path that a call names, workspace-relative and with links resolved. Throws if it may not be used. */
  resolve(path: string): string {
    const check = this.#validator.check(path);
    if (check.ok) return check.relative;
    const refusal = new CountersignError(check.refused.code);
    refusal.message = check.refused.message;
    throw refusal;
  }

  /** Like `resolve`, for a path that a server named. Returns a refusal instead of throwing it. */
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

/** Limit for all files that are read for one answer. */
const ANSWER_CHARACTERS = 64 * 1024 * 1024;
/** Limit for all files that are cached for later answers. */
const KEPT_CHARACTERS = 8 * 1024 * 1024;

/** A file that a server named and that may be shown. */
export interface LocatedFile {
  /** Workspace-relative, links resolved. */
  readonly path: string;
  readonly lines: TextLines;
}

/** Why a file is not shown: outside the workspace; sensitive, missing or not text; too much for one answer. */
export type NoFile = 'outside' | 'refused' | 'too much';

interface KeptFile extends LocatedFile {
  readonly stamp: FileStamp;
  readonly characters: number;
}

/**
 * The files that servers' answers point to. Each is checked (VA-1, VA-2) and read when it is first needed, and cached
 * as long as its stamp shows that it has not changed.
 */
export class LocatedFiles {
  readonly #texts: WorkspaceTexts;
  /** By absolute path as the server spells it; least recently used first. */
  readonly #kept = new Map<string, KeptFile>();
  #keptCharacters = 0;

  constructor(texts: WorkspaceTexts) {
    this.#texts = texts;
  }

  /** Returns a function that finds the files of one answer by URI, and reads each file once. */
  lookUp(): (uri: string) => LocatedFile | NoFile {
    const known = new Map<string, LocatedFile | NoFile>();
    let characters = 0;
    return (uri) => {
      const before = known.get(uri);
      if (before !== undefined) return before;
      const file = characters > ANSWER_CHARACTERS ? 'too much' : this.#find(uri);
      if (typeof file === 'object') characters += file.characters;
      known.set(uri, file);
      return file;
    };
  }

  #find(uri: string): KeptFile | 'outside' | 'refused' {
    if (!uri.startsWith('file:///')) return 'outside'; // a virtual document, such as a library without source
    try {
      const absolute = fileURLToPath(uri);
      const stamp = stampOf(absolute);
      const kept = this.#kept.get(absolute);
      if (kept) this.#forget(absolute, kept);
      const file = kept && kept.stamp === stamp ? kept : this.#read(absolute, stamp);
      if (typeof file === 'object' && stamp !== undefined) this.#keep(absolute, file);
      return file;
    } catch {
      return 'refused'; // no such file, not text, or not a path at all
    }
  }

  #read(absolute: string, stamp: FileStamp = ''): KeptFile | 'outside' | 'refused' {
    const path = this.#texts.locate(absolute);
    if (path === 'outside' || path === 'refused') return path;
    const text = this.#texts.read(path);
    return { path, lines: new TextLines(text), stamp, characters: text.length };
  }

  #keep(absolute: string, file: KeptFile): void {
    this.#kept.set(absolute, file);
    this.#keptCharacters += file.characters;
    for (const [oldest, kept] of this.#kept) {
      if (this.#keptCharacters <= KEPT_CHARACTERS) return;
      this.#forget(oldest, kept);
    }
  }

  #forget(absolute: string, kept: KeptFile): void {
    this.#kept.delete(absolute);
    this.#keptCharacters -= kept.characters;
  }
}
