import { join } from 'node:path';
import type { ToolParams } from '@countersign/protocol';
import { versionOf } from '../files/file-snapshot.ts';
import { readHead } from './commit-plan.ts';
import { type ConfigEntry, latin1, setting, writeConfig } from './config-text.ts';
import { gitCannot } from './git-failure.ts';
import type { GitRepository, OpenedRepository } from './git-repository.ts';
import { activeHooks, hookVersions, pushHooks, receiveHooks } from './hooks.ts';
import type { RemoteAddress } from './remote-address.ts';
import { addressOfRemote } from './remote-url.ts';
import { hooksFolder } from './repository-settings.ts';

/** Everything that determines a push: the preview shows it, the digest covers it, the executor follows it. */
export interface PushPlan {
  readonly git: OpenedRepository;
  readonly remote: string;
  readonly branch: string;
  readonly address: Exclude<RemoteAddress, { kind: 'refused' }>;
  /** The commit that the branch is at. */
  readonly tip: string;
  /** The remote branch's commit when this repository last saw it; null if it never did. */
  readonly remoteTip: string | null;
  readonly hooks: readonly string[];
  /** Folder of the repository's own hooks, relative to the root; undefined if hooks are off. */
  readonly hooksFolder: string | undefined;
  readonly settings: readonly ConfigEntry[];
  readonly base: readonly string[];
}

/** Plans a push of one branch to a configured remote. */
export async function planPush(
  repository: GitRepository,
  params: ToolParams<'git_push'>,
  signal?: AbortSignal,
): Promise<PushPlan> {
  const { root } = repository.workspace;
  const git = await repository.open(signal);
  const { own } = git;
  const { remote } = params;
  const address = await addressOfRemote({ git, persons: repository.persons, root, signal }, remote, 'push');

  const branch = params.branch ?? (await readHead(git)).branch;
  if (branch === null) throw gitCannot('the head is detached; name the branch to push');
  const [tip, remoteTip] = await Promise.all([
    findCommit(git, `refs/heads/${branch}`),
    findCommit(git, `refs/remotes/${remote}/${branch}`),
  ]);
  if (tip === null) throw gitCannot(`there is no commit on a branch "${branch}"`);

  const folder = hooksFolder(root, own);
  const received = address.kind === 'folder' ? address.folder : undefined;
  const ownHooks = folder === undefined ? [] : activeHooks(root, folder, pushHooks);
  const theirHooks = received === undefined ? [] : activeHooks(received, 'hooks', receiveHooks);
  const hooks = [...ownHooks, ...theirHooks.map((hook) => join(received ?? '', hook))];
  const url = received ?? address.url;
  const settings = [
    ...(received === undefined
      ? []
      : [setting(`remote.${remote}.url`, latin1(received)), setting('protocol.file.allow', 'always')]),
    ...(folder === undefined ? [] : [setting('core.hookspath', latin1(join(root, folder)))]),
  ];
  const base = [
    // The URL may contain a password: include only its digest.
    `url ${versionOf(Buffer.from(url))}`,
    `branch ${branch} at ${tip}, known ${remoteTip ?? 'nowhere'}`,
    ...hooks.map((hook) => `runs ${hook}`),
    ...(folder === undefined ? [] : hookVersions(root, folder, ownHooks)),
    ...(received === undefined ? [] : hookVersions(received, 'hooks', theirHooks)),
    `settings ${versionOf(writeConfig([...own, ...settings]))}`,
  ];
  return { git, remote, branch, address, tip, remoteTip, hooks, hooksFolder: folder, settings, base };
}

async function findCommit(git: OpenedRepository, ref: string): Promise<string | null> {
  const answer = await git.run(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  return answer.exitCode === 0 ? answer.stdout.toString('latin1').trim() : null;
}
