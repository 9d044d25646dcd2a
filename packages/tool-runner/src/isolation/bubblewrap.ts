import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { realDisk } from '../real-disk.ts';
import { type PersonName, userName } from './command-environment.ts';
import { onDisk, realInside } from './disk-names.ts';
import { isInside, type OwnNode } from './fixed-path.ts';
import type { Confinement } from './isolated-process.ts';
import { bridgePlace, bridgeSource, gatePlace } from './network-gate.ts';
import type { FoundPlace, SpecialPlaces } from './workspace-scan.ts';

/** Descriptors that bubblewrap gets besides the standard three. */
export const statusDescriptor = 3;
export const seccompDescriptor = 4;

/** Each mount costs a tenth of a millisecond, more with many; bubblewrap itself takes 9,000 arguments. */
const maxMounts = 1_000;
/** A workspace that is or contains one of these cannot be shown without showing what must stay hidden. */
const reserved = ['/usr', '/etc', '/proc', '/dev', '/sys', '/run', '/tmp', '/var/run', '/boot'];
export const isPartOfSystem = (root: string): boolean => reserved.some((path) => isInside(root, path));

export interface IsolationPlan {
  readonly root: string;
  readonly confinement: Confinement;
  readonly files: PreparedFiles;
  /** The visible part of the system: `systemArguments`. */
  readonly system: readonly string[];
  readonly node: OwnNode | undefined;
  readonly hasSeccomp: boolean;
  /** The socket file of the network gate, where network was granted. */
  readonly gate: string | undefined;
  readonly places: SpecialPlaces;
  /** Absolute, links resolved: mounted read-only, and kept from being moved. */
  readonly readOnly: readonly string[];
  readonly pinned: readonly string[];
  /** Workspace-relative. */
  readonly cwd: string;
}

/** All arguments of bubblewrap up to the program (RN-5). A path that is not named here does not exist for the command. */
export function bubblewrapArguments(plan: IsolationPlan): string[] {
  const { confinement, files, node, root } = plan;
  const shown = [...(node ? [node.shown] : []), ...(confinement.readable ?? [])];
  const keepsCache = confinement.network && confinement.workspace === 'write';
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    // With network granted too: the only way out is the gate.
    '--unshare-net',
    ...['--hostname', 'countersign', '--new-session', '--die-with-parent', '--cap-drop', 'ALL'],
    // Set by the bash that closes inherited descriptors.
    ...['--unsetenv', 'SHLVL'],
    ...['--json-status-fd', String(statusDescriptor)],
    ...(plan.hasSeccomp ? ['--seccomp', String(seccompDescriptor)] : []),
    ...plan.system,
    ...(plan.gate ? ['--ro-bind', plan.gate, gatePlace, '--ro-bind', files.bridge, bridgePlace] : []),
    ...(keepsCache ? ['--bind', files.npmCache, privateNpmCache] : []),
    ...shown.filter((path) => !isInside('/usr', path)).flatMap((path) => ['--ro-bind', path, path]),
    ...globalLogins(node).flatMap((path) => ['--ro-bind', files.emptyFile, path]),
    ...(confinement.workspace === 'none' ? [] : workspaceArguments(plan)),
    ...['--remount-ro', '/'],
    ...['--chdir', confinement.workspace === 'none' ? privateTemporary : join(root, plan.cwd)],
    '--',
  ];
}

/** npm's global settings are in its installation, and may contain the person's tokens for registries (VA-2). */
function globalLogins(node: OwnNode | undefined): string[] {
  const prefixes = new Set(['/usr', '/usr/local', ...(node ? [node.shown] : [])]);
  const paths = [...prefixes].map((prefix) => join(prefix, 'etc/npmrc'));
  return paths.filter((path) => realDisk.look(path)?.type === 'file');
}

function workspaceArguments({ root, confinement, files, places, readOnly, pinned }: IsolationPlan): string[] {
  if (places.missed !== undefined)
    throw new CountersignError('ISOLATION_UNAVAILABLE', {
      problem: `the workspace cannot be searched for secrets before each command: ${places.missed}`,
    });

  const isWritable = confinement.workspace === 'write';
  const absolute = (path: string): string => join(root, path);
  const masked = [
    ...(confinement.maskSensitive ? places.sensitive : []),
    ...(confinement.maskLinkedOutside ? places.linkedOutside : []),
  ].flatMap((place) => maskedPlace(root, place));
  const outermost = masked.filter(
    ({ path }) => !masked.some((other) => other.path !== path && isInside(other.path, path)),
  );
  const doors = places.doors
    .map(absolute)
    .filter((door) => !outermost.some(({ path }) => isInside(path, door)));
  const mounts = readOnly.length + outermost.length + doors.length;
  if (mounts > maxMounts)
    throw new CountersignError('ISOLATION_UNAVAILABLE', {
      problem: `the workspace has ${mounts} files that need special treatment, more than ${maxMounts}`,
    });

  const unnamed = [...readOnly, ...outermost.map(({ path }) => path), ...doors].find(
    (path) => !path.isWellFormed(),
  );
  if (unnamed !== undefined)
    throw new CountersignError('ISOLATION_UNAVAILABLE', {
      problem: `"${unnamed.toWellFormed()}" needs special treatment, and its name is not UTF-8; rename it`,
    });

  return [
    ...[isWritable ? '--bind' : '--ro-bind', root, root],
    ...[...pinned, ...(confinement.writable ?? [])].flatMap((path) => ['--bind', path, path]),
    ...readOnly.flatMap((path) => ['--ro-bind', path, path]),
    ...outermost.flatMap(({ path, isFolder }) => [
      '--ro-bind',
      isFolder ? files.emptyFolder : files.emptyFile,
      path,
    ]),
    ...doors.flatMap((path) => ['--ro-bind', files.emptyFile, path]),
  ];
}

/** For a link, the file that it leads to must be hidden; a file outside the workspace is not visible anyway. */
function maskedPlace(root: string, { path, type }: FoundPlace): { path: string; isFolder: boolean }[] {
  if (type !== 'link') return [{ path: join(root, path), isFolder: type === 'directory' }];
  return realInside(root, join(root, path)).map((real) => ({
    path: real,
    isFolder: statSync(onDisk(real)).isDirectory(),
  }));
}

/** The private home and temporary folder inside isolation; they exist as long as the command. */
export const privateHome = '/tmp/home';
export const privateTemporary = '/tmp';
const privateNpmCache = `${privateHome}/.npm`;

/** Programs and libraries. On most systems, all but `/usr` are links into it. */
const programFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];
/** Configuration that programs need and that says nothing about the person. */
const configuration = ['/etc/ld.so.cache', '/etc/alternatives', '/etc/localtime'];
/** Only with network: certificates. Names are resolved by the gate, outside. */
const networkConfiguration = ['/etc/ssl', '/etc/pki', '/etc/ca-certificates'];

/** Our own files that isolation mounts, in a folder that no command sees. */
export interface PreparedFiles {
  readonly etc: string;
  readonly emptyFile: string;
  readonly emptyFolder: string;
  readonly npmCache: string;
  readonly bridge: string;
}

/**
 * Writes a small /etc: a user and a group, how names are resolved, and the person's name for git in the system's
 * configuration, so that a repository's own settings win. The rest are empty files and folders to mount over.
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
    // Read-only: root could otherwise change the machine's settings in /proc/sys.
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
    ...['--perms', '1777', '--size', String(temporaryBytes), '--tmpfs', privateTemporary],
    ...['--perms', '0700', '--dir', privateHome],
    ...['--dir', '/run', '--symlink', '../run', '/var/run', '--symlink', '../tmp', '/var/tmp'],
  ];
}

/** Limit of the private temporary folder, which uses the machine's memory. */
const temporaryBytes = 2 * 1024 ** 3;

function showFolder(path: string): string[] {
  return lstatSync(path).isSymbolicLink()
    ? ['--symlink', readlinkSync(path), path]
    : ['--ro-bind', path, path];
}

const GiB = 1024 ** 3;
/** Defaults. Address space is not limited: V8 reserves far more of it than it uses. */
const defaults = { memoryBytes: 4 * GiB, cpuSeconds: 3_600, files: 4_096 };
const fileBytes = 8 * GiB;
/** Processes and threads. The kernel does not count them for root. */
const processes = 2_048;

/** Arguments of prlimit. They never exceed the runner's own limits, which prlimit could not raise. */
export function limitArguments(wanted: Confinement['limits'], own: ReadonlyMap<string, number>): string[] {
  const limit = (name: string, title: string, value: number): string =>
    `--${name}=${Math.min(value, own.get(title) ?? Number.POSITIVE_INFINITY)}`;
  return [
    '--core=0',
    limit('data', 'Max data size', wanted?.memoryBytes ?? defaults.memoryBytes),
    limit('cpu', 'Max cpu time', wanted?.cpuSeconds ?? defaults.cpuSeconds),
    limit('nofile', 'Max open files', wanted?.files ?? defaults.files),
    limit('fsize', 'Max file size', fileBytes),
    limit('nproc', 'Max processes', processes),
  ];
}

/** Hard limits of this process by their title in /proc, without unlimited ones. */
export function ownLimits(): ReadonlyMap<string, number> {
  const lines = readFileSync('/proc/self/limits', 'utf8').split('\n');
  const found = lines.map((line) => /^(Max [a-z ]+?)\s{2,}\S+\s+(\d+)/.exec(line));
  return new Map(
    found.filter((match) => match !== null).map(([, title = '', hard]) => [title, Number(hard)]),
  );
}

const CLOSE_ON_EXEC = 0o2000000;

/**
 * Descriptors that our parent process left open and that a program we start would inherit. Node's own close on exec, so
 * these exist from the start, and looking once is enough.
 */
export function inheritedDescriptors(): readonly number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => descriptor > 2 && !closesOnExec(descriptor));
}

function closesOnExec(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1];
    return (Number.parseInt(flags ?? '0', 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    return true; // it was the descriptor of our own readdir
  }
}

/** A command line that closes them first. Bash is started only if there is something to close. */
export function closingArguments(descriptors: readonly number[], line: readonly string[]): readonly string[] {
  if (descriptors.length === 0) return line;
  const closing = descriptors.map((descriptor) => `${descriptor}>&-`).join(' ');
  return ['/bin/bash', '--norc', '--noprofile', '-c', `exec ${closing}; exec "$@"`, 'bash', ...line];
}
