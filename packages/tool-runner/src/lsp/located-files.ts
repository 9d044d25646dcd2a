import { fileURLToPath } from 'node:url';
import { TextLines } from './character-position.ts';
import { type FileStamp, stampOf } from './file-stamp.ts';
import type { WorkspaceTexts } from './workspace-texts.ts';

/** Characters of the files that are read for one answer, and of those that are kept for the next one. */
const ANSWER_CHARACTERS = 64 * 1024 * 1024;
const KEPT_CHARACTERS = 8 * 1024 * 1024;

/** A file that a server named and that may be shown. */
export interface LocatedFile {
  /** Workspace-relative, links resolved. */
  readonly path: string;
  readonly lines: TextLines;
}

/** Why there is none: outside the workspace; sensitive, missing or no text; more than one answer may take. */
export type NoFile = 'outside' | 'refused' | 'too much';

interface KeptFile extends LocatedFile {
  readonly stamp: FileStamp;
  readonly characters: number;
}

/**
 * The files in which servers find things. Each is checked (VA-1, VA-2) and read when it is shown for the first time,
 * and kept as long as its stamp shows that it is the very same file with the same content.
 */
export class LocatedFiles {
  readonly #texts: WorkspaceTexts;
  /** By absolute path as the server spells it; least recently used first. */
  readonly #kept = new Map<string, KeptFile>();
  #keptCharacters = 0;

  constructor(texts: WorkspaceTexts) {
    this.#texts = texts;
  }

  /** Looks files up for one answer, each once. */
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
    if (!uri.startsWith('file:///')) return 'outside'; // made up by the server, as for a library without source
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
