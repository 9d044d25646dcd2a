import type { Progress } from '../executor.ts';
import { GitPhases } from '../git/git-phases.ts';

/**
 * Adds progress messages to reported output, taken from git's progress lines (of any program) and from the latest line of
 * npm. Only commands that run longer than OutputProgress's interval report output.
 */
export function withLineProgress(
  command: string,
  report: (progress: Progress) => void,
): (progress: Progress) => void {
  const phases = new GitPhases();
  const isNpm = /^\s*npm(\s|$)/.test(command);
  return (progress) => {
    const lines = (progress.output?.chunk ?? '').split(/[\r\n]+/).filter((line) => line.trim() !== '');
    let found: Progress = {};
    for (const line of lines) {
      const read = phases.read(line);
      if (typeof read === 'object') found = read;
      else if (isNpm) found = { message: line.trim() };
    }
    report({ ...found, ...progress });
  };
}
