/** The parts of the test suite. A new part is a new row here. */
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
  /** One entry for each failure: its name and the reason, in a few lines. */
  readonly failures: readonly string[];
}

export interface RunOptions {
  /** Arguments after the part's name, e.g. the name of a test file. */
  readonly args: readonly string[];
  /** True if all parts run, so that totals such as coverage are complete. */
  readonly whole: boolean;
}

export interface Part {
  readonly name: string;
  readonly needs: readonly Need[];
  /** In a full run, the parts of each lane run one after the other, beside the other lanes. They mostly wait. */
  readonly lane?: 'stories' | 'page' | 'editor';
  run(options: RunOptions): Promise<PartResult>;
}

const git: Need = { program: 'git', debianPackage: 'git' };
const chromium: Need = { program: 'chromium', debianPackage: 'chromium' };
/** Checks packages for Emacs. It has no program, so its installation script shows whether it is installed. */
const packageLint: Need = {
  program: '/usr/lib/emacsen-common/packages/install/elpa-package-lint',
  debianPackage: 'elpa-package-lint',
};
/** Without it commands are not isolated, and the tests of the isolation are skipped. */
const bubblewrap: Need = { program: 'bwrap', debianPackage: 'bubblewrap' };

/** Without it pushes over ssh are not tested. */
const sshServer: Need = { program: '/usr/sbin/sshd', debianPackage: 'openssh-server' };
const ssh: Need = { program: 'ssh', debianPackage: 'openssh-client' };
/** Makes the certificate of a git server. */
const openssl: Need = { program: 'openssl', debianPackage: 'openssl' };

const realVsCode: Need = { name: 'VS Code', isInstalled: isVsCodeInstalled, fetch: installVsCode };

/** File name ending of tests that start a database server. */
const postgresTests = 'postgres.test.ts';

/** File name ending of tests that kill servers for minutes. */
const killLoops = 'faults.test.ts';
/** Random faults, and checks of the outcome. */
const faultSuite = 'tests/faults';

/** End-to-end tests in processes of their own, which coverage does not count. */
const stories = 'tests/**';

/** The page in a browser. */
const webTests = 'tests/e2e/src/web';
/** The extension in a real editor. */
const vsCodeTests = 'tests/e2e/src/vscode';

/** Tests that `unit` leaves to later parts when it runs alone. */
const slowTests = [`**/*.${postgresTests}`, 'apps/server/**'];

const excluding = (tests: readonly string[]): string[] => tests.flatMap((pattern) => ['--exclude', pattern]);

/** In the order in which they run: the fastest results come first. */
export const parts: readonly Part[] = [
  {
    name: 'unit', // tests beside their source; alone, only the quick ones
    needs: [git, bubblewrap, ssh, sshServer, openssl],
    // Coverage is counted in one run, so in a full run PostgreSQL's tests are part of it.
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
    name: 'postgres', // tests that need a PostgreSQL server, which an npm package brings
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
    lane: 'stories',
    needs: [git, bubblewrap],
    run: ({ args }) =>
      runVitest({
        name: 'e2e',
        // Two files at a time on any machine: each starts servers, runners and terminals of its own.
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
    lane: 'page',
    needs: [
      git,
      { program: 'emacs', debianPackage: 'emacs-nox' },
      { program: 'tmux', debianPackage: 'tmux' },
      packageLint,
    ],
    run: ({ args }) => runErt(args),
  },
  {
    name: 'web', // the page in a real browser, by keyboard and by mouse
    lane: 'page',
    needs: [chromium],
    run: ({ args }) => runVitest({ name: 'web', args: [webTests, ...args], coverage: false }),
  },
  {
    name: 'vscode', // the packaged extension in a real VS Code, with the real server
    lane: 'editor',
    needs: [git, bubblewrap, chromium, realVsCode],
    run: runVsCode,
  },
  {
    name: 'faults', // random faults: a short run, or as long as asked for when the part is named
    lane: 'editor',
    needs: [git, bubblewrap],
    run: ({ args, whole }) => (whole ? runVitest(shortFaults) : runFaults(args)),
  },
  {
    name: 'check', // types, lint, format, unused code and dependencies
    lane: 'stories',
    needs: [],
    run: () => reportChecks(),
  },
];

/** The test files whose path contains `name`, each as its own part, with the needs of the part that it belongs to. */
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
 * A run of all stories also counts the lines that run only in the editor. Together with the extension's lines that the
 * unit part counted, they must reach the threshold of every app (QA-1).
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
  // When this part runs alone, the other files are unknown: a lower threshold for code that is hard to reach in an
  // editor.
  const tooLow = whole
    ? checkLineCoverage('apps/vscode', [...unitCoverage(), ...inEditor], 90)
    : checkLineCoverage('apps/vscode inside the editor', inEditor, 80);
  return { passed, failures: [...failures, ...tooLow] };
}

/** One file at a time with three concurrent runs, because each run starts servers, runners and a database. */
const shortFaults = {
  name: 'faults',
  args: [faultSuite, '--maxWorkers=1', '--maxConcurrency=3'],
  coverage: false,
};

/** `--kill-loop`: kill -9 at every labelled point. Without arguments: the kill loop and the long random runs. */
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
