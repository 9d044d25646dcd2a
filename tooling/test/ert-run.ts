/** Runs the ERT tests of the Emacs client in a real Emacs, and counts their results from its report. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { env } from 'node:process';
import { repositoryRoot } from '../set-up.mjs';
import { run } from './child-process.ts';
import { type CoveredFile, checkLineCoverage } from './line-coverage.ts';
import type { PartResult } from './parts.ts';

/** Percentage of the package's lines that its tests must reach. */
const requiredPercent = 90;

/** `args`: a regular expression for test names, in Emacs syntax. Without one, line coverage is checked too. */
export async function runErt(args: readonly string[]): Promise<PartResult> {
  const report = join(repositoryRoot, 'node_modules', '.cache', 'test-reports', 'emacs.json');
  mkdirSync(dirname(report), { recursive: true });
  rmSync(report, { force: true });
  env.COUNTERSIGN_ERT_COUNTS = report;
  env.COUNTERSIGN_ERT_SELECTOR = args[0] ?? '';
  const isWhole = args[0] === undefined;
  if (isWhole) env.COUNTERSIGN_ERT_COVERAGE = '1';
  const { exitCode } = await run('emacs', ['-Q', '--batch', '-l', 'apps/emacs/test/run.el']);
  const left = readReport(report);
  const { passed, failures } = countErt(left, exitCode);
  if (!isWhole || left === undefined) return { passed, failures };
  const { coverage = [] } = left as { readonly coverage?: readonly CoveredFile[] };
  return { passed, failures: [...failures, ...checkLineCoverage('apps/emacs', coverage, requiredPercent)] };
}

function readReport(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined; // Emacs ended before it wrote one; its exit code says so
  }
}

/** Counts at least one failure for every way in which Emacs can fail. */
export function countErt(report: unknown, exitCode: number): PartResult {
  const { passed = 0, failures = [] } = (report ?? {}) as Partial<PartResult>;
  const failedOtherwise = failures.length === 0 && exitCode !== 0;
  return { passed, failures: failedOtherwise ? [`Emacs ended with ${exitCode}`] : failures };
}
