import { existsSync, lstatSync, mkdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { realPath } from '../real-disk.ts';
import { type PersonName, userName } from './command-environment.ts';
import { namesIn, resolveInside, toDiskPath } from './disk-names.ts';
import { isInside } from './fixed-path.ts';
import { bridgeSource } from './network-gate.ts';
import type { FoundPlace } from './workspace-scan.ts';

/** The command's private home and temporary folder. They disappear when the command ends. */
export const privateHome = '/tmp/home';
export const privateTemporary = '/tmp';
export const privateNpmCache = `${privateHome}/.npm`;

/** Programs and libraries. On most systems, all but `/usr` are links into `/usr`. */
export const programFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];

/** Whether commands always see the path. Its links must have been resolved. */
export const isProgramFolder = (real: string): boolean =>
  programFolders.some((folder) => isInside(folder, real));

/**
 * Configuration that programs need and that identifies neither the person nor the machine, below /etc. A name with `*` is
 * the beginning of a name.
 */
const configuration =
  `ld.so.cache ld.so.conf ld.so.conf.d alternatives localtime timezone os-release debian_version
  lsb-release redhat-release fonts mime.types magic magic.mime services protocols terminfo inputrc locale.alias
  ssl/openssl.cnf crypto-policies java java-* .java maven/m2.conf maven/logging python python3* perl php ImageMagick-* groff
  texmf texlive ghostscript papersize xml sgml xdg/mimeapps.list dotnet R
  ssl/certs ssl/cert.pem pki/tls/certs pki/ca-trust ca-certificates`.split(/\s+/);
/** Which packages of the system are installed. What they contain is below /usr anyway. */
const packageList = '/var/lib/dpkg/status';

/** Returns the paths that exist, with links resolved. A link that leads out of /usr and /etc is left out. */
function existingConfiguration(names: readonly string[]): { readonly at: string; readonly real: string }[] {
  return names
    .flatMap((name) =>
      name.endsWith('*') ? namesIn('/etc').filter((found) => found.startsWith(name.slice(0, -1))) : [name],
    )
    .map((name) => ({ at: `/etc/${name}`, real: realPath(`/etc/${name}`) }))
    .filter(
      (found): found is { at: string; real: string } =>
        found.real !== undefined && (isProgramFolder(found.real) || isInside('/etc', found.real)),
    );
}

/** Paths of our own files that isolation mounts. They are in a folder that commands do not see. */
export type PreparedFiles = ReturnType<typeof prepareFiles>;

/**
 * Writes a minimal /etc for commands. The person's name for git goes into the system-wide gitconfig, so that a
 * repository's own settings override it. Also makes the empty files and folders that are mounted over hidden places.
 */
export function prepareFiles(folder: string, person: PersonName) {
  const etc = join(folder, 'etc');
  const files = {
    etc,
    emptyFile: join(folder, 'empty-file'),
    emptyFolder: join(folder, 'empty-folder'),
    npmCache: join(folder, 'npm-cache'),
    ignoring: join(folder, 'ignoring'),
    bridge: join(folder, 'bridge.cjs'),
  };
  for (const made of [etc, files.emptyFolder, files.npmCache, files.ignoring])
    mkdirSync(made, { recursive: true, mode: 0o755 });
  const { getuid, getgid } = process;
  const ids = `${getuid?.() ?? 0}:${getgid?.() ?? 0}`;
  const texts: Record<string, string> = {
    passwd: `${userName()}:x:${ids}::${privateHome}:/bin/bash\nnobody:x:65534:65534::/:/usr/sbin/nologin\n`,
    group: `${userName()}:x:${getgid?.() ?? 0}:\nnogroup:x:65534:\n`,
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
    hosts: '127.0.0.1 localhost countersign\n::1 localhost countersign\n',
    gitconfig: gitConfiguration(person),
    [ignoredByGit.slice('/etc/'.length)]: '',
  };
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(etc, name), text);
  writeFileSync(files.emptyFile, '');
  writeFileSync(files.bridge, bridgeSource());
  for (const { at, real } of existingConfiguration(configuration)) {
    const place = join(etc, at.slice('/etc/'.length));
    if (existsSync(place)) continue;
    const isFolder = lstatSync(real).isDirectory();
    mkdirSync(isFolder ? place : dirname(place), { recursive: true });
    if (!isFolder) writeFileSync(place, '');
  }
  return files;
}

/** Git's own list of what it ignores, in isolation: the folders that are there only while a command runs (VA-3). */
export const ignoredByGit = '/etc/countersign-ignored';

/** Returns a file with that list. Git would otherwise fail to remove these folders (`git stash -u`, `git clean`). */
export function ignoringFile(files: PreparedFiles, folders: readonly string[]): string {
  const path = join(files.ignoring, folders.join(',').replaceAll('/', '+'));
  if (!existsSync(path)) writeFileSync(path, folders.map((folder) => `/${folder}/\n`).join(''));
  return path;
}

function gitConfiguration({ name, email }: PersonName): string {
  const quoted = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&').replace(/[\n\0]/g, ' ')}"`;
  const lines = [name && `name = ${quoted(name)}`, email && `email = ${quoted(email)}`].filter(Boolean);
  const user = lines.length === 0 ? '' : `[user]\n\t${lines.join('\n\t')}\n`;
  return `${user}[core]\n\texcludesFile = ${ignoredByGit}\n`;
}

/** Returns the bubblewrap arguments for the system's programs and some configuration. */
export function systemArguments(files: PreparedFiles): string[] {
  const shown = programFolders
    .filter((path) => existsSync(path))
    .flatMap((path) =>
      lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path],
    );
  const mounted = existingConfiguration(configuration).flatMap(({ at, real }) => ['--ro-bind', real, at]);
  return [
    ...shown,
    ...['--ro-bind', files.etc, '/etc', ...mounted],
    ...(existsSync(packageList) ? ['--ro-bind', packageList, packageList] : []),
    // Mounted read-only, because otherwise root could change the machine's settings in /proc/sys.
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
    ...['--dir', '/run', '--symlink', '../run', '/var/run', '--symlink', '../tmp', '/var/tmp'],
  ];
}

/** Returns the path to mask. A link's target is masked; a target outside the workspace is not visible anyway. */
export function maskedPlace(root: string, { path, type }: FoundPlace): { path: string; isFolder: boolean }[] {
  if (type !== 'link') return [{ path: join(root, path), isFolder: type === 'directory' }];
  return resolveInside(root, join(root, path)).map((real) => ({
    path: real,
    isFolder: statSync(toDiskPath(real)).isDirectory(),
  }));
}
