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
import { tryOr } from '../try-or.ts';
import { type PersonName, userName } from './command-environment.ts';
import { resolveInside, toDiskPath } from './disk-names.ts';
import type { Protection } from './executing-place-guard.ts';
import { isInside, type OwnNode } from './fixed-path.ts';
import type { Confinement } from './isolated-process.ts';
import { bridgePlace, bridgeSource, gatePlace } from './network-gate.ts';
import type { FoundPlace, SpecialPlaces } from './workspace-scan.ts';

/** Descriptors that bubblewrap gets in addition to stdin, stdout and stderr. */
export const statusDescriptor = 3;
export const seccompDescriptor = 4;

/** Each mount takes at least 0.1 ms, and bubblewrap accepts at most 9,000 arguments. */
const maxMounts = 1_000;
/** If the workspace is or contains one of these folders, mounting it would expose system files to commands. */
const reserved = ['/usr', '/etc', '/proc', '/dev', '/sys', '/run', '/tmp', '/var/run', '/boot'];
export const isPartOfSystem = (root: string): boolean => reserved.some((path) => isInside(root, path));

export interface IsolationPlan {
  readonly root: string;
  readonly confinement: Confinement;
  readonly files: PreparedFiles;
  /** The result of `systemArguments`. */
  readonly system: readonly string[];
  readonly node: OwnNode | undefined;
  readonly hasSeccomp: boolean;
  /** Path of the network gate's socket file; undefined if the command has no network. */
  readonly gate: string | undefined;
  readonly places: SpecialPlaces;
  readonly protection: Pick<Protection, 'readOnly' | 'pinned'>;
  /** Workspace-relative. */
  readonly cwd: string;
}

/** Returns bubblewrap's arguments, without the program (RN-5). The command sees only the paths in these arguments. */
export function bubblewrapArguments(plan: IsolationPlan): string[] {
  const { confinement, files, node, root } = plan;
  const shown = [...(node ? [node.shown] : []), ...(confinement.readable ?? [])];
  const keepsCache = confinement.network && confinement.workspace === 'write';
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    // Also used when network was granted: then the command reaches it only through the network gate.
    '--unshare-net',
    ...['--hostname', 'countersign', '--new-session', '--die-with-parent', '--cap-drop', 'ALL'],
    // The bash that closes inherited descriptors sets this variable.
    ...['--unsetenv', 'SHLVL'],
    ...['--json-status-fd', String(statusDescriptor)],
    ...(plan.hasSeccomp ? ['--seccomp', String(seccompDescriptor)] : []),
    ...plan.system,
    ...(plan.gate ? ['--ro-bind', plan.gate, gatePlace, '--ro-bind', files.bridge, bridgePlace] : []),
    ...(keepsCache ? ['--bind', files.npmCache, privateNpmCache] : []),
    ...shown.filter((path) => !isInside('/usr', path)).flatMap((path) => ['--ro-bind', path, path]),
    ...globalNpmConfigs(node).flatMap((path) => ['--ro-bind', files.emptyFile, path]),
    ...(confinement.workspace === 'none' ? [] : workspaceArguments(plan)),
    ...['--remount-ro', '/'],
    ...['--chdir', confinement.workspace === 'none' ? privateTemporary : join(root, plan.cwd)],
    '--',
  ];
}

/** Returns npm's global configuration files, which may contain the person's registry tokens (VA-2). */
function globalNpmConfigs(node: OwnNode | undefined): string[] {
  const prefixes = new Set(['/usr', '/usr/local', ...(node ? [node.shown] : [])]);
  const paths = [...prefixes].map((prefix) => join(prefix, 'etc/npmrc'));
  return paths.filter((path) => realDisk.look(path)?.type === 'file');
}

function workspaceArguments({ root, confinement, files, places, protection }: IsolationPlan): string[] {
  const { readOnly, pinned } = protection;
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
  const specialFiles = places.specialFiles
    .map(absolute)
    .filter((specialFile) => !outermost.some(({ path }) => isInside(path, specialFile)));
  const mounts = readOnly.length + outermost.length + specialFiles.length;
  if (mounts > maxMounts)
    throw new CountersignError('ISOLATION_UNAVAILABLE', {
      problem: `the workspace has ${mounts} files that need special treatment, more than ${maxMounts}`,
    });

  const unnamed = [...readOnly, ...outermost.map(({ path }) => path), ...specialFiles].find(
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
    ...specialFiles.flatMap((path) => ['--ro-bind', files.emptyFile, path]),
  ];
}

/** Returns the path to mask. A link's target is masked; a target outside the workspace is not visible anyway. */
function maskedPlace(root: string, { path, type }: FoundPlace): { path: string; isFolder: boolean }[] {
  if (type !== 'link') return [{ path: join(root, path), isFolder: type === 'directory' }];
  return resolveInside(root, join(root, path)).map((real) => ({
    path: real,
    isFolder: statSync(toDiskPath(real)).isDirectory(),
  }));
}

/** The command's private home and temporary folder. They disappear when the command ends. */
export const privateHome = '/tmp/home';
export const privateTemporary = '/tmp';
const privateNpmCache = `${privateHome}/.npm`;

/** Programs and libraries. On most systems, all but `/usr` are links into `/usr`. */
const programFolders = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];
/** Configuration that programs need and that does not identify the person. */
const configuration = ['/etc/ld.so.cache', '/etc/alternatives', '/etc/localtime'];
/** Certificates, for commands with network. DNS settings are not needed: the network gate resolves names outside. */
const networkConfiguration = ['/etc/ssl', '/etc/pki', '/etc/ca-certificates'];

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

/** Returns the bubblewrap arguments for the system's programs, some configuration, and the private folders. */
export function systemArguments(files: PreparedFiles, { network }: { readonly network: boolean }): string[] {
  const shown = programFolders
    .filter((path) => existsSync(path))
    .flatMap((path) =>
      lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path],
    );
  const paths = network ? [...configuration, ...networkConfiguration] : configuration;
  const mounted = paths
    .filter((path) => existsSync(path))
    .flatMap((path) => ['--ro-bind', realpathSync(path), path]);
  return [
    ...shown,
    ...['--ro-bind', files.etc, '/etc', ...mounted],
    // Mounted read-only, because otherwise root could change the machine's settings in /proc/sys.
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
    ...['--perms', '1777', '--size', String(temporaryBytes), '--tmpfs', privateTemporary],
    ...['--perms', '0700', '--dir', privateHome],
    ...['--dir', '/run', '--symlink', '../run', '/var/run', '--symlink', '../tmp', '/var/tmp'],
  ];
}

const GiB = 1024 ** 3;
/** Size limit of the private temporary folder, which is kept in memory. */
const temporaryBytes = 2 * GiB;
/** Address space is not limited, because V8 reserves far more of it than it uses. */
const defaults = { memoryBytes: 4 * GiB, cpuSeconds: 3_600, files: 4_096 };
const fileBytes = 8 * GiB;
/** Maximum number of processes and threads. The kernel does not apply this limit to root. */
const processes = 2_048;

/** Returns prlimit's arguments. Values are capped at the runner's own limits, because prlimit cannot raise them. */
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

/** Returns the hard limits of this process by their title in /proc/self/limits. Unlimited entries are left out. */
export function ownLimits(): ReadonlyMap<string, number> {
  const lines = readFileSync('/proc/self/limits', 'utf8').split('\n');
  const found = lines.map((line) => /^(Max [a-z ]+?)\s{2,}\S+\s+(\d+)/.exec(line));
  return new Map(
    found.filter((match) => match !== null).map(([, title = '', hard]) => [title, Number(hard)]),
  );
}

const CLOSE_ON_EXEC = 0o2000000;

/**
 * Returns descriptors that our parent process left open and that a program we start would inherit. Node opens its own
 * descriptors with close-on-exec, so this list never changes and is read only once.
 */
export function inheritedDescriptors(): readonly number[] {
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => descriptor > 2 && !closesOnExec(descriptor));
}

function closesOnExec(descriptor: number): boolean {
  // The descriptor of the readdir above is closed by now, so it has no info file.
  const info = tryOr(() => readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'), undefined);
  const flags = /^flags:\s*([0-7]+)/m.exec(info ?? '')?.[1] ?? '0';
  return info === undefined || (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
}

/** Returns a command line that closes these descriptors and then runs `line`. */
export function closeDescriptorsFirst(
  descriptors: readonly number[],
  line: readonly string[],
): readonly string[] {
  if (descriptors.length === 0) return line;
  const closing = descriptors.map((descriptor) => `${descriptor}>&-`).join(' ');
  return ['/bin/bash', '--norc', '--noprofile', '-c', `exec ${closing}; exec "$@"`, 'bash', ...line];
}
