import { join } from 'node:path';
import { realDisk } from '../real-disk.ts';
import type { ToolModule } from '../tool-module.ts';
import { readHead } from './commit-plan.ts';
import { gitFailed } from './git-failure.ts';
import { limitTo, lookAtRead } from './git-tools.ts';
import { commitFormat, parseLog } from './log-output.ts';

export const gitLog: ToolModule<'git_log'> = {
  look: lookAtRead,
  async execute({ params }, { signal }, repository) {
    const { path, limit } = params;
    const own = await repository.open(signal);
    // A file keeps its history when it is renamed; git can follow one file, not a folder.
    const isFile =
      path !== undefined && realDisk.look(join(repository.workspace.root, path))?.type === 'file';
    const args = [
      ...['log', '-z', `--format=${commitFormat}`, `--max-count=${limit + 1}`, '--no-show-signature'],
      ...['--no-mailmap', '--encoding=UTF-8', ...(isFile ? ['--follow'] : [])],
    ];
    const answer = await repository.run(own, [...args, '--', ...limitTo(repository, params)], { signal });
    if (answer.exitCode !== 0 && !answer.cut) {
      const { head } = await readHead(repository, own, signal);
      if (head !== null) throw gitFailed(answer.stderr, answer.exitCode);
      return { success: true, commits: [], truncated: false };
    }
    const commits = parseLog(answer.stdout);
    return {
      success: true,
      commits: commits.slice(0, limit),
      truncated: answer.cut || commits.length > limit,
    };
  },
};
