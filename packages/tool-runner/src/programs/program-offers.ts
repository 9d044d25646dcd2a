import { existsSync, readdirSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { findOwnNode, isExecutable, isInside, systemFolders } from '../isolation/fixed-path.ts';
import { checkShownFolders, type ForbiddenFolders, type ProgramFolders } from '../isolation/shown-folders.ts';
import { isProgramFolder } from '../isolation/system-view.ts';
import { realPath } from '../real-disk.ts';
import { tryOr } from '../try-or.ts';
import { installationFolders } from './installation-folder.ts';
import { basePython, virtualEnvironments } from './virtual-environment.ts';

/** What could be added to `runner.json`, so that commands find programs that the person has. */
export interface ProgramOffer extends ProgramFolders {
  /** The folder on the person's PATH, or the virtual environment of the workspace. */
  readonly from: string;
  /** Names of programs that commands would find; empty for a virtual environment. */
  readonly programs: readonly string[];
}

export interface OfferQuestion {
  readonly forbidden: ForbiddenFolders;
  /** What `runner.json` lists already. */
  readonly listed: ProgramFolders;
  /** The person's PATH. */
  readonly path: string | undefined;
}

/** Folders that npm puts on PATH for the script it runs, such as `npm start`. They are not the person's. */
const npmFolder = /\/(node_modules\/\.bin|node-gyp-bin)\/?$/;

/** A folder with more entries is not a folder of programs. */
const MAX_ENTRIES = 5_000;

/**
 * Finds programs that the person has and that isolation hides, and what to list for them. Reads folders, runs nothing. A
 * sensitive folder is never offered.
 */
export function findProgramOffers({ forbidden, listed, path }: OfferQuestion): ProgramOffer[] {
  const { root, home } = forbidden;
  const view = new OfferView(forbidden, listed);
  const folders = (path ?? '')
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !npmFolder.test(folder));
  const fromPath = [...new Set(folders)].flatMap((folder) => {
    const real = realPath(folder);
    if (real === undefined || isInside(root, real)) return [];
    const isSearched = view.isSearched(real);
    if (!isSearched && !view.mayShow(folder)) return [];
    const found = programsIn(real, { linksOnly: isSearched })
      .map((name) => ({ name, target: realPath(join(real, name)) ?? '' }))
      .filter(({ target }) => !isInside(root, target) && !(isSearched && view.isVisible(target)));
    const needed = found.map(({ target }) => target).flatMap((target) => view.neededFor(target));
    const readable = view.add(isSearched || found.length === 0 ? needed : [folder, ...needed]);
    const programs = found.filter(({ target }) => view.isVisible(target)).map(({ name }) => name);
    if (programs.length === 0) return [];
    const others = readable.filter((shown) => shown !== folder); // what is on the path is readable anyway
    return [{ from: folder, path: isSearched ? [] : [folder], readable: others, programs }];
  });
  const fromWorkspace = virtualEnvironments(root).flatMap((environment) => {
    const python = basePython(environment);
    const readable = python !== undefined && view.mayShow(python) ? view.add([python]) : [];
    return readable.length > 0 ? [{ from: environment, path: [], readable, programs: [] }] : [];
  });
  const short = (folder: string): string =>
    isInside(home, folder) ? `~${folder.slice(home.length)}` : folder;
  return [...fromPath, ...fromWorkspace].map((offer) => ({
    ...offer,
    path: offer.path.map(short),
    readable: offer.readable.map(short),
  }));
}

/** What commands see already, or will see with the offers that were made so far. */
class OfferView {
  readonly #forbidden: ForbiddenFolders;
  readonly #visible: string[];
  readonly #searched: ReadonlySet<string | undefined>;

  constructor(forbidden: ForbiddenFolders, { readable, path }: ProgramFolders) {
    this.#forbidden = forbidden;
    const shown = (entries: readonly string[]): string[] =>
      checkShownFolders(entries, forbidden).flatMap((check) => (check.state === 'shown' ? [check.real] : []));
    this.#visible = shown([...path, ...readable]);
    // Commands find the Node that runs this process, whichever it is.
    const node = findOwnNode(forbidden.root, forbidden.home)?.programs;
    this.#searched = new Set([...shown(path), node, ...systemFolders.map((folder) => realPath(folder))]);
  }

  /** Whether commands look for programs in the folder. */
  isSearched(real: string): boolean {
    return this.#searched.has(real);
  }

  isVisible(real: string): boolean {
    return isProgramFolder(real) || this.#visible.some((folder) => isInside(folder, real));
  }

  mayShow(folder: string): boolean {
    return checkShownFolders([folder], this.#forbidden)[0]?.state === 'shown';
  }

  /** Returns the folders that a program needs. */
  neededFor(target: string): string[] {
    const { home } = this.#forbidden;
    const best = installationFolders(target, home).find((folder) => this.mayShow(folder));
    if (best === undefined) return [];
    // The programs in ~/.cargo/bin are rustup, which starts those of a toolchain; those of a venv start another Python.
    const toolchains = best === join(home, '.cargo/bin') ? [join(home, '.rustup')] : [];
    const python = existsSync(join(dirname(dirname(target)), 'pyvenv.cfg'))
      ? basePython(dirname(dirname(target)))
      : undefined;
    const more = [...toolchains, ...(python === undefined ? [] : [python])];
    return [best, ...more.filter((folder) => this.mayShow(folder))];
  }

  /** Adds what is not visible yet. Returns what was added. */
  add(folders: readonly string[]): string[] {
    const added: string[] = [];
    for (const folder of folders) {
      const real = realPath(folder);
      const isLink = folder !== real && !this.isVisible(folder);
      if (real === undefined || (this.isVisible(real) && !isLink)) continue;
      added.push(folder);
      this.#visible.push(real, folder);
    }
    return added;
  }
}

function programsIn(folder: string, { linksOnly }: { readonly linksOnly: boolean }): string[] {
  const entries = tryOr(() => readdirSync(folder, { withFileTypes: true }), []);
  if (entries.length > MAX_ENTRIES) return [];
  const candidates = linksOnly ? entries.filter((entry) => entry.isSymbolicLink()) : entries;
  return candidates.map(({ name }) => name).filter((name) => isExecutable(join(folder, name)));
}
