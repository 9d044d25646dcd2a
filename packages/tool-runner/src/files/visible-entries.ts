import { type Glob, parseGlob, sensitivePlaces } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';

/**
 * Which entries a listing or a search shows: those whose names fit the pattern. Dot-files only when the pattern asks
 * for them (TL-2), and what stands in a dot-directory only when it asks for that with a path, such as `.github/**`.
 * Sensitive files (VA-2) never: a person who lifted one of them for tools did not ask for it to be found.
 */
export class VisibleEntries {
  readonly pattern: string;
  readonly asksForDots: boolean;
  readonly #glob: Glob | undefined;
  readonly #entersDots: boolean;

  constructor(pattern: string) {
    const parsed = parseGlob(pattern);
    if (!parsed.ok) throw new CountersignError('PATTERN_INVALID', { pattern, problem: parsed.problem });
    this.pattern = pattern;
    this.asksForDots = /(^|[/{,])(\\?\.|\[\.)(?!\/|$)/.test(pattern);
    this.#glob = pattern === '*' ? undefined : parsed.glob;
    this.#entersDots = this.asksForDots && pattern.replace(/\/+$/, '').includes('/');
  }

  /** `below` is the path from the directory that was asked for, `path` the one from the root. */
  shows(below: string, path: string): boolean {
    if (this.#isHidden(below)) return false;
    if (this.#glob && !this.#glob.matches(below)) return false;
    return sensitivePlaces.find(path) === undefined;
  }

  /** Whether something that is shown may stand in this directory. */
  enters(below: string, path: string): boolean {
    if (!this.#entersDots && hasDot(below)) return false;
    return sensitivePlaces.find(path) === undefined;
  }

  #isHidden(below: string): boolean {
    if (!hasDot(below) || this.#entersDots) return false;
    return !this.asksForDots || hasDot(below.slice(0, Math.max(0, below.lastIndexOf('/'))));
  }
}

const hasDot = (path: string): boolean => path.startsWith('.') || path.includes('/.');
