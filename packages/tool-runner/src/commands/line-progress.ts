import type { Progress } from '../executor.ts';
import { GitPhases } from '../git/git-phases.ts';

/**
 * Reads from what a command prints how far it is, and tells that with the output: git's own progress lines, wherever
 * they come from, and the latest line of npm. Output is told only of a command that takes a while (OutputProgress).
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
