/** The parts of the suite. A new part is a new row here. */
import { reportChecks } from '../check.ts';
import type { Need } from './needs.ts';
import { runVitest } from './vitest-run.ts';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

export interface RunOptions {
  /** What the person typed after the part's name, e.g. the name of a test file. */
  readonly args: readonly string[];
  /** Whether all parts run, so that totals such as coverage mean something. */
  readonly whole: boolean;
}

export interface Part {
  readonly name: string;
  readonly needs: readonly Need[];
  run(options: RunOptions): Promise<Counts>;
}

const git: Need = { program: 'git', debianPackage: 'git' };

/** In the order in which they run: what answers soonest comes first. */
export const parts: readonly Part[] = [
  {
    name: 'unit', // everything beside its source: packages, apps, tooling
    needs: [git],
    run: ({ args, whole }) => runVitest({ name: 'unit', args, coverage: whole }),
  },
  {
    name: 'check', // types, lint, format, unused code and dependencies
    needs: [],
    run: () => reportChecks(),
  },
];
