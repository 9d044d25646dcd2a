/** Runs Vitest where a person can watch it, and counts from the report it leaves. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { repositoryRoot } from '../set-up.mjs';
import { run } from './child-process.ts';
import type { Counts } from './parts.ts';

export interface VitestRun {
  /** Names the report, so that parts do not overwrite each other's. */
  readonly name: string;
  /** Passed on to Vitest: file names to filter by, or its options. */
  readonly args: readonly string[];
  readonly coverage: boolean;
}

export async function runVitest({ name, args, coverage }: VitestRun): Promise<Counts> {
  const report = join(repositoryRoot, 'node_modules', '.cache', 'test-reports', `${name}.json`);
  rmSync(report, { force: true });
  const { exitCode } = await run(execPath, [
    join(repositoryRoot, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...(coverage ? ['--coverage'] : []),
    ...args,
  ]);
  return countResults(readReport(report), exitCode);
}

/** The part of Vitest's JSON report that we count. */
interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[];
}

function readReport(path: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as VitestReport;
  } catch {
    return undefined; // Vitest did not get as far as a report; its exit code says so
  }
}

/** Every way in which Vitest can fail counts at least once, also those without a failing test. */
export function countResults(report: VitestReport | undefined, exitCode: number): Counts {
  const passed = report?.numPassedTests ?? 0;
  const filesThatDidNotLoad = (report?.testResults ?? []).filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  );
  const failed = (report?.numFailedTests ?? 0) + filesThatDidNotLoad.length;
  const failedOtherwise = failed === 0 && exitCode !== 0; // coverage too low, an error outside of tests
  return { passed, failed: failedOtherwise ? 1 : failed };
}
