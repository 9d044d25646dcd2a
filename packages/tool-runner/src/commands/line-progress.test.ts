import { expect, it } from 'vitest';
import type { Progress } from '../executor.ts';
import { withLineProgress } from './line-progress.ts';

const output = (chunk: string): Progress => ({ output: { stream: 'stderr', chunk } });

function told(command: string, chunks: readonly string[]): Progress[] {
  const reports: Progress[] = [];
  const report = withLineProgress(command, (progress) => reports.push(progress));
  for (const chunk of chunks) report(output(chunk));
  return reports;
}

it("[EV-1] tells git's own progress lines, also of a shell line (founding documents: tool-system)", () => {
  const chunk = 'Receiving objects:  10% (1/10)\rReceiving objects:  50% (5/10)\r';
  expect(told('cd sub && git fetch --progress', [chunk, 'done\n'])).toEqual([
    { percent: 45, message: 'Receiving objects: 50% (5/10)', ...output(chunk) },
    output('done\n'),
  ]);
});

it("[EV-1] tells npm's latest line, and of other programs only what they print", () => {
  const chunk = 'npm http fetch GET 200 https://packages.example.org/a\nadded 12 packages\n\n';
  expect(told('npm', [chunk])).toEqual([{ message: 'added 12 packages', ...output(chunk) }]);
  expect(told('npm ci && echo', [chunk])).toMatchObject([{ message: 'added 12 packages' }]);
  expect(told('npmx', [chunk])).toEqual([output(chunk)]);
});
