import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { userName } from './command-environment.ts';
import type { PersonName } from './git-identity.ts';
import { bridgeSource } from './network-bridge.ts';

/** Inside isolation: the private home, temporary folder and cache. They exist as long as the command. */
export const privateHome = '/tmp/home';
export const privateTemporary = '/tmp';
export const privateNpmCache = `${privateHome}/.npm`;

/** Programs and libraries. On most systems all but the first are links into it. */
const programFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];
/** Configuration that programs cannot do without and that says nothing about the person. */
const configuration = ['/etc/ld.so.cache', '/etc/alternatives', '/etc/localtime'];
/** Only with network: certificates. Names are resolved by the gate, outside. */
const networkConfiguration = ['/etc/ssl', '/etc/pki', '/etc/ca-certificates'];

/** The files of ours that isolation mounts, in a folder that no command sees. */
export interface PreparedFiles {
  readonly etc: string;
  readonly emptyFile: string;
  readonly emptyFolder: string;
  readonly npmCache: string;
  readonly bridge: string;
}

/**
 * Writes a small /etc: a user and a group, where names come from, and the person's name for git, at the level of the
 * system, so that a repository's own settings win. The rest are places to mount on.
 */
export function prepareFiles(folder: string, person: PersonName): PreparedFiles {
  const etc = join(folder, 'etc');
  const files = {
    etc,
    emptyFile: join(folder, 'empty-file'),
    emptyFolder: join(folder, 'empty-folder'),
    npmCache: join(folder, 'npm-cache'),
    bridge: join(folder, 'bridge.cjs'),
  };
  for (const made of [etc, files.emptyFolder, files.npmCache])
    mkdirSync(made, { recursive: true, mode: 0o755 });
  const { getuid, getgid } = process;
  const ids = `${getuid?.() ?? 0}:${getgid?.() ?? 0}`;
  const texts: Record<string, string> = {
    passwd: `${userName()}:x:${ids}::${privateHome}:/bin/bash\nnobody:x:65534:65534::/:/usr/sbin/nologin\n`,
    group: `${userName()}:x:${getgid?.() ?? 0}:\nnogroup:x:65534:\n`,
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
    hosts: '127.0.0.1 localhost countersign\n::1 localhost countersign\n',
    gitconfig: gitConfiguration(person),
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(etc, name), text);
  writeFileSync(files.emptyFile, '');
  writeFileSync(files.bridge, bridgeSource());
  for (const path of [...configuration, ...networkConfiguration]) {
    const place = join(etc, path.slice('/etc/'.length));
    if (!existsSync(path) || existsSync(place)) continue;
    if (lstatSync(realpathSync(path)).isDirectory()) mkdirSync(place);
    else writeFileSync(place, '');
  }
  return files;
}

function gitConfiguration({ name, email }: PersonName): string {
  const quoted = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&').replace(/[\n\0]/g, ' ')}"`;
  const lines = [name && `name = ${quoted(name)}`, email && `email = ${quoted(email)}`].filter(Boolean);
  return lines.length === 0 ? '' : `[user]\n\t${lines.join('\n\t')}\n`;
}

/** Arguments of bubblewrap that show the system's programs, a little configuration, and private folders. */
export function systemArguments(files: PreparedFiles, { network }: { readonly network: boolean }): string[] {
  const shown = programFolders.filter((path) => existsSync(path)).flatMap(showFolder);
  const paths = network ? [...configuration, ...networkConfiguration] : configuration;
  const mounted = paths
    .filter((path) => existsSync(path))
    .flatMap((path) => ['--ro-bind', realpathSync(path), path]);
  return [
    ...shown,
    ...['--ro-bind', files.etc, '/etc', ...mounted],
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--perms', '1777', '--size', String(temporaryBytes), '--tmpfs', privateTemporary],
    ...['--perms', '0700', '--dir', privateHome],
    ...['--dir', '/run', '--symlink', '../run', '/var/run', '--symlink', '../tmp', '/var/tmp'],
  ];
}

/** The private temporary folder is memory of the machine. */
const temporaryBytes = 2 * 1024 ** 3;

function showFolder(path: string): string[] {
  return lstatSync(path).isSymbolicLink()
    ? ['--symlink', readlinkSync(path), path]
    : ['--ro-bind', path, path];
}
