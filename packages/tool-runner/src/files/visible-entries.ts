import { type Glob, parseGlob, sensitivePlaces } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';

/**
 * Decides which entries a listing or a search shows: those that match the pattern. Dot-files are shown only if the pattern
 * names a dot (TL-2), and the content of a dot-directory only for a pattern with a path, such as `.github/**`. Sensitive
 * files (VA-2) are never shown, even if the person's policy file allows tools to read them.
 */
export class VisibleEntries {
  readonly pattern: string;
  readonly matchesDotFiles: boolean;
  readonly #glob: Glob | undefined;
  readonly #entersDotFolders: boolean;

  constructor(pattern: string) {
    const parsed = parseGlob(pattern);
    if (!parsed.ok) throw new CountersignError('PATTERN_INVALID', { pattern, problem: parsed.problem });
    this.pattern = pattern;
    this.matchesDotFiles = /(^|[/{,])(\\?\.|\[\.)(?!\/|$)/.test(pattern);
    this.#glob = pattern === '*' ? undefined : parsed.glob;
    this.#entersDotFolders = this.matchesDotFiles && pattern.replace(/\/+$/, '').includes('/');
  }

  /** `below` is relative to the listed directory, `path` to the root. */
  shows(below: string, path: string): boolean {
    if (this.#isHidden(below)) return false;
    if (this.#glob && !this.#glob.matches(below)) return false;
    return sensitivePlaces.find(path) === undefined;
  }

  /** Whether this directory may contain entries that are shown. */
  mayEnter(below: string, path: string): boolean {
    if (!this.#entersDotFolders && hasDot(below)) return false;
    return sensitivePlaces.find(path) === undefined;
  }

  #isHidden(below: string): boolean {
    if (!hasDot(below) || this.#entersDotFolders) return false;
    return !this.matchesDotFiles || hasDot(below.slice(0, Math.max(0, below.lastIndexOf('/'))));
  }
}

const hasDot = (path: string): boolean => path.startsWith('.') || path.includes('/.');
