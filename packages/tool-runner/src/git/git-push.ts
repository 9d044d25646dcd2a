import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isBranchName, isRemoteName } from '@countersign/policy';
import { makeVisible } from '@countersign/protocol';
import type { CallContext } from '../executor.ts';
import { digestOfCall, visibleName } from '../preview/look.ts';
import type { ToolModule } from '../tool-module.ts';
import { reportProgress } from '../work-progress.ts';
import { gitCannot, gitFailed } from './git-failure.ts';
import { commitFormat, parseLog } from './git-log.ts';
import { GitProgressLines } from './git-phases.ts';
import type { GitAnswer } from './git-process.ts';
import type { GitRepository } from './git-repository.ts';
import { hookEnvironment, invalidParams, withHookChanges, writingOptions } from './git-tools.ts';
import { type PushPlan, planPush } from './push-plan.ts';
import { hidePasswords } from './remote-address.ts';
import { sendBranch } from './send-branch.ts';

/**
 * Pushes one branch to the remote's branch of the same name, never by force. Over the network the person's own git sends
 * it, with the person's login, to exactly the address of the preview (send-branch.ts). If the remote is a folder, git
 * works in isolation, and it is the only folder outside the workspace that git may write.
 */
export const gitPush: ToolModule<'git_push'> = {
  /**
   * Lists the commits that the remote's branch does not have as far as this repository knows (for a new branch: that the
   * remote does not have at all), and at least the newest commit. Nothing is fetched for a preview. The listed hooks run
   * once the push is approved; they include the hooks of a remote that is a folder on this machine.
   */
  async look(call, decision, repository) {
    const plan = await planPush(repository, call.params);
    const { git, remote, branch, address, tip, remoteTip } = plan;
    const unseen = [tip, '--not', remoteTip ?? `--remotes=${remote}`];
    const { limits } = repository.workspace;
    const [listed, counted] = await Promise.all([
      git.ask(logOf(limits.entries, unseen)),
      git.ask(['rev-list', '--count', ...unseen, '--']),
    ]);
    // Always list the newest commit: what this repository knows about the remote may be out of date.
    const found = parseLog(listed.stdout);
    const last = async () => parseLog((await git.ask(logOf(1, [tip]))).stdout);
    const commits = (found.length > 0 ? found : await last()).map(({ id, subject, author }) => ({
      id,
      subject: makeVisible(subject),
      author: makeVisible(author),
    }));
    const more = Number(counted.stdout.toString('latin1')) - found.length;
    if (more > 0) commits.push({ id: '', subject: `and ${more} earlier commits`, author: '' });
    return {
      digest: digestOfCall(call, decision, repository.workspace, { base: plan.base }),
      draw: () => ({
        kind: 'push',
        remote,
        url: visibleName(hidePasswords(address.kind === 'folder' ? address.folder : address.url)),
        branch: visibleName(branch),
        commits,
        hooks: plan.hooks.map(visibleName),
      }),
    };
  },
  async execute({ params }, context, repository) {
    const { remote, branch: wanted } = params;
    if (!isRemoteName(remote)) throw invalidParams('git_push', `"${remote}" is not the name of a remote`);
    if (wanted !== undefined && !isBranchName(wanted))
      throw invalidParams('git_push', `"${wanted}" is no branch name`);
    const plan = await planPush(repository, params, context.signal);
    mkdirSync(join(repository.workspace.root, '.git/logs'), { recursive: true });
    const progress = new GitProgressLines();
    const { address } = plan;
    const push = () =>
      address.kind === 'network'
        ? sendBranch({ ...plan, address }, repository, context, progress)
        : pushToFolder(plan, address, repository, context, progress);
    const { value, changes } = await withHookChanges(repository, plan, context, () =>
      reportProgress({ report: context.onProgress, describe: () => progress.latest }, push),
    );
    return { success: true, remote, branch: plan.branch, ...value, ...changes };
  },
};

/** Pushes in isolation to a repository on this machine, which needs no login. */
async function pushToFolder(
  plan: PushPlan,
  { folder }: Extract<PushPlan['address'], { kind: 'folder' }>,
  repository: GitRepository,
  context: CallContext,
  progress: GitProgressLines,
): Promise<{ from: string | null; to: string }> {
  const { remote, branch } = plan;
  const writing = writingOptions(repository, context);
  const answer = await plan.git.run(
    [
      ...['push', '--porcelain', '--no-follow-tags', '--no-signed', '--no-recurse-submodules', '--progress'],
      `--receive-pack=${receivePack(folder)}`,
      ...['--', remote, `refs/heads/${branch}:refs/heads/${branch}`],
    ],
    {
      ...writing,
      progress,
      settings: plan.settings,
      environment: hookEnvironment,
      confinement: { ...writing.confinement, writable: [folder] },
    },
  );
  return readPush(answer, plan);
}

const logOf = (most: number, revisions: readonly string[]): string[] => [
  ...['log', '-z', `--format=${commitFormat}`, `--max-count=${most}`],
  ...['--no-show-signature', '--no-mailmap', '--encoding=UTF-8', ...revisions, '--'],
];

/** The receiving git of a push to a folder. It uses that folder's configuration, except settings that start programs. */
function receivePack(folder: string): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const settings = [
    `core.hooksPath=${join(folder, 'hooks')}`,
    'core.alternateRefsCommand=',
    'core.fsmonitor=false',
  ];
  return `git ${settings.map((text) => `-c ${quoted(text)}`).join(' ')} -c gc.auto=0 receive-pack`;
}

/** Reads `git push --porcelain`. `from` is the remote branch's old commit, null for a new branch. Throws GIT_FAILED. */
function readPush(answer: GitAnswer, { branch, tip }: PushPlan): { from: string | null; to: string } {
  const line = answer.stdout
    .toString('utf8')
    .split('\n')
    .map((text) => text.split('\t'))
    .find(([, refs]) => refs?.endsWith(`:refs/heads/${branch}`));
  const [flag, , summary = ''] = line ?? [];
  if (flag === '!') throw gitCannot(`the remote did not take it: ${summary}. It is never pushed by force`);
  if (answer.exitCode !== 0) throw gitFailed(answer.stderr, answer.exitCode);
  if (flag === '=') return { from: tip, to: tip };
  const [, from, to] = /^([0-9a-f]{40,64})\.\.([0-9a-f]{40,64})/.exec(summary) ?? [];
  return { from: from ?? null, to: to ?? tip };
}
