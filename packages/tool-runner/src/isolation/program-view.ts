import { join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { basePython, virtualEnvironments } from '../programs/virtual-environment.ts';
import { realDisk, realPath } from '../real-disk.ts';
import { tryOr } from '../try-or.ts';
import { findOwnNode, findProgram, fixedPath, isFirstNode, isInside, type OwnNode } from './fixed-path.ts';
import {
  checkShownFolders,
  type FolderCheck,
  type ForbiddenFolders,
  type ProgramFolders,
  refusedEntry,
} from './shown-folders.ts';
import { isProgramFolder, maskedPlace, programFolders } from './system-view.ts';
import { listeningSockets, type SpecialPlaces, WorkspaceScan } from './workspace-scan.ts';

/** What isolation shows of the person's folders at one start. */
export interface ShownFolders {
  /** Where programs are found: the person's folders, the system's, and last that of the Node that came with us. */
  readonly path: readonly string[];
  /** The Node that runs this process. */
  readonly node: OwnNode | undefined;
  /** Folders, with links resolved. */
  readonly mounts: readonly string[];
  /** Links to them. */
  readonly links: readonly { readonly path: string; readonly real: string }[];
  /** Sensitive files, sockets and pipes below the mounts, to be covered. Absolute, links resolved. */
  readonly masked: readonly { readonly path: string; readonly isFolder: boolean }[];
  /** Variables that tell programs where their own files are. */
  readonly environment: Readonly<Record<string, string>>;
}

type Shown = Extract<FolderCheck, { state: 'shown' }>;
const isShown = (check: FolderCheck): check is Shown => check.state === 'shown';

/** An SDK may have more folders than a workspace. What one look does not reach, the next one does. */
const scanBounds = { directories: 200_000, milliseconds: 4_000 };
/** A look for secrets that took longer than this is not repeated for each command. */
const quickLookMs = 2;
/** It is then repeated after this many times its length. Commands cannot write there. */
const waitFactor = 20;

/** Knows which programs commands can use, from one start of a program to the next. */
export class ProgramView {
  readonly #forbidden: ForbiddenFolders;
  readonly #read: () => ProgramFolders;
  readonly #node: OwnNode | undefined;
  /** The person's own PATH. */
  readonly #personsPath: string;
  readonly #scans = new Map<string, { scan: WorkspaceScan; found: SpecialPlaces; lookAgainAt: number }>();

  constructor(forbidden: ForbiddenFolders, read: () => ProgramFolders, personsPath: string) {
    this.#forbidden = forbidden;
    this.#read = read;
    this.#node = findOwnNode(forbidden.root, forbidden.home);
    this.#personsPath = personsPath;
  }

  /**
   * `connects`: the command may open Unix sockets. Without isolation nothing is masked. Throws ISOLATION_UNAVAILABLE for a
   * folder that must not be shown, or that cannot be searched for secrets.
   */
  look({ connects, isIsolated }: { readonly connects: boolean; readonly isIsolated: boolean }): ShownFolders {
    const { readable, path } = this.#read();
    const checks = checkShownFolders([...path, ...readable], this.#forbidden);
    const refused = checks.find((check) => check.state === 'refused');
    if (refused) throw unavailable(refused.path, refused.problem);
    const folders = checks.filter(isShown);
    const hidden = folders.map(({ real }) => real).filter((real) => !isProgramFolder(real));
    const outermost = [...new Set(outermostOf(hidden, (real) => real))];
    for (const known of this.#scans.keys()) if (!outermost.includes(known)) this.#scans.delete(known);
    const masked = isIsolated ? outermost.flatMap((real) => this.#maskedIn(real, connects)) : [];
    // A link may lead to a secret that is not visible. The workspace has masks of its own.
    const isVisible = (place: string): boolean =>
      !isInside(this.#forbidden.root, place) &&
      outermost.some((folder) => isInside(folder, place)) &&
      realDisk.look(place) !== undefined;
    const listed = checks
      .slice(0, path.length)
      .flatMap((check) => (check.state === 'shown' ? [check.real] : []));
    return {
      path: this.#fixedPath(listed),
      node: this.#node,
      mounts: outermost,
      links: this.#linksTo(folders, outermost),
      masked: outermostOf(
        masked.filter((place) => isVisible(place.path)),
        (place) => place.path,
      ),
      environment: variablesFor(folders, this.#forbidden.home),
    };
  }

  /**
   * Returns the absolute path of a program that commands see. Throws PROGRAM_NOT_FOUND, or PROGRAM_HIDDEN for one that the
   * person has and isolation hides.
   */
  find(program: string, { path, mounts }: ShownFolders, readable: readonly string[] = []): string {
    const visible = [...(this.#node ? [this.#node.shown] : []), ...readable, ...mounts];
    const isVisible = (real: string): boolean =>
      isProgramFolder(real) || visible.some((folder) => isInside(folder, real));
    try {
      return findProgram(program, path, this.#forbidden.root, isVisible);
    } catch (error) {
      throw this.explainHidden(program) ?? error;
    }
  }

  /** Returns the error for a program that the person's PATH has. Call it for one that a command did not find. */
  explainHidden(program: string): CountersignError | undefined {
    if (!/^[\w.+-]+$/.test(program)) return undefined;
    const folders = this.#personsPath.split(':').filter((folder) => folder.startsWith('/'));
    const found = tryOr(() => findProgram(program, folders, this.#forbidden.root), undefined);
    return found === undefined ? undefined : this.#hidden(program, found);
  }

  /** The same for the interpreter of the workspace's virtual environments, which are links to a Python elsewhere. */
  explainHiddenPython(): CountersignError | undefined {
    const { readable, path } = this.#read();
    const shown = checkShownFolders([...path, ...readable], this.#forbidden).filter(isShown);
    const isVisible = (real: string): boolean =>
      isProgramFolder(real) || shown.some((folder) => isInside(folder.real, real));
    return virtualEnvironments(this.#forbidden.root)
      .map((environment) => ({ environment, python: basePython(environment) }))
      .filter(({ python }) => python !== undefined && !isVisible(realPath(python) ?? python))
      .map(({ environment, python = '' }) =>
        this.#hidden(`${environment.slice(this.#forbidden.root.length + 1)}/bin/python`, python),
      )[0];
  }

  #hidden(program: string, path: string): CountersignError {
    const { home } = this.#forbidden;
    const place = isInside(home, path) ? `~${path.slice(home.length)}` : path;
    return new CountersignError('PROGRAM_HIDDEN', { program, path: place });
  }

  #fixedPath(listed: readonly string[]): readonly string[] {
    const node = this.#node;
    const isTheirs = node !== undefined && isFirstNode(node, this.#personsPath, this.#forbidden.root);
    return fixedPath(isTheirs ? [...listed, node.programs] : listed, node);
  }

  /** Entries that are links exist in isolation too, unless they are visible anyway. */
  #linksTo(folders: readonly Shown[], mounts: readonly string[]): readonly Shown[] {
    const visible = [...mounts, ...programFolders, this.#forbidden.root];
    return folders.filter(
      ({ path, real }) => path !== real && !visible.some((folder) => isInside(folder, path)),
    );
  }

  #maskedIn(folder: string, connects: boolean) {
    const now = performance.now();
    const known = this.#scans.get(folder);
    let found = known?.found;
    if (!known || found === undefined || now >= known.lookAgainAt) {
      const scan =
        known?.scan ??
        new WorkspaceScan({ root: '/', home: this.#forbidden.home }, scanBounds, folder.slice(1));
      found = scan.findPlaces();
      const took = performance.now() - now;
      const isQuick = took <= quickLookMs || found.missed !== undefined;
      this.#scans.set(folder, { scan, found, lookAgainAt: isQuick ? 0 : now + took * waitFactor });
    }
    if (found.missed !== undefined)
      throw unavailable(folder, `it cannot be searched for secrets: ${found.missed}`);
    const sockets = connects ? listeningSockets(folder).map((path) => join(folder, path)) : [];
    const special = [...found.specialFiles.map((path) => `/${path}`), ...sockets];
    return [
      ...found.sensitive.flatMap((place) => maskedPlace('/', place)),
      ...[...new Set(special)].map((path) => ({ path, isFolder: false })),
    ];
  }
}

function outermostOf<T>(all: readonly T[], pathOf: (one: T) => string): T[] {
  const isBelow = (one: T, other: T): boolean =>
    pathOf(other) !== pathOf(one) && isInside(pathOf(other), pathOf(one));
  return all.filter((one) => !all.some((other) => isBelow(one, other)));
}

const unavailable = (path: string, problem: string): CountersignError =>
  new CountersignError('ISOLATION_UNAVAILABLE', { problem: refusedEntry(path, problem) });

/** Programs look for their own files in the home folder, which is private, unless a variable says otherwise. */
const variables: Readonly<Record<string, string>> = {
  '.rustup': 'RUSTUP_HOME',
  '.pyenv': 'PYENV_ROOT',
  '.rbenv': 'RBENV_ROOT',
  '.asdf': 'ASDF_DATA_DIR',
  '.volta': 'VOLTA_HOME',
};

function variablesFor(folders: readonly Shown[], home: string): Record<string, string> {
  const isShown = (folder: string): boolean => folders.some(({ path }) => path === join(home, folder));
  const found = Object.entries(variables).filter(([folder]) => isShown(folder));
  return Object.fromEntries(found.map(([folder, name]) => [name, join(home, folder)]));
}
