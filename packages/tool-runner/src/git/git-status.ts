import type { ToolModule } from '../tool-module.ts';
import { limitTo, lookAtRead } from './git-tools.ts';
import { parseStatus } from './status-output.ts';

export const gitStatus: ToolModule<'git_status'> = {
  look: lookAtRead,
  async execute({ params }, { signal }, repository) {
    const own = await repository.open(signal);
    const args = ['--porcelain=v2', '-z', '--branch', '--untracked-files=all', '--ignore-submodules=dirty'];
    const { stdout, cut } = await repository.ask(
      own,
      ['status', ...args, '--', ...limitTo(repository, params)],
      { signal },
    );
    return parseStatus(stdout, { entries: repository.workspace.limits.entries, cut });
  },
};
