import type { Progress } from '../executor.ts';
import { GitPhases } from '../git/git-phases.ts';

/**
 * Adds progress to the reported output: read from git's progress lines, whatever program prints them, and the latest
 * line of npm. Only commands that take a while report output (OutputProgress).
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
