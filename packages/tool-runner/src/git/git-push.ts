import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isBranchName, isRemoteName } from '@countersign/policy';
import { makeVisible } from '@countersign/protocol';
import { digestOfCall, visibleName } from '../preview/look.ts';
import type { ToolModule } from '../tool-module.ts';
import { tellProgress } from '../work-progress.ts';
import { gitCannot, gitFailed } from './git-failure.ts';
import { commitFormat, parseLog } from './git-log.ts';
import { GitProgressLines } from './git-phases.ts';
import type { GitAnswer } from './git-process.ts';
import { followingHooks, hookEnvironment, invalidParams, writingOptions } from './git-tools.ts';
import { type PushPlan, planPush } from './push-plan.ts';
import { hidePasswords } from './remote-address.ts';

/**
 * One branch to the branch of the same name, never by force. The person's credential helper, keys and agent are not
 * in isolation: a remote that asks for them fails and says what to do. A remote that is a folder is the one thing
 * outside the workspace that git may write, and its URL in the preview says which.
 */
export const gitPush: ToolModule<'git_push'> = {
  /**
   * The commits are those that this repository has not seen in the branch that moves (of a new one: anywhere on the
   * remote), and at least the one that it will be at: nothing is fetched for a preview. The hooks in the list run when
   * it is approved; those of a remote that is a folder on this machine are listed too.
   */
  async look(call, decision, repository) {
    const plan = await planPush(repository, call.params);
    const { remote, branch, address, tip, remoteTip, own } = plan;
    const unseen = [tip, '--not', remoteTip ?? `--remotes=${remote}`];
    const { limits } = repository.workspace;
    const [listed, counted] = await Promise.all([
      repository.ask(own, logOf(limits.entries, unseen)),
      repository.ask(own, ['rev-list', '--count', ...unseen, '--']),
    ]);
    // The commit that the branch will be at is always told: only this repository says what the remote has.
    const found = parseLog(listed.stdout);
    const last = async () => parseLog((await repository.ask(own, logOf(1, [tip]))).stdout);
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
    const { branch, address } = plan;
    const writing = writingOptions(repository, context);
    mkdirSync(join(repository.workspace.root, '.git/logs'), { recursive: true });
    const progress = new GitProgressLines();
    const push = () =>
      repository.run(
        plan.own,
        [
          ...[
            'push',
            '--porcelain',
            '--no-follow-tags',
            '--no-signed',
            '--no-recurse-submodules',
            '--progress',
          ],
          ...(address.kind === 'folder' ? [`--receive-pack=${receivePack(address.folder)}`] : []),
          ...['--', remote, `refs/heads/${branch}:refs/heads/${branch}`],
        ],
        {
          ...writing,
          progress,
          settings: plan.settings,
          environment: { ...hookEnvironment, GIT_SSH_COMMAND: 'ssh -o BatchMode=yes' },
          confinement: {
            ...writing.confinement,
            network: address.kind === 'network' && context.network,
            ...(address.kind === 'folder' ? { writable: [address.folder] } : {}),
          },
        },
      );
    const { value, changes } = await followingHooks(repository, plan, context, async () => {
      const telling = { report: context.onProgress, describe: () => progress.latest };
      return readPush(await tellProgress(telling, push), plan);
    });
    return { success: true, remote, branch, ...value, ...changes };
  },
};

const logOf = (most: number, revisions: readonly string[]): string[] => [
  ...['log', '-z', `--format=${commitFormat}`, `--max-count=${most}`],
  ...['--no-show-signature', '--no-mailmap', '--encoding=UTF-8', ...revisions, '--'],
];

/** The other side of a push on this machine: it obeys its own configuration, except where that starts programs. */
function receivePack(folder: string): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const settings = [
    `core.hooksPath=${join(folder, 'hooks')}`,
    'core.alternateRefsCommand=',
    'core.fsmonitor=false',
  ];
  return `git ${settings.map((text) => `-c ${quoted(text)}`).join(' ')} -c gc.auto=0 receive-pack`;
}

const asksForCredentials =
  /could not read (Username|Password)|Authentication failed|Permission denied|Host key verification failed|terminal prompts disabled|returned error: 40[13]/;

/** Reads `git push --porcelain`: where the remote's branch was before, null for a new one. Throws GIT_FAILED. */
function readPush(
  answer: GitAnswer,
  { branch, remote, tip, address }: PushPlan,
): { from: string | null; to: string } {
  const line = answer.stdout
    .toString('utf8')
    .split('\n')
    .map((text) => text.split('\t'))
    .find(([, refs]) => refs?.endsWith(`:refs/heads/${branch}`));
  const [flag, , summary = ''] = line ?? [];
  if (flag === '!') throw gitCannot(`the remote did not take it: ${summary}. It is never pushed by force`);
  if (answer.exitCode !== 0) {
    // Over ssh nothing goes without the person's key, however the failure looks.
    const isSsh = address.kind === 'network' && address.protocol === 'ssh';
    // The gate of isolation answers 403 too, and says that it is the gate.
    const isGate = /^remote: Countersign: /m.test(answer.stderr);
    if (isGate || !(isSsh || asksForCredentials.test(answer.stderr)))
      throw gitFailed(answer.stderr, answer.exitCode);
    throw gitCannot(
      `"${remote}" asks for credentials, which tools do not have; the person must push: git push ${remote} ${branch}`,
    );
  }
  if (flag === '=') return { from: tip, to: tip };
  const [, from, to] = /^([0-9a-f]{40,64})\.\.([0-9a-f]{40,64})/.exec(summary) ?? [];
  return { from: from ?? null, to: to ?? tip };
}
