import { lstatSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';

export type RemoteAddress =
  | { readonly kind: 'network'; readonly url: string; readonly protocol: 'https' | 'http' | 'ssh' }
  /** A repository on this machine; `folder` is its git folder, links resolved. */
  | { readonly kind: 'folder'; readonly url: string; readonly folder: string }
  | { readonly kind: 'refused'; readonly problem: string };

/**
 * Reads the URL of a remote as git does. Accepts https, http, ssh and repositories on this machine: `ext::` and
 * other helpers would start programs, and git:// is neither encrypted nor authenticated.
 */
export function readRemoteAddress(url: string, root: string): RemoteAddress {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (url === '' || url.startsWith('-') || /[\x00-\x1f\x7f]/.test(url))
    return refused('its URL is not usable');
  const helper = /^([A-Za-z0-9][A-Za-z0-9+.-]*)::/.exec(url);
  if (helper) return refused(`${helper[1]}:: URLs start a program`);
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(url)?.[1];
  switch (scheme) {
    case 'https':
    case 'http':
    case 'ssh':
      return network(url, scheme);
    case 'file':
      return onThisMachine(url, url.slice('file://'.length), root);
    case undefined: {
      // `host:path` is ssh, unless a slash comes before the colon.
      const colon = url.indexOf(':');
      const slash = url.indexOf('/');
      const isHost = colon > 0 && (slash < 0 || colon < slash);
      return isHost ? network(url, 'ssh') : onThisMachine(url, url, root);
    }
    default:
      return refused(`${scheme}:// is not one of https, ssh and file`);
  }
}

const network = (url: string, protocol: 'https' | 'http' | 'ssh'): RemoteAddress =>
  hostOf(url).startsWith('-') ? refused('its host looks like an option') : { kind: 'network', url, protocol };
const refused = (problem: string): RemoteAddress => ({ kind: 'refused', problem });
const hostOf = (url: string): string => url.replace(/^[a-z]+:\/\//, '').replace(/^[^/]*@/, '');

function onThisMachine(url: string, path: string, root: string): RemoteAddress {
  const place = isAbsolute(path) ? path : resolve(root, path);
  // Git tries these suffixes in this order.
  for (const suffix of ['/.git', '', '.git/.git', '.git']) {
    const folder = gitFolderAt(place + suffix);
    if (folder !== undefined) return { kind: 'folder', url, folder };
  }
  return refused(`there is no repository at ${path}`);
}

function gitFolderAt(path: string): string | undefined {
  try {
    const folder = realpathSync(path);
    lstatSync(join(folder, 'HEAD'));
    const isGit = ['objects', 'refs'].every((name) => statSync(join(folder, name)).isDirectory());
    return isGit ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** A URL, or text with URLs in it, without the passwords. */
export const hidePasswords = (text: string): string =>
  text.replace(/([A-Za-z][A-Za-z0-9+.-]*:\/\/)([^\s/]*)@/g, (_, scheme: string, login: string) => {
    const [user = '', password] = login.split(':');
    // An http login without a colon may be the token itself.
    if (password === undefined) return scheme === 'ssh://' ? `${scheme}${user}@` : `${scheme}***@`;
    return `${scheme}${user}:***@`;
  });
