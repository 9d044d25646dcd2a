import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs';
import { extname, join } from 'node:path';

export type ChangeKind = 'created' | 'changed' | 'deleted';

/** What project files are written in, of any language. */
const projectFiles: readonly string[] = ['.json', '.toml', '.cfg', '.ini', '.yaml', '.yml', '.xml', '.mod'];
/** What package managers write when they have finished: the installed packages are others now. */
const installMarks: readonly string[] = [
  'node_modules/.package-lock.json',
  'node_modules/.yarn-integrity',
  'node_modules/.modules.yaml',
];
/** A larger workspace is not scanned further; the opened files are always compared. */
const MAX_FILES = 100_000;
/** Others get their turn after as many files. */
const FILES_A_TURN = 1_000;

/**
 * Finds out which files changed since it was asked last, so that a server, which cannot watch the disk from inside
 * its isolation, never answers from an old version. It looks at source and project files by their extension, and
 * not into installed packages and hidden folders, which servers only read.
 */
export class ChangedFiles {
  readonly #root: string;
  readonly #extensions: ReadonlySet<string>;
  #known = new Map<string, FileStamp>();
  /** Told by our own tools, also where no scan looks. */
  readonly #told = new Set<string>();
  #installed: string;

  private constructor(root: string, extensions: readonly string[]) {
    this.#root = root;
    this.#extensions = new Set([...extensions, ...projectFiles]);
    this.#installed = this.#readInstallMarks();
  }

  /** Takes what stands there now as known. */
  static async begin(root: string, extensions: readonly string[]): Promise<ChangedFiles> {
    const files = new ChangedFiles(root, extensions);
    files.#known = await files.#look();
    return files;
  }

  /** Packages were installed or removed since the beginning. */
  get hasOtherPackages(): boolean {
    return this.#readInstallMarks() !== this.#installed;
  }

  /** Workspace-relative paths that are reported next time, whatever a scan sees. */
  tell(paths: readonly string[]): void {
    for (const path of paths) if (this.#told.size < MAX_FILES) this.#told.add(path);
  }

  /** By workspace-relative path. */
  async find(): Promise<ReadonlyMap<string, ChangeKind>> {
    const before = this.#known;
    const now = await this.#look();
    this.#known = now;
    const changes = new Map<string, ChangeKind>();
    for (const path of this.#told) changes.set(path, this.#kindOfTold(path, before));
    this.#told.clear();
    for (const [path, stamp] of now) {
      if (!before.has(path)) changes.set(path, 'created');
      else if (before.get(path) !== stamp) changes.set(path, 'changed');
    }
    for (const path of before.keys()) if (!now.has(path)) changes.set(path, 'deleted');
    return changes;
  }

  #kindOfTold(path: string, before: ReadonlyMap<string, FileStamp>): ChangeKind {
    if (stampOf(join(this.#root, path)) === undefined) return 'deleted';
    return before.has(path) ? 'changed' : 'created';
  }

  async #look(): Promise<Map<string, FileStamp>> {
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
        if (sinceTurn >= FILES_A_TURN) {
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

/** A folder that went away meanwhile, or that may not be read, has nothing to tell. */
function readFolder(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Two changes this close together may leave the same times behind. */
const CLOCK_GRAIN_MS = 100;

/** Tells one version of a file from another without reading it. */
export type FileStamp = string;

/** Undefined where no regular file is. */
export function stampOf(path: string): FileStamp | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() ? stampFrom(stats) : undefined;
}

/**
 * A file that was changed just now gets a stamp that equals no other, not even its own next one: it is looked at
 * again rather than believed.
 */
function stampFrom({ dev, ino, size, mtimeMs, ctimeMs }: Stats): FileStamp {
  const isFresh = Date.now() - ctimeMs < CLOCK_GRAIN_MS;
  return `${dev}:${ino}:${size}:${mtimeMs}:${ctimeMs}${isFresh ? `:${freshCount++}` : ''}`;
}

let freshCount = 0;
