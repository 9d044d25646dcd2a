import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isBranchName } from '@countersign/policy';
import { summarised, visibleName } from '../preview/look.ts';
import type { ToolModule } from '../tool-module.ts';
import { readHead } from './commit-plan.ts';
import { invalidParams, writingOptions } from './git-tools.ts';

export const gitBranch: ToolModule<'git_branch'> = {
  look: summarised(({ name = '', create }) =>
    create
      ? `Creates the branch "${visibleName(name)}" at the current commit.`
      : 'Lists the branches of the git repository.',
  ),
  async execute({ params: { name, create } }, context, repository) {
    if (name !== undefined && !isBranchName(name))
      throw invalidParams('git_branch', `"${name}" is not a branch name`);
    const { root, limits } = repository.workspace;
    // Report a created branch even if the call is cancelled meanwhile.
    const git = await repository.open(create ? undefined : context.signal);
    if (create && name !== undefined) {
      mkdirSync(join(root, '.git/logs'), { recursive: true });
      const args = ['branch', '--no-track', '--', name, 'HEAD'];
      await git.ask(args, writingOptions(repository, context));
    }
    const fields = ['refname', 'objectname', 'upstream:short'].map((field) => `%(${field})`).join('%00');
    const listing = ['for-each-ref', `--format=${fields}`, `--count=${limits.entries}`];
    const [{ branch }, { stdout }] = await Promise.all([
      readHead(git),
      git.ask([...listing, `refs/heads/${name ?? ''}`]),
    ]);
    const branches = stdout
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [ref = '', commit = '', upstream = ''] = line.split('\0');
        return { name: ref.slice('refs/heads/'.length), commit, upstream: upstream === '' ? null : upstream };
      })
      // The pattern `feature` also finds `feature/x`.
      .filter((found) => name === undefined || found.name === name);
    return { success: true, current: branch, branches };
  },
};
