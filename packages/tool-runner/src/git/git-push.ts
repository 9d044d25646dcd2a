import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isBranchName, isRemoteName } from '@countersign/policy';
import { makeVisible } from '@countersign/protocol';
import { digestOfCall, visibleName } from '../preview/look.ts';
import type { ToolModule } from '../tool-module.ts';
import { reportProgress } from '../work-progress.ts';
import { gitCannot, gitFailed } from './git-failure.ts';
import { commitFormat, parseLog } from './git-log.ts';
import { GitProgressLines } from './git-phases.ts';
import type { GitAnswer } from './git-process.ts';
import { hookEnvironment, invalidParams, withHookChanges, writingOptions } from './git-tools.ts';
import { type PushPlan, planPush } from './push-plan.ts';
import { hidePasswords } from './remote-address.ts';

/**
 * Pushes one branch to the remote's branch of the same name, never by force. Isolation hides the person's credential
 * helper, keys and agent, so a push to a remote that asks for them fails and says what to do. If the remote is a folder,
 * it is the only folder outside the workspace that git may write; the preview shows its path.
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
    const { branch, address } = plan;
    const writing = writingOptions(repository, context);
    mkdirSync(join(repository.workspace.root, '.git/logs'), { recursive: true });
    const progress = new GitProgressLines();
    const push = () =>
      plan.git.run(
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
    const { value, changes } = await withHookChanges(repository, plan, context, async () => {
      const telling = { report: context.onProgress, describe: () => progress.latest };
      return readPush(await reportProgress(telling, push), plan);
    });
    return { success: true, remote, branch, ...value, ...changes };
  },
};

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

const asksForCredentials =
  /could not read (Username|Password)|Authentication failed|Permission denied|Host key verification failed|terminal prompts disabled|returned error: 40[13]/;

/** Reads `git push --porcelain`. `from` is the remote branch's old commit, null for a new branch. Throws GIT_FAILED. */
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
    // Any failure over ssh may be a missing key, because isolation hides the person's keys.
    const isSsh = address.kind === 'network' && address.protocol === 'ssh';
    // The isolation's network gate responds with 403 too, but names itself in the message.
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
