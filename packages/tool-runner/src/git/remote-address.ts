import { lstatSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { domainToASCII } from 'node:url';

export type RemoteAddress =
  | NetworkAddress
  /** A repository on this machine; `folder` is its git folder, links resolved. */
  | { readonly kind: 'folder'; readonly url: string; readonly folder: string }
  | { readonly kind: 'refused'; readonly problem: string };

export interface NetworkAddress {
  readonly kind: 'network';
  readonly url: string;
  readonly protocol: 'https' | 'http' | 'ssh';
  /**
   * Whether the person's helpers, agent and prompts may be asked for a login. False without encryption, and for a URL
   * with a password: git uses that password, and a helper would store it in place of the person's own.
   */
  readonly mayAskForLogin: boolean;
}

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

function network(given: string, protocol: NetworkAddress['protocol']): RemoteAddress {
  // Programs disagree about where the host ends, and a helper may take an encoded line feed for the end of a line.
  if (/[^\S ]|\\|%[01][0-9a-f]|%7f/i.test(given))
    return refused('its URL contains characters that hide where it leads');
  const [start = '', login = '', host = '', rest = ''] = partsOf(given);
  if (/[?#]/.test(login)) return refused('the login in its URL hides where it leads');
  if (host.startsWith('-') || login.startsWith('-')) return refused('its host looks like an option');
  // A name in other letters may look like another one: its ASCII form is what is shown, and what is used.
  const ascii = plainHost.test(host) ? host : domainToASCII(host);
  if (ascii === '') return refused('the host of its URL is not usable');
  const isClear = protocol === 'http' && !isLoopback(ascii);
  const hasPassword = protocol !== 'ssh' && login.includes(':');
  return {
    kind: 'network',
    url: start + login + ascii + rest,
    protocol,
    mayAskForLogin: !isClear && !hasPassword,
  };
}

const refused = (problem: string): RemoteAddress => ({ kind: 'refused', problem });

/** `https://`, `user:word@`, `host` and the rest. */
const partsOf = (url: string): readonly string[] =>
  /^([a-z]+:\/\/|)((?:[^/@]*@)*)(\[[^\]]*\]|[^/:]*)(.*)$/s.exec(url)?.slice(1) ?? [];
const plainHost = /^[\w.-]*$|^\[[\w.:%]*\]$/;
const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i.test(host);

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
