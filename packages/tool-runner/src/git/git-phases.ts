import type { Progress } from '../executor.ts';

/** The phases of a fetch, push or checkout: the percentage of the whole at which each begins and ends. */
const phases: Readonly<Record<string, readonly [from: number, to: number]>> = {
  'Counting objects': [0, 5],
  'Compressing objects': [5, 20],
  'Writing objects': [20, 90],
  'Receiving objects': [20, 90],
  'Unpacking objects': [20, 90],
  'Resolving deltas': [90, 95],
  'Updating files': [95, 100],
  'Checking out files': [95, 100],
};

const phaseLine = /^(?:remote: )?([A-Z][a-z]+(?: [a-z]+)*):\s+(\d{1,3})% \(\d+\/\d+\)/;
/** Other lines that git prints with its progress. */
const otherLine =
  /^(?:remote: )?(?:Enumerating objects: \d|Delta compression using up to \d|Total \d+ \(delta \d)/;

/** Reads git's progress lines. Git counts each phase from 0 to 100; this computes the percentage of the whole. */
export class GitPhases {
  readonly #seen = new Set<string>();

  /** `silent` for a progress line without a percentage; undefined for any other line. */
  read(line: string): Progress | 'silent' | undefined {
    const found = phaseLine.exec(line);
    const [, phase = '', percent = ''] = found ?? [];
    const range = phases[phase];
    if (!found || !range) return otherLine.test(line) ? 'silent' : undefined;
    const isFirst = this.#seen.size === 0 || (this.#seen.size === 1 && this.#seen.has(phase));
    this.#seen.add(phase);
    // A checkout has only one phase.
    const from = isFirst ? 0 : range[0];
    const done = from + ((range[1] - from) * Math.min(100, Number(percent))) / 100;
    return { percent: Math.round(done), message: found[0].replace(/^remote: /, '').replace(/\s+/g, ' ') };
  }
}

/** Takes progress lines out of git's standard error, which comes in arbitrary chunks. */
export class GitProgressLines {
  readonly #phases = new GitPhases();
  #rest = '';
  latest: Progress | undefined;

  /** Returns the other lines, for people to read. */
  push(chunk: string): string {
    const lines = (this.#rest + chunk).split(/(?<=[\r\n])/);
    this.#rest = /[\r\n]$/.test(lines.at(-1) ?? '') ? '' : (lines.pop() ?? '');
    return lines.filter((line) => !this.#take(line)).join('');
  }

  end(): string {
    const rest = this.#rest;
    this.#rest = '';
    return rest === '' || this.#take(rest) ? '' : rest;
  }

  #take(line: string): boolean {
    const read = this.#phases.read(line);
    if (typeof read === 'object') this.latest = read;
    return read !== undefined;
  }
}
