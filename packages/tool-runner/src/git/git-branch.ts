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
    const own = await repository.open(context.signal);
    // Report a created branch even if the call is cancelled meanwhile.
    const signal = create ? undefined : context.signal;
    if (create && name !== undefined) {
      mkdirSync(join(root, '.git/logs'), { recursive: true });
      const args = ['branch', '--no-track', '--', name, 'HEAD'];
      await repository.ask(own, args, writingOptions(repository, context));
    }
    const fields = ['refname', 'objectname', 'upstream:short'].map((field) => `%(${field})`).join('%00');
    const listing = ['for-each-ref', `--format=${fields}`, `--count=${limits.entries}`];
    const [{ branch }, { stdout }] = await Promise.all([
      readHead(repository, own, signal),
      repository.ask(own, [...listing, `refs/heads/${name ?? ''}`], { signal }),
    ]);
    const branches = stdout
      .toString('utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [ref = '', commit = '', upstream = ''] = line.split('\0');
        return { name: ref.slice('refs/heads/'.length), commit, upstream: upstream === '' ? null : upstream };
      })
      // A pattern also finds what stands below it: `feature/x` for `feature`.
      .filter((found) => name === undefined || found.name === name);
    return { success: true, current: branch, branches };
  },
};
