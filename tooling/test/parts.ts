/** The parts of the suite. A new part is a new row here. */
import { globSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { installVsCode, isVsCodeInstalled } from '../../tests/e2e/src/vscode/real-vs-code.ts';
import { reportChecks } from '../check.ts';
import { repositoryRoot } from '../set-up.mjs';
import { run } from './child-process.ts';
import { editorCoverage, unitCoverage } from './editor-coverage.ts';
import { runErt } from './ert-run.ts';
import { checkLineCoverage } from './line-coverage.ts';
import type { Need } from './needs.ts';
import { runVitest } from './vitest-run.ts';

export interface PartResult {
  readonly passed: number;
  /** What failed, one entry each: its name, and why in a line or some. */
  readonly failures: readonly string[];
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
  /** When everything runs, it runs beside other parts once `unit` is over: it waits for editors and browsers a lot. */
  readonly beside?: true;
  run(options: RunOptions): Promise<PartResult>;
}

const git: Need = { program: 'git', debianPackage: 'git' };
const chromium: Need = { program: 'chromium', debianPackage: 'chromium' };
/** Without it commands are not isolated, and what proves the isolation is left out. */
const bubblewrap: Need = { program: 'bwrap', debianPackage: 'bubblewrap' };

const realVsCode: Need = { name: 'VS Code', isThere: isVsCodeInstalled, fetch: installVsCode };

/** How the files end whose tests start a database server. */
const postgresTests = 'postgres.test.ts';

/** How the files end whose tests kill servers for minutes. */
const killLoops = 'faults.test.ts';
/** Everything fails at random, and what came of it is checked. */
const faultSuite = 'tests/faults';

/** Whole stories in processes of their own: nothing of them counts for coverage. */
const stories = 'tests/**';

/** The page in a browser. */
const webTests = 'tests/e2e/src/web';
/** The extension in a real editor. */
const vsCodeTests = 'tests/e2e/src/vscode';

/** What the quick part leaves to the parts behind it. */
const slowTests = [`**/*.${postgresTests}`, 'apps/server/**'];

const excluding = (tests: readonly string[]): string[] => tests.flatMap((pattern) => ['--exclude', pattern]);

/** In the order in which they run: what answers soonest comes first. */
export const parts: readonly Part[] = [
  {
    name: 'unit', // everything beside its source; by itself only what is quick
    needs: [git, bubblewrap],
    // Coverage is counted in one run, so the whole suite has PostgreSQL's tests in it.
    run: ({ args, whole }) =>
      runVitest({
        name: 'unit',
        args: [...excluding(whole ? [stories] : [stories, ...slowTests]), ...args],
        coverage: whole,
      }),
  },
  {
    name: 'server', // the server over real connections and with real files
    needs: [],
    run: async ({ args, whole }) =>
      whole
        ? { passed: 0, failures: [] } // counted in `unit`
        : runVitest({
            name: 'server',
            args: ['apps/server', ...excluding([`**/*.${postgresTests}`]), ...args],
            coverage: false,
          }),
  },
  {
    name: 'postgres', // the stories that need a PostgreSQL server, which comes with a package
    needs: [],
    run: async ({ args, whole }) =>
      whole
        ? { passed: 0, failures: [] } // counted in `unit`
        : runVitest({
            name: 'postgres',
            args: [postgresTests, ...excluding([stories]), ...args],
            coverage: false,
          }),
  },
  {
    name: 'e2e', // whole stories: a prompt goes in, a person approves, a call ends
    needs: [git, bubblewrap],
    run: ({ args }) =>
      runVitest({
        name: 'e2e',
        // Two files at a time, however many cores: each starts servers, runners and terminals of its own.
        args: [
          'tests',
          '--maxWorkers=2',
          ...excluding([`**/*.${killLoops}`, `${faultSuite}/**`, `${webTests}*`, `${vsCodeTests}*`]),
          ...args,
        ],
        coverage: false,
      }),
  },
  {
    name: 'emacs', // the Emacs client in a real Emacs, with the real server and runner, and in a terminal
    beside: true,
    needs: [
      git,
      { program: 'emacs', debianPackage: 'emacs-nox' },
      { program: 'tmux', debianPackage: 'tmux' },
    ],
    run: ({ args }) => runErt(args),
  },
  {
    name: 'web', // the page in a real browser, by keyboard and by mouse
    beside: true,
    needs: [chromium],
    run: ({ args }) => runVitest({ name: 'web', args: [webTests, ...args], coverage: false }),
  },
  {
    name: 'vscode', // the packaged extension in a real VS Code, with the real server
    beside: true,
    needs: [git, bubblewrap, chromium, realVsCode],
    run: runVsCode,
  },
  {
    name: 'faults', // everything fails at random: shortly, or as long as one likes when it is named
    needs: [git, bubblewrap],
    run: ({ args, whole }) => (whole ? runVitest(shortFaults) : runFaults(args)),
  },
  {
    name: 'check', // types, lint, format, unused code and dependencies
    needs: [],
    run: () => reportChecks(),
  },
];

/** The test files whose path contains this, each as a part of its own, with the needs of the part that it belongs to. */
export function partsWithFile(name: string): readonly Part[] {
  const files = globSync('{packages,apps,tests,tooling,bench}/**/*.test.{ts,tsx}', {
    cwd: repositoryRoot,
    exclude: (path) => path.includes('node_modules'),
  });
  const needsOf = (file: string): readonly Need[] => {
    const whole = [webTests, vsCodeTests, faultSuite].findIndex((start) => file.startsWith(start));
    const part = ['web', 'vscode', 'faults'][whole] ?? (file.startsWith('tests/') ? 'e2e' : 'unit');
    return parts.find((candidate) => candidate.name === part)?.needs ?? [];
  };
  return files
    .filter((file) => file.includes(name))
    .sort()
    .map((file) => ({
      name: file,
      needs: needsOf(file),
      run: ({ args }) => runVitest({ name: 'file', args: [file, ...args], coverage: false }),
    }));
}

/**
 * With all of its stories, the lines are counted that run nowhere but in the editor. Together with what the unit part
 * counted of the extension they must reach what every app must (QA-1).
 */
async function runVsCode({ args, whole }: RunOptions): Promise<PartResult> {
  const counts = join(repositoryRoot, 'node_modules', '.cache', 'editor-coverage');
  rmSync(counts, { recursive: true, force: true });
  mkdirSync(counts, { recursive: true });
  if (args.length === 0) env.COUNTERSIGN_EDITOR_COVERAGE = counts;
  const { passed, failures } = await runVitest({
    name: 'vscode',
    args: [vsCodeTests, ...args],
    coverage: false,
  });
  if (args.length > 0) return { passed, failures };
  const inEditor = await editorCoverage(counts);
  // Named alone, this part does not know the other files: less is asked of what is hard to reach in an editor.
  const tooLow = whole
    ? checkLineCoverage('apps/vscode', [...unitCoverage(), ...inEditor], 90)
    : checkLineCoverage('apps/vscode inside the editor', inEditor, 80);
  return { passed, failures: [...failures, ...tooLow] };
}

/** One file at a time, and in it three runs: each starts servers, runners and a database. */
const shortFaults = {
  name: 'faults',
  args: [faultSuite, '--maxWorkers=1', '--maxConcurrency=3'],
  coverage: false,
};

/** `--kill-loop`: kill -9 at every labelled point, over and over. Without a word: that, and the long form of the rest. */
async function runFaults(args: readonly string[]): Promise<PartResult> {
  const [first, ...rest] = args;
  if (first === '--kill-loop')
    return runVitest({ name: 'kill-loop', args: [killLoops, ...rest], coverage: false });
  const { exitCode } = await run(execPath, [join(repositoryRoot, faultSuite, 'src', 'main.ts'), ...args]);
  const long: PartResult =
    exitCode === 0
      ? { passed: 1, failures: [] }
      : { passed: 0, failures: ['a promise was broken: see above'] };
  if (first !== undefined || exitCode !== 0) return long;
  const loop = await runFaults(['--kill-loop']);
  return { passed: long.passed + loop.passed, failures: loop.failures };
}
