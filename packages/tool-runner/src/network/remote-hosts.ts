import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readNetworkHost } from '@countersign/protocol';
import { tryOr } from '../try-or.ts';

const MAX_BYTES = 1024 * 1024;

/**
 * Returns the hosts of these remotes of the repository in `root`; the name `''` stands for all of them. The repository
 * chooses them itself, so they are only granted where a card shows them. Empty for a repository that we do not understand.
 */
export function remoteHosts(root: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const text = tryOr(() => configOf(join(root, '.git')), '');
  const hosts: string[] = [];
  let remote: string | undefined;
  for (const line of text.split('\n')) {
    if (/^\s*\[/.test(line)) remote = /^\s*\[remote "([^"\\]+)"\]/.exec(line)?.[1];
    const url = /^\s*(?:push)?url\s*=\s*"?(https?:\/\/\S+?)"?\s*$/i.exec(line)?.[1];
    if (remote === undefined || url === undefined || !(names.includes('') || names.includes(remote)))
      continue;
    hosts.push(...hostsOfAddress(url));
  }
  return [...new Set(hosts)];
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
