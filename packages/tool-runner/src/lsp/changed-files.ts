import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';

export type ChangeKind = 'created' | 'changed' | 'deleted';

/** Extensions of project files, in any language. */
const projectFiles: readonly string[] = ['.json', '.toml', '.cfg', '.ini', '.yaml', '.yml', '.xml', '.mod'];
/** Files that package managers write when they have finished: then the installed packages have changed. */
const installMarks: readonly string[] = [
  'node_modules/.package-lock.json',
  'node_modules/.yarn-integrity',
  'node_modules/.modules.yaml',
];
/** No more files than this are scanned; opened files are always compared. */
const MAX_FILES = 100_000;
/** The scan yields to the event loop after this many entries. */
const ENTRIES_A_TURN = 1_000;

/**
 * Finds the files that changed since the last call, because a server cannot watch the disk from inside its isolation.
 * Scans source and project files by their extension, but not installed packages and hidden folders.
 */
export class ChangedFiles {
  readonly #root: string;
  readonly #extensions: ReadonlySet<string>;
  #known = new Map<string, FileStamp>();
  readonly #installed: string;

  private constructor(root: string, extensions: readonly string[]) {
    this.#root = root;
    this.#extensions = new Set([...extensions, ...projectFiles]);
    this.#installed = this.#readInstallMarks();
  }

  /** Starts with the files that are there now. */
  static async begin(root: string, extensions: readonly string[]): Promise<ChangedFiles> {
    const files = new ChangedFiles(root, extensions);
    files.#known = await files.#scan();
    return files;
  }

  /** True if packages were installed or removed since `begin`. */
  get havePackagesChanged(): boolean {
    return this.#readInstallMarks() !== this.#installed;
  }

  /** Returns the changes since the last call by workspace-relative path. */
  async find(): Promise<ReadonlyMap<string, ChangeKind>> {
    const before = this.#known;
    const now = await this.#scan();
    this.#known = now;
    const changes = new Map<string, ChangeKind>();
    for (const [path, stamp] of now) {
      if (!before.has(path)) changes.set(path, 'created');
      else if (before.get(path) !== stamp) changes.set(path, 'changed');
    }
    for (const path of before.keys()) if (!now.has(path)) changes.set(path, 'deleted');
    return changes;
  }

  async #scan(): Promise<Map<string, FileStamp>> {
    const found = new Map<string, FileStamp>();
    const folders = [''];
    let sinceTurn = 0;
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for (const entry of readFolder(join(this.#root, folder))) {
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
        if (entry.isDirectory()) {
          if (!entry.name.startsWith('.') && entry.name !== 'node_modules') folders.push(path);
        } else if (entry.isFile() && this.#extensions.has(extname(entry.name).toLowerCase())) {
          const stamp = stampOf(join(this.#root, path));
          if (stamp !== undefined) found.set(path, stamp);
          if (found.size >= MAX_FILES) return found;
        }
        sinceTurn += 1;
        if (sinceTurn >= ENTRIES_A_TURN) {
          sinceTurn = 0;
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
    }
    return found;
  }

  #readInstallMarks(): string {
    return installMarks.map((mark) => stampOf(join(this.#root, mark)) ?? '').join(' ');
  }
}

/** Empty if the folder is gone or may not be read. */
function readFolder(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Two changes within this time may get the same timestamps. */
const CLOCK_GRAIN_MS = 100;

/** Distinguishes versions of a file without reading it. */
export type FileStamp = string;

/**
 * Undefined if there is no regular file. A file that was changed just now gets a unique stamp, so that it counts as
 * changed and is read again.
 */
export function stampOf(path: string): FileStamp | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats?.isFile()) return undefined;
  const { dev, ino, size, mtimeMs, ctimeMs } = stats;
  const isFresh = Date.now() - ctimeMs < CLOCK_GRAIN_MS;
  return `${dev}:${ino}:${size}:${mtimeMs}:${ctimeMs}${isFresh ? `:${freshCount++}` : ''}`;
}

let freshCount = 0;
