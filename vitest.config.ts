import { existsSync, readdirSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Sorts the longest files first, as Vitest does, but two quick ones before them, to show a result within seconds. */
class QuickResultFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const longestFirst = await super.sort(files);
    return [...longestFirst.slice(-2), ...longestFirst.slice(0, -2)];
  }
}

/** One threshold for each package: a glob over all would let one package make up for another. */
function eachPackage<T>(threshold: T): Record<string, T> {
  const folders = ['packages', 'apps'].flatMap((group) =>
    readdirSync(new URL(group, import.meta.url)).map((name) => `${group}/${name}/src`),
  );
  const withSources = folders.filter((folder) => existsSync(new URL(folder, import.meta.url)));
  return Object.fromEntries(withSources.map((folder) => [`${folder}/**`, threshold]));
}

/** Packages without global state: their test files share a process, so that modules are loaded once and not per file. */
const shared = 'protocol|policy|engine|approvals';
const sharedTests = [`packages/@(${shared})/src/**/*.test.ts`];
const isolatedTests = [
  `packages/!(${shared})/src/**/*.test.{ts,tsx}`,
  '{apps,tests}/*/src/**/*.test.{ts,tsx}',
  '{tooling,bench}/**/*.test.ts',
];

export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'shared', include: sharedTests, isolate: false, restoreMocks: true } },
      { extends: true, test: { name: 'isolated', include: isolatedTests } },
    ],
    // As fast as threads on two cores (measured), and a test may use signals and change its folder.
    pool: 'forks',
    // Use all cores: by default Vitest leaves one free, which is half of two.
    maxWorkers: '100%',
    sequence: { sequencer: QuickResultFirst },
    setupFiles: ['tooling/test/vitest-setup.ts'],
    // A busy machine may be slow, and no test may fail for that: single tests have no limits of their own
    // (tooling/test/vitest-setup.ts).
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 120_000,
    expect: { poll: { timeout: 120_000 } },
    // Coverage is off by default; the full `npm test` switches it on.
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**/*.{ts,tsx}', 'apps/*/src/**/*.{ts,tsx}'],
      exclude: [
        '**/*.test.{ts,tsx}',
        '**/*.test-data.{ts,tsx}',
        '**/*.d.ts',
        // These run only inside a real editor. The vscode part counts them, and adds the extension's other files from the
        // `json` report (tooling/test/editor-coverage.ts).
        'apps/vscode/src/{extension.ts,editor/**}',
        'apps/vscode/src/webview/main.tsx',
      ],
      // The vscode part reads the report, and must say what failed there even if a test of the unit part failed.
      reportOnFailure: true,
      reporter: [['text-summary'], ['text', { skipFull: true }], ['html'], ['json']],
      reportsDirectory: 'coverage',
      thresholds: {
        ...eachPackage({ lines: 90 }),
        'packages/protocol/src/**': { lines: 95 },
        'packages/policy/src/**': { lines: 95 },
        'packages/tool-runner/src/tool-handler.ts': { lines: 100, branches: 100 },
      },
    },
  },
});
