/**
 * Functions on paths as text, with `/` between components. They decode and expand nothing and never use a disk.
 * `PlaceTable` finds the sensitive or executing place that a path is in.
 */

/** `/a/b/../c` → `['a', 'c']`; a `..` above the root stays at the root, as in a kernel. */
export function absoluteComponents(path: string): string[] {
  const stack: string[] = [];
  for (const part of path.split('/')) pushComponent(stack, part);
  return stack;
}

/** Applies one component to a stack: empty and `.` do nothing, `..` goes up. */
export function pushComponent(stack: string[], part: string): void {
  if (part === '' || part === '.') return;
  if (part === '..') stack.pop();
  else stack.push(part);
}

export const joinAbsolute = (components: readonly string[]): string => `/${components.join('/')}`;

/** `path` relative to `root`: `''` for the root itself, `undefined` for a path outside. */
export function relativeInside(root: readonly string[], path: readonly string[]): string | undefined {
  if (path.length < root.length) return undefined;
  for (let i = 0; i < root.length; i++) if (root[i] !== path[i]) return undefined;
  return path.slice(root.length).join('/');
}

/**
 * A component as a case-insensitive, normalising or Windows file system would compare it: NFKC, lower case,
 * without an alternate data stream and without trailing dots and spaces. For comparing names only.
 */
export function foldName(component: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the class is exactly the ASCII range
  const isAscii = /^[\x00-\x7f]*$/.test(component);
  let folded = isAscii
    ? component
    : component.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  folded = folded.toLowerCase();
  if (!isAscii) folded = folded.normalize('NFKC');
  const stream = folded.indexOf(':');
  if (stream > 0) folded = folded.slice(0, stream);
  return folded.replace(/[. ]+$/, '') || folded;
}

/**
 * The last extension of a file name with its dot, in lower case: `A.TAR.GZ` → `.gz`, `Makefile` → `''`. Two extensions for
 * a name with a colon: on Windows the colon starts a stream, elsewhere it is part of the name.
 */
export function extensionsOf(path: string): string[] {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const readings = name.includes(':') ? [name, name.slice(name.lastIndexOf(':') + 1)] : [name];
  return readings.map((reading) => {
    const folded = foldName(reading);
    const dot = folded.lastIndexOf('.');
    return dot <= 0 ? '' : folded.slice(dot);
  });
}

/**
 * Special places that are recognised by name. sensitive-places.ts and executing-places.ts are tables of these. A test runs
 * every example.
 */
export interface NamedPlace {
  readonly id: string;
  /** Shown to the person: what this place is. */
  readonly kind: string;
  /** Names of the last component, folded: a file or directory of exactly this name. */
  readonly names?: readonly string[];
  /** Names of any component, folded: everything below such a directory counts. */
  readonly directories?: readonly string[];
  /** Folded components joined by `/`, matched anywhere in a path; everything below such a path counts too. */
  readonly subpaths?: readonly string[];
  /** Matched against the folded last component. Must take linear time. */
  readonly namePattern?: RegExp;
  /** Folded last components that match `namePattern` but are meant to be shared, such as `.env.example`. */
  readonly exceptions?: RegExp;
  readonly matches: readonly string[];
  readonly doesNotMatch: readonly string[];
}

/** Suffixes that editors and people give to backup copies. */
const backupSuffix = /(~|#|\.(bak|backup|old|orig|save|swp|swo|tmp|copy))+$/;

export class PlaceTable {
  readonly places: readonly NamedPlace[];
  readonly #byName = new Map<string, NamedPlace>();
  readonly #byDirectory = new Map<string, NamedPlace>();
  readonly #subpaths: [string, NamedPlace][] = [];
  readonly #subpathStarts = new Set<string>();
  readonly #patterns: NamedPlace[] = [];

  constructor(places: readonly NamedPlace[]) {
    this.places = places;
    for (const place of places) {
      for (const name of place.names ?? []) this.#byName.set(name, place);
      for (const name of place.directories ?? []) this.#byDirectory.set(name, place);
      for (const subpath of place.subpaths ?? []) {
        this.#subpaths.push([`/${subpath}/`, place]);
        this.#subpathStarts.add(subpath.slice(0, subpath.indexOf('/')));
      }
      if (place.namePattern) this.#patterns.push(place);
    }
  }

  /** Whether a component of the folder is the first of an entry of `subpaths`: `.cargo`, `gradle`. */
  beginsSubpath(relativeFolder: string): boolean {
    return relativeFolder.split('/').some((component) => this.#subpathStarts.has(foldName(component)));
  }

  find(relativePath: string): NamedPlace | undefined {
    const folded = relativePath.split('/').map(foldName);
    return this.#find(folded) ?? this.#findOriginal(folded);
  }

  /** A backup counts as the file that it copies: `.env~`, `id_rsa.bak`. */
  #findOriginal(folded: readonly string[]): NamedPlace | undefined {
    const name = folded.at(-1) ?? '';
    const original = name.replace(backupSuffix, '');
    if (original === name || original === '') return undefined;
    const folder = folded.slice(0, -1);
    // Editors may add a prefix too: `.id_rsa.swp`, `#.env#`.
    return this.#find([...folder, original]) ?? this.#find([...folder, original.replace(/^[.#]/, '')]);
  }

  #find(folded: readonly string[]): NamedPlace | undefined {
    const name = folded.at(-1) ?? '';
    for (const component of folded) {
      const place = this.#byDirectory.get(component);
      if (place) return place;
    }
    const exact = this.#byName.get(name);
    if (exact) return exact;
    const whole = `/${folded.join('/')}/`;
    for (const [subpath, place] of this.#subpaths) {
      if (whole.includes(subpath)) return place;
    }
    return this.#patterns.find((place) => place.namePattern?.test(name) && !place.exceptions?.test(name));
  }
}
