import { existsSync, readdirSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest files first, as always, but two quick ones before them: who waits sees within seconds that it works. */
class SoonAResult extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const longestFirst = await super.sort(files);
    return [...longestFirst.slice(-2), ...longestFirst.slice(0, -2)];
  }
}

/** One threshold for each: a glob over all of them would let one make up for another. */
function eachPackage<T>(threshold: T): Record<string, T> {
  const folders = ['packages', 'apps'].flatMap((group) =>
    readdirSync(new URL(group, import.meta.url)).map((name) => `${group}/${name}/src`),
  );
  const withSources = folders.filter((folder) => existsSync(new URL(folder, import.meta.url)));
  return Object.fromEntries(withSources.map((folder) => [`${folder}/**`, threshold]));
}

export default defineConfig({
  test: {
    include: ['{packages,apps,tests}/*/src/**/*.test.{ts,tsx}', '{tooling,bench}/**/*.test.ts'],
    // On two cores as quick as threads (measured), and a test may use signals and change its folder.
    pool: 'forks',
    // All cores: by itself Vitest leaves one free, which on two is half of them.
    maxWorkers: '100%',
    sequence: { sequencer: SoonAResult },
    setupFiles: ['tooling/test/property-seed.ts', 'tooling/test/eventually.ts'],
    // What is waited for comes at once. A machine that does much else takes longer, and no test may fail for that: single
    // tests have no limits of their own (tooling/test/eventually.ts).
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 120_000,
    expect: { poll: { timeout: 120_000 } },
    // Coverage is off unless asked for; the full `npm test` asks, and then these lines hold.
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**/*.{ts,tsx}', 'apps/*/src/**/*.{ts,tsx}'],
      exclude: [
        '**/*.test.{ts,tsx}',
        '**/*.test-data.{ts,tsx}',
        '**/*.d.ts',
        // Run only inside a real editor: the vscode part counts these and adds the other files of the extension, which
        // the report `json` has (tooling/test/editor-coverage.ts).
        'apps/vscode/src/{extension.ts,editor/**}',
        'apps/vscode/src/webview/main.tsx',
      ],
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
