import { lstatSync } from 'node:fs';
import type { ToolModule } from '../tool-module.ts';
import { readHead } from './commit-plan.ts';
import { parseDiff } from './diff-output.ts';
import { gitFailed } from './git-failure.ts';
import type { OpenedRepository } from './git-repository.ts';
import { limitTo, lookAtRead } from './git-tools.ts';

/** Compares the work tree with the last commit; with `staged`, compares the index with it. */
export const gitDiff: ToolModule<'git_diff'> = {
  look: lookAtRead,
  async execute({ params }, { signal, riskLevel }, repository) {
    const { staged } = params;
    const { root, limits } = repository.workspace;
    const git = await repository.open(signal);
    const args = [
      ...['--raw', '--patch', '--find-copies', '--no-ext-diff', '--no-textconv', '--no-color'],
      ...['--ignore-submodules=dirty', '--submodule=short', ...(staged ? ['--cached'] : [])],
    ];
    const diffWith = (commit: string) =>
      git.run(['diff', ...args, commit, '--', ...limitTo(repository, params)]);
    let answer = await diffWith('HEAD');
    if (answer.exitCode !== 0 && !answer.cut) {
      // There is no commit yet: compare with the empty tree.
      const { head } = await readHead(git);
      if (head !== null) throw gitFailed(answer.stderr, answer.exitCode);
      answer = await diffWith(await emptyTree(git));
      if (answer.exitCode !== 0 && !answer.cut) throw gitFailed(answer.stderr, answer.exitCode);
    }
    const options = { entries: limits.entries, cut: answer.cut };
    // In a LOW call, which nobody approved, hide the lines of files that may be outside the workspace. Staged content
    // comes from the repository itself.
    const isUnasked = !staged && riskLevel === 'LOW';
    return parseDiff(
      answer.stdout,
      isUnasked ? { ...options, hides: (file) => isShared(root, file) } : options,
    );
  },
};

/** Whether a file has several hard links, so that it may also be a file outside the workspace (VA-1). */
function isShared(root: string, path: Buffer): boolean {
  const stats = lstatSync(Buffer.concat([Buffer.from(`${root}/`), path]), { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.nlink > 1;
}

async function emptyTree(git: OpenedRepository): Promise<string> {
  const { stdout } = await git.ask(['hash-object', '-t', 'tree', '--stdin'], { input: Buffer.alloc(0) });
  return stdout.toString('latin1').trim();
}
