import { defaultLimits, type Limits } from '@countersign/protocol';
import { CERTIFICATE_BYTES, holdsOnlyCertificates, mayBeCertificate } from './certificate.ts';
import { executingPlaces } from './executing-places.ts';
import { looseNameMatcher } from './glob.ts';
import { sensitivePlaces } from './sensitive-places.ts';
import { utf8Length } from './size-limiter.ts';
import { shorten } from './text.ts';
import { type Refused, refuse } from './verdict.ts';
import {
  absoluteComponents,
  joinAbsolute,
  type NamedPlace,
  type PlaceTable,
  pushComponent,
  relativeInside,
} from './workspace-path.ts';

export interface PathValidatorOptions {
  /** Absolute path of the workspace root, as the person opened it. It may contain links. */
  readonly root: string;
  /** Left out on the server, which checks the text alone (VA-1). */
  readonly disk?: Disk | undefined;
  readonly limits?: Pick<Limits, 'pathBytes' | 'nameBytes'>;
  /** Sensitive files (VA-2), relative to the workspace, that the person's own policy file makes available at HIGH. */
  readonly liftedSensitivePaths?: ReadonlySet<string> | undefined;
}

/** A path that is inside the workspace and not sensitive. */
export interface CheckedPath {
  readonly ok: true;
  /** Relative to the root, by the text alone; `''` is the root itself. */
  readonly named: string;
  /** Relative to the root, with links resolved. Without a disk it equals `named`. */
  readonly relative: string;
  /** The file or directory at the path; `undefined` if nothing exists there, or without a disk. */
  readonly entry: DiskEntry | undefined;
  /** The place of VA-3 that contains the path, or a link on the way to it. */
  readonly executesLater: NamedPlace | undefined;
  /** The place of VA-2 that contains the path, if the person's own policy file makes exactly this path available. */
  readonly liftedSensitive: NamedPlace | undefined;
  /** It is sensitive by its name, but holds a certificate without a private key. */
  readonly isCertificate: boolean;
}

export type PathCheck = CheckedPath | { readonly ok: false; readonly refused: Refused };

const MAX_LINKS = 40;
/** A folder with more names is not searched. */
const MAX_NAMES = 2_000;
/** A file pattern that needs more folders is not followed. */
const MAX_FOLDERS = 200;
const SYSTEM_FOLDER = /^\/(usr|bin|etc\/alternatives)(\/|$)/;
const SYSTEM_PYTHON = /^\/(usr\/(local\/)?)?bin\/python[\d.]*$/;

/**
 * Decides whether a tool may use a path in one workspace (VA-1, VA-2). The disk may change after this check, so the
 * runner walks the path again, by descriptors, when it uses the file.
 */
export class PathValidator {
  readonly root: string;
  readonly #options: PathValidatorOptions;
  readonly #root: readonly string[];
  #realRoot: readonly string[] | undefined;

  constructor(options: PathValidatorOptions) {
    if (!options.root.startsWith('/'))
      throw new TypeError(`The workspace root must be absolute: "${options.root}"`);
    this.#options = options;
    this.#root = absoluteComponents(options.root);
    this.root = joinAbsolute(this.#root);
  }

  /** `from` is the workspace-relative directory that a relative path starts in; the root by default. */
  check(path: unknown, from = ''): PathCheck {
    return this.#check(path, from);
  }

  /** Like `check`, for a file that is named but not read: it may be sensitive (VA-2). */
  checkName(path: unknown, from = ''): PathCheck {
    return this.#check(path, from, { mayBeSensitive: true });
  }

  /**
   * Whether a pattern of the shell may match a file whose name begins with a dash, which a program takes for an option.
   * False without a disk: the runner, which has one, decides again.
   */
  mayMatchOption(pattern: string, from: string): boolean {
    const { disk } = this.#options;
    const [first = '', ...rest] = pattern.split('/');
    if (!disk || !/^[*?[]/.test(first)) return false;
    const checked = this.check('.', from);
    if (!checked.ok) return true;
    const folder = checked.relative === '' ? this.root : `${this.root}/${checked.relative}`;
    const entries = disk.entries?.(folder, MAX_NAMES);
    if (entries === undefined) return disk.look(folder) !== undefined;
    const matches = looseNameMatcher(first);
    return entries.some(({ name }) => name.startsWith('-') && (rest.length > 0 || matches(name)));
  }

  /** Whether a pattern of the shell may match a path that leads outside by a link. False without a disk, as above. */
  mayMatchOutside(pattern: string, from: string): boolean {
    const { disk } = this.#options;
    const parts = pattern.split('/');
    const first = parts.findIndex((part) => /[*?[]/.test(part));
    if (!disk?.entries || first < 0) return false;
    const start = this.check(parts.slice(0, first).join('/') || (first === 0 ? '.' : '/'), from);
    // A fixed path that leads outside is judged by its name.
    if (!start.ok) return false;
    let folders = [start.relative];
    let searched = 0;
    for (const [depth, part] of parts.entries()) {
      if (depth < first || part === '') continue;
      const matches = looseNameMatcher(part);
      const next: string[] = [];
      for (const folder of folders) {
        if (++searched > MAX_FOLDERS) return true;
        const place = joinAbsolute([...this.#resolvedRoot(disk), ...folder.split('/').filter(Boolean)]);
        const entries = disk.entries(place, MAX_NAMES);
        if (entries === undefined && disk.look(place)?.type === 'directory') return true;
        for (const { name, type } of entries ?? []) {
          const isHidden = name.startsWith('.') && !part.startsWith('.');
          if (isHidden || type === 'file' || !matches(name)) continue;
          const checked = this.checkName(name, folder);
          if (!checked.ok && checked.refused.code === 'PATH_OUTSIDE_WORKSPACE') return true;
          if (checked.ok && checked.entry?.type === 'directory') next.push(checked.relative);
        }
      }
      folders = [...new Set(next)];
    }
    return false;
  }

  /**
   * Whether a program called `python` is a link to the Python of the system, as in every virtual environment: it runs the
   * same in isolation. The way there may only pass through links of the workspace and of the system, because Python loads
   * packages from the folders that it passes.
   */
  isSystemPython(path: string, from: string): boolean {
    const { disk } = this.#options;
    if (!disk || !/(^|\/)python[\d.]*$/.test(path) || path.startsWith('/')) return false;
    const root = this.#resolvedRoot(disk);
    const walk = walkLinks(disk, root, `${from}/${path}`);
    if (walk === 'LOOP') return false;
    const target = joinAbsolute(walk.real);
    const isKnown = (link: readonly string[]): boolean =>
      relativeInside(root, link) !== undefined || SYSTEM_FOLDER.test(joinAbsolute(link));
    return SYSTEM_PYTHON.test(target) && walk.links.every(isKnown) && disk.look(target)?.type === 'file';
  }

  #check(path: unknown, from: string, { mayBeSensitive = false } = {}): PathCheck {
    const malformed = this.#findMalformation(path);
    if (malformed !== undefined) return refused('PATH_INVALID', path, 'PATH-1', malformed);
    const text = path as string;

    const lexical = this.#lexical(text, from);
    if (lexical === undefined)
      return refused('PATH_OUTSIDE_WORKSPACE', text, 'PATH-2', 'leads outside the workspace');
    if (lexical === '~' || lexical.startsWith('~/')) {
      return refused('PATH_INVALID', text, 'PATH-1', 'the home directory is not expanded');
    }

    const names = [lexical];
    let relative = lexical;
    let entry: DiskEntry | undefined;
    if (this.#options.disk) {
      const resolved = this.#resolve(this.#options.disk, text, from);
      if (resolved === 'LOOP') return refused('PATH_INVALID', text, 'PATH-1', 'its links never end');
      if (resolved === 'OUTSIDE') {
        const problem = 'is a link that leads outside the workspace';
        return refused('PATH_OUTSIDE_WORKSPACE', text, 'PATH-3', problem);
      }
      names.push(...resolved.passed, resolved.relative);
      ({ relative, entry } = resolved);
    }

    const sensitive = firstPlace(sensitivePlaces, names);
    const liftable = this.#options.liftedSensitivePaths;
    const lifted = liftable?.has(lexical) && liftable.has(relative) ? sensitive : undefined;
    const isCertificate =
      sensitive !== undefined && names.every(mayBeCertificate) && this.#isCertificate(relative, entry);
    if (sensitive && !lifted && !mayBeSensitive && !isCertificate) {
      const { id, kind } = sensitive;
      const reason = { rule: id, why: `"${text}" is a sensitive file: ${kind}`, operand: text };
      return { ok: false, refused: refuse('PATH_SENSITIVE', { path: text, kind }, reason) };
    }
    if (entry?.type === 'other') {
      const values = { path: text, kind: 'device, pipe or socket' };
      const reason = { rule: 'PATH-4', why: `"${text}" is a device, pipe or socket`, operand: text };
      return { ok: false, refused: refuse('NOT_A_REGULAR_FILE', values, reason) };
    }
    return {
      ok: true,
      named: lexical,
      relative,
      entry,
      executesLater: firstPlace(executingPlaces, names),
      liftedSensitive: lifted,
      isCertificate,
    };
  }

  /** Without a disk the answer is left to the runner, which has one. */
  #isCertificate(relative: string, entry: DiskEntry | undefined): boolean {
    const { disk } = this.#options;
    if (!disk) return true;
    if (entry?.type !== 'file' || entry.size > CERTIFICATE_BYTES) return false;
    const head = disk.readHead(
      joinAbsolute([...this.#resolvedRoot(disk), ...relative.split('/')]),
      CERTIFICATE_BYTES + 1,
    );
    return head !== undefined && holdsOnlyCertificates(head);
  }

  #findMalformation(path: unknown): string | undefined {
    if (typeof path !== 'string') return `it is ${path === null ? 'null' : typeof path}, not text`;
    if (path === '') return 'it is empty';
    const { pathBytes, nameBytes } = this.#options.limits ?? defaultLimits;
    if (isLonger(path, pathBytes)) return `it has more than ${pathBytes} bytes`;
    if (path.length > nameBytes / 3 && path.split('/').some((name) => isLonger(name, nameBytes)))
      return `a name in it is longer than ${nameBytes} bytes`;
    if (path.includes('\u0000')) return 'it contains a NUL character';
    if (!path.isWellFormed()) return 'it is not valid Unicode';
    if (path.includes('\\')) return 'it contains a backslash; components are separated by /';
    if (/^[A-Za-z]:($|\/)/.test(path)) return 'it starts with a drive letter';
    if (/:\$/.test(path)) return 'it names an alternate data stream';
    return undefined;
  }

  /** The path relative to the root, by its text alone; undefined if that is outside. */
  #lexical(path: string, from: string): string | undefined {
    if (path.startsWith('/')) {
      const components = absoluteComponents(path);
      return (
        relativeInside(this.#root, components) ??
        (this.#options.disk && relativeInside(this.#resolvedRoot(this.#options.disk), components))
      );
    }
    const stack = [...this.#root];
    for (const part of from.split('/')) pushComponent(stack, part);
    for (const part of path.split('/')) pushComponent(stack, part);
    return relativeInside(this.#root, stack);
  }

  /** Follows links as the kernel would. `passed` lists the links on the way that are inside the workspace. */
  #resolve(disk: Disk, path: string, from: string): Resolved | 'OUTSIDE' | 'LOOP' {
    const root = this.#resolvedRoot(disk);
    const isBelowRoot = path.startsWith(`${this.root}/`);
    const walk = isBelowRoot
      ? walkLinks(disk, root, path.slice(this.root.length + 1))
      : path.startsWith('/')
        ? walkLinks(disk, [], path)
        : walkLinks(disk, root, `${from}/${path}`);
    if (walk === 'LOOP') return 'LOOP';
    const relative = relativeInside(root, walk.real);
    if (relative === undefined) return 'OUTSIDE';
    const passed = walk.links.flatMap((link) => relativeInside(root, link) ?? []);
    return { relative, entry: disk.look(joinAbsolute(walk.real)), passed };
  }

  #resolvedRoot(disk: Disk): readonly string[] {
    if (!this.#realRoot) {
      const walk = walkLinks(disk, [], this.root);
      this.#realRoot = walk === 'LOOP' ? this.#root : walk.real;
    }
    return this.#realRoot;
  }
}

/** Whether a text takes more bytes in UTF-8. A character takes at most 3, so short texts need not be counted. */
const isLonger = (text: string, bytes: number): boolean =>
  text.length > bytes || (3 * text.length > bytes && utf8Length(text) > bytes);

interface Resolved {
  readonly relative: string;
  readonly entry: DiskEntry | undefined;
  readonly passed: readonly string[];
}

interface Walk {
  readonly real: readonly string[];
  readonly links: readonly (readonly string[])[];
}

/** Walks `path` from the real directory `start`, replacing each link by its target. */
function walkLinks(disk: Disk, start: readonly string[], path: string): Walk | 'LOOP' {
  let real = [...start];
  const links: string[][] = [];
  /** Depth of the first component that does not exist. Components below it are not looked up. */
  let missingFrom = Number.POSITIVE_INFINITY;
  const todo = path.split('/').reverse();
  while (todo.length > 0) {
    const part = todo.pop() as string;
    pushComponent(real, part);
    if (real.length < missingFrom) missingFrom = Number.POSITIVE_INFINITY;
    if (part === '' || part === '.' || part === '..' || real.length > missingFrom) continue;
    const here = joinAbsolute(real);
    const entry = disk.look(here);
    if (!entry) missingFrom = real.length;
    if (entry?.type !== 'link') continue;
    links.push([...real]);
    if (links.length > MAX_LINKS) return 'LOOP';
    const target = disk.readLink(here) ?? '';
    real.pop();
    if (target.startsWith('/')) real = [];
    todo.push(...target.split('/').reverse());
  }
  return { real, links };
}

const firstPlace = (table: PlaceTable, names: readonly string[]): NamedPlace | undefined =>
  names.map((name) => table.find(name)).find((place) => place !== undefined);

function refused(
  code: 'PATH_INVALID' | 'PATH_OUTSIDE_WORKSPACE',
  path: unknown,
  rule: string,
  problem: string,
): PathCheck {
  const shown = shorten(typeof path === 'string' ? path : (JSON.stringify(path) ?? String(path)));
  const reason = { rule, why: `"${shown}": ${problem}`, operand: shown };
  return { ok: false, refused: refuse(code, { path: shown, problem }, reason) };
}

/**
 * The parts of a file system that policy reads. The runner and `policy check` pass the real disk. All paths are absolute.
 * A method returns `undefined` if nothing exists at the path or it cannot be read; methods never throw.
 */
export interface Disk {
  /** Does not follow a link in the last component. */
  look(path: string): DiskEntry | undefined;
  readLink(path: string): string | undefined;
  /** The first bytes of a regular file, to tell text from binary. */
  readHead(path: string, bytes: number): Uint8Array | undefined;
  /** What is in a folder; undefined if that is more than `most`. */
  entries?(path: string, most: number): readonly FolderEntry[] | undefined;
}

interface FolderEntry {
  readonly name: string;
  readonly type: DiskEntry['type'];
}

export interface DiskEntry {
  readonly type: 'file' | 'directory' | 'link' | 'other';
  readonly size: number;
  /** How many names the file has. With more than one, it may also be a file outside the workspace. */
  readonly hardLinks: number;
}
