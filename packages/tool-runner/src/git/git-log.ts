import { join } from 'node:path';
import type { ToolSuccess } from '@countersign/protocol';
import { realDisk } from '../real-disk.ts';
import type { ToolModule } from '../tool-module.ts';
import { readHead } from './commit-plan.ts';
import { gitFailed } from './git-failure.ts';
import { limitTo, lookAtRead } from './git-tools.ts';

export const gitLog: ToolModule<'git_log'> = {
  look: lookAtRead,
  async execute({ params }, { signal }, repository) {
    const { path, limit } = params;
    const git = await repository.open(signal);
    // Git can follow the renames of one file, but not of a folder.
    const isFile =
      path !== undefined && realDisk.look(join(repository.workspace.root, path))?.type === 'file';
    const args = [
      ...['log', '-z', `--format=${commitFormat}`, `--max-count=${limit + 1}`, '--no-show-signature'],
      ...['--no-mailmap', '--encoding=UTF-8', ...(isFile ? ['--follow'] : [])],
    ];
    const answer = await git.run([...args, '--', ...limitTo(repository, params)]);
    if (answer.exitCode !== 0 && !answer.cut) {
      const { head } = await readHead(git);
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

export type Commit = ToolSuccess<'git_log'>['commits'][number];

/** For `git log -z`: the fields of a commit, each ended by NUL, which no field can contain. */
export const commitFormat = 'tformat:%H%x00%an%x00%ae%x00%aI%x00%cI%x00%s%x00%b';
const FIELDS = 7;

/** False for what git prints for an invalid date. */
const isDate = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/.test(text);
const noDate = '1970-01-01T00:00:00Z';

export function parseLog(output: Buffer): Commit[] {
  const fields = output.toString('utf8').split('\0');
  const commits: Commit[] = [];
  for (let i = 0; i + FIELDS < fields.length; i += FIELDS) {
    const [id = '', author = '', email = '', authored = '', committed = '', subject = '', text = ''] =
      fields.slice(i, i + FIELDS);
    const body = text.trimEnd();
    const date = [authored, committed].find(isDate) ?? noDate;
    commits.push({ id, author, email, date, subject, ...(body === '' ? {} : { body }) });
  }
  return commits;
}
