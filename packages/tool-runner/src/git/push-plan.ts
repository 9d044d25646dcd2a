import { join } from 'node:path';
import type { ToolParams } from '@countersign/protocol';
import { versionOf } from '../files/file-snapshot.ts';
import { readHead } from './commit-plan.ts';
import { type ConfigEntry, latin1, setting, writeConfig } from './config-text.ts';
import { gitCannot } from './git-failure.ts';
import type { GitRepository, OpenedRepository } from './git-repository.ts';
import { activeHooks, hookVersions, pushHooks, receiveHooks } from './hooks.ts';
import { type RemoteAddress, readRemoteAddress } from './remote-address.ts';
import { unsafe } from './repository-layout.ts';
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
  readonly settings: readonly ConfigEntry[];
  readonly base: readonly string[];
}

/**
 * Plans a push of one branch to a configured remote. The address is the one that git would use, after `pushurl` and
 * `insteadOf` of the repository's own configuration; the push itself does not rewrite it again.
 */
export async function planPush(
  repository: GitRepository,
  params: ToolParams<'git_push'>,
  signal?: AbortSignal,
): Promise<PushPlan> {
  const { root } = repository.workspace;
  const git = await repository.open(signal);
  const { own } = git;
  const { remote } = params;
  const address = readRemoteAddress(await findUrl(git, remote), root);
  if (address.kind === 'refused')
    throw unsafe(`the remote "${remote}" cannot be pushed to: ${address.problem}`);

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
    setting(`remote.${remote}.url`, latin1(url)),
    setting(`protocol.${address.kind === 'folder' ? 'file' : address.protocol}.allow`, 'always'),
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
  return { git, remote, branch, address, tip, remoteTip, hooks, settings, base };
}

async function findUrl(git: OpenedRepository, remote: string): Promise<string> {
  const addresses = git.own.filter(
    ({ section, name }) =>
      (section === 'remote' && (name === 'url' || name === 'pushurl')) ||
      (section === 'url' && (name === 'insteadof' || name === 'pushinsteadof')),
  );
  const remotes = new Set(
    addresses.flatMap(({ section, subsection }) => (section === 'remote' ? [subsection] : [])),
  );
  if (!remotes.has(remote)) {
    const known = [...remotes].join(', ');
    throw gitCannot(
      `there is no remote "${remote}"; ${known === '' ? 'none is configured' : `there are: ${known}`}`,
    );
  }
  const { stdout } = await git.ask(['remote', 'get-url', '--push', '--all', '--', remote], {
    settings: addresses,
  });
  const urls = stdout.toString('utf8').trimEnd().split('\n');
  if (urls.length > 1) throw gitCannot(`the remote "${remote}" has several addresses to push to`);
  return urls[0] ?? '';
}

async function findCommit(git: OpenedRepository, ref: string): Promise<string | null> {
  const answer = await git.run(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
  return answer.exitCode === 0 ? answer.stdout.toString('latin1').trim() : null;
}
