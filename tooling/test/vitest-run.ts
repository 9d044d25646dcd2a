/** Runs Vitest with visible output, and counts results from its report. */
import { readFileSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { execPath } from 'node:process';
import { repositoryRoot } from '../set-up.mjs';
import { run } from './child-process.ts';
import type { PartResult } from './parts.ts';

export interface VitestRun {
  /** Name of the report, so that parts do not overwrite each other's. */
  readonly name: string;
  /** Passed on to Vitest: file names to filter by, or its options. */
  readonly args: readonly string[];
  readonly coverage: boolean;
}

export async function runVitest({ name, args, coverage }: VitestRun): Promise<PartResult> {
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
  readonly testResults: readonly FileReport[];
}

interface FileReport {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly TestReport[];
}

interface TestReport {
  readonly status: string;
  readonly fullName: string;
  readonly failureMessages: readonly string[];
}

function readReport(path: string): VitestReport | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as VitestReport;
  } catch {
    return undefined; // Vitest ended before it wrote one; its exit code says so
  }
}

/** Counts at least one failure for every way in which Vitest can fail, even without a failing test. */
export function countResults(report: VitestReport | undefined, exitCode: number): PartResult {
  const failures = (report?.testResults ?? []).flatMap(failuresOf);
  const failedOtherwise = failures.length === 0 && exitCode !== 0;
  return {
    passed: report?.numPassedTests ?? 0,
    failures: failedOtherwise ? ['coverage too low, or an error outside of tests: see above'] : failures,
  };
}

function failuresOf({ name, status, message, assertionResults }: FileReport): string[] {
  const file = relative(repositoryRoot, resolve(repositoryRoot, name));
  if (status === 'failed' && assertionResults.length === 0) return [entry(file, message)];
  return assertionResults
    .filter((test) => test.status === 'failed')
    .map(({ fullName, failureMessages }) => entry(`${file} > ${fullName}`, failureMessages[0] ?? ''));
}

/** The message without its stack trace, which is further up in the log. */
function entry(what: string, message: string): string {
  const lines = message.split('\n');
  const stack = lines.findIndex((line) => /^\s+at /.test(line));
  const why = stack === -1 ? lines : lines.slice(0, stack);
  return [what, ...why.slice(0, 12).map((line) => `    ${line}`)].join('\n');
}
