import { lstatSync } from 'node:fs';
import type { ToolModule } from '../tool-module.ts';
import { readHead } from './commit-plan.ts';
import type { ConfigEntry } from './config-text.ts';
import { parseDiff } from './diff-output.ts';
import { gitFailed } from './git-failure.ts';
import type { GitRepository } from './git-repository.ts';
import { limitTo, lookAtRead } from './git-tools.ts';

/** Since the last commit: the work tree against it, staged or not. Staged: the index against it. */
export const gitDiff: ToolModule<'git_diff'> = {
  look: lookAtRead,
  async execute({ params }, { signal, riskLevel }, repository) {
    const { staged } = params;
    const { root, limits } = repository.workspace;
    const own = await repository.open(signal);
    const args = [
      ...['--raw', '--patch', '--find-copies', '--no-ext-diff', '--no-textconv', '--no-color'],
      ...['--ignore-submodules=dirty', '--submodule=short', ...(staged ? ['--cached'] : [])],
    ];
    const diffWith = (commit: string) =>
      repository.run(own, ['diff', ...args, commit, '--', ...limitTo(repository, params)], { signal });
    let answer = await diffWith('HEAD');
    if (answer.exitCode !== 0 && !answer.cut) {
      // Before the first commit everything is new: compared with the empty tree.
      const { head } = await readHead(repository, own, signal);
      if (head !== null) throw gitFailed(answer.stderr, answer.exitCode);
      answer = await diffWith(await emptyTree(repository, own, signal));
      if (answer.exitCode !== 0 && !answer.cut) throw gitFailed(answer.stderr, answer.exitCode);
    }
    const options = { entries: limits.entries, cut: answer.cut };
    // Staged content comes from the repository. A file of the work tree may be one outside, and nobody was asked about
    // it.
    const isUnasked = !staged && riskLevel === 'LOW';
    return parseDiff(
      answer.stdout,
      isUnasked ? { ...options, hides: (file) => isShared(root, file) } : options,
    );
  },
};

/** Whether a file has several names (hard links), so that its content may be a file outside (VA-1). */
function isShared(root: string, path: Buffer): boolean {
  const stats = lstatSync(Buffer.concat([Buffer.from(`${root}/`), path]), { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.nlink > 1;
}

async function emptyTree(
  repository: GitRepository,
  own: readonly ConfigEntry[],
  signal: AbortSignal,
): Promise<string> {
  const args = ['hash-object', '-t', 'tree', '--stdin'];
  const { stdout } = await repository.ask(own, args, { input: Buffer.alloc(0), signal });
  return stdout.toString('latin1').trim();
}
