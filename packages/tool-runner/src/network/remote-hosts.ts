import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { networkNeeds, type SimpleCommand } from '@countersign/policy';
import { readNetworkHost } from '@countersign/protocol';
import { holdsLogin } from '../files/git-login.ts';
import { readRemoteAddress } from '../git/remote-address.ts';
import { isInside } from '../isolation/fixed-path.ts';
import { checkShownFolders } from '../isolation/shown-folders.ts';
import { tryOr } from '../try-or.ts';
import type { Workspace } from '../workspace.ts';

const MAX_BYTES = 1024 * 1024;

/**
 * Returns the hosts of these remotes of the repository in `root`; the name `''` stands for all of them. The repository
 * chooses them itself, so they are only granted where a card shows them. Empty for a repository that we do not understand.
 */
export const remoteHosts = (root: string, names: readonly string[]): readonly string[] => [
  ...new Set(remoteUrls(root, names).flatMap((url) => (/^https?:/i.test(url) ? hostsOfAddress(url) : []))),
];

/**
 * Returns the git folders outside the workspace that commands of git use as remotes, for a card to show. Left out: what no
 * setting of the person could show to commands, and what holds a login (VA-2).
 */
export function remoteFolders(
  call: { readonly params: object },
  commands: readonly SimpleCommand[],
  { root, home, stateFolder }: Pick<Workspace, 'root' | 'home' | 'stateFolder'>,
): readonly string[] {
  const folders = remoteUrls(root, networkNeeds(call, commands).remotes).flatMap((url) => {
    const address = readRemoteAddress(url, root);
    return address.kind === 'folder' && !isInside(root, address.folder) ? [address.folder] : [];
  });
  return [...new Set(folders)].filter(
    (folder) =>
      checkShownFolders([folder], { root, home, stateFolder })[0]?.state === 'shown' &&
      tryOr(() => !holdsLogin(readFileSync(join(folder, 'config'))), true),
  );
}

function remoteUrls(root: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const text = tryOr(() => configOf(join(root, '.git')), '');
  const urls: string[] = [];
  let remote: string | undefined;
  for (const line of text.split('\n')) {
    if (/^\s*\[/.test(line)) remote = /^\s*\[remote "([^"\\]+)"\]/.exec(line)?.[1];
    const url = /^\s*(?:push)?url\s*=\s*"?(\S.*?)"?\s*$/i.exec(line)?.[1];
    if (remote === undefined || url === undefined || !(names.includes('') || names.includes(remote)))
      continue;
    urls.push(url);
  }
  return urls;
}

/** Returns the host of a URL as git writes it: `https://ann@host:8443/x`, `ssh://git@host:22/x`, `git@host:x`. */
export function hostsOfAddress(url: string): readonly string[] {
  const [, scheme = 'ssh', name = '', port = ''] =
    /^(?:(https?|ssh):\/\/)?(?:[^/@]*@)?(\[[^\]]*\]|[^/:?#]+)(:\d+)?/i.exec(url) ?? [];
  // Tools that work beside ssh, such as git-lfs, use HTTPS on the same host, so name it without a port.
  return [readNetworkHost(scheme === 'ssh' ? name : `${name}${port}`) ?? []].flat();
}

/** Links are not followed: a link may lead to a file that nobody may read. */
function configOf(folder: string): string {
  const path = join(folder, 'config');
  const { size } = lstatSync(path);
  if (!lstatSync(folder).isDirectory() || !lstatSync(path).isFile() || size > MAX_BYTES) return '';
  return readFileSync(path, 'utf8');
}
