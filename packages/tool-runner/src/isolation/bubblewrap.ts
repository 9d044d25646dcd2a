import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import type { Layer } from '../layers/layers.ts';
import { realDisk } from '../real-disk.ts';
import { tryOr } from '../try-or.ts';
import type { ConversationPlace } from './conversation-place.ts';
import type { Protection } from './executing-place-guard.ts';
import { isInside, type OwnNode } from './fixed-path.ts';
import type { Confinement } from './isolated-process.ts';
import { bridgePlace, gatePlace } from './network-gate.ts';
import type { ShownFolders } from './program-view.ts';
import {
  ignoredByGit,
  ignoringFile,
  isProgramFolder,
  maskedPlace,
  type PreparedFiles,
  privateHome,
  privateNpmCache,
  privateTemporary,
} from './system-view.ts';
import type { SpecialPlaces } from './workspace-scan.ts';

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
  /** The person's folders (RN-5). */
  readonly shown: Pick<ShownFolders, 'mounts' | 'links' | 'masked'>;
  /** The conversation's `/tmp` and loopback, which the command enters first; undefined for its own. */
  readonly place?: Pick<ConversationPlace, 'folder' | 'guarded'> | undefined;
  /** Takes what the command writes, mounted before bubblewrap starts. */
  readonly layer?: Pick<Layer, 'merged' | 'way'> | undefined;
  /** Size limit of the private temporary folders, which are kept in memory. */
  readonly temporaryBytes: number;
  readonly hasSeccomp: boolean;
  /** Path of the network gate's socket file; undefined if the command has no network. */
  readonly gate: string | undefined;
  readonly places: SpecialPlaces;
  readonly protection: Pick<Protection, 'readOnly' | 'pinned' | 'standIns'>;
  /** Workspace-relative. */
  readonly cwd: string;
}

/** Returns bubblewrap's arguments, without the program (RN-5). The command sees only the paths in these arguments. */
export function bubblewrapArguments(plan: IsolationPlan): string[] {
  const { confinement, files, node, root } = plan;
  const own = [...(node ? [node.shown] : []), ...(confinement.readable ?? [])];
  const { mounts, links, masked } = plan.shown;
  if (masked.length > maxMounts)
    throw new CountersignError('ISOLATION_UNAVAILABLE', {
      problem: `the folders that runner.json lets commands read have ${masked.length} files to hide, more than ${maxMounts}`,
    });
  const keepsCache = confinement.network && confinement.workspace === 'write';
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    // In the user namespace of a layer we are root: outside of it the command is who it is without a layer.
    ...(plan.layer?.way === 'user'
      ? ['--uid', String(process.getuid?.()), '--gid', String(process.getgid?.())]
      : []),
    // Also used when network was granted: then the command reaches it only through the network gate.
    ...(plan.place ? [] : ['--unshare-net']),
    ...['--hostname', 'countersign', '--new-session', '--die-with-parent', '--cap-drop', 'ALL'],
    // The bash that closes inherited descriptors sets this variable.
    ...['--unsetenv', 'SHLVL'],
    ...['--json-status-fd', String(statusDescriptor)],
    ...(plan.hasSeccomp ? ['--seccomp', String(seccompDescriptor)] : []),
    ...plan.system,
    ...temporaryArguments(plan),
    ...(plan.gate ? ['--ro-bind', plan.gate, gatePlace, '--ro-bind', files.bridge, bridgePlace] : []),
    ...(keepsCache ? ['--bind', files.npmCache, privateNpmCache] : []),
    ...own.filter((path) => !isProgramFolder(path)).flatMap((path) => ['--ro-bind', path, path]),
    ...mounts.flatMap((path) => ['--ro-bind', path, path]),
    ...links
      .filter(({ path }) => !plan.place || !isInside(privateTemporary, path))
      .flatMap(({ path, real }) => ['--symlink', real, path]),
    ...globalNpmConfigs(node, mounts).flatMap((path) => ['--ro-bind', files.emptyFile, path]),
    ...masked.flatMap((place) => coverArguments(files, place)),
    ...(confinement.workspace === 'none' ? [] : workspaceArguments(plan)),
    ...guardFolders(plan).flatMap((path) => ['--remount-ro', path]),
    ...['--remount-ro', '/'],
    ...['--chdir', confinement.workspace === 'none' ? privateTemporary : join(root, plan.cwd)],
    '--',
  ];
}

/** Returns the arguments for `/tmp` and the private home in it. */
function temporaryArguments(plan: IsolationPlan): string[] {
  const size = String(plan.temporaryBytes);
  if (!plan.place)
    return [
      ...['--perms', '1777', '--size', size, '--tmpfs', privateTemporary],
      ...['--perms', '0700', '--dir', privateHome],
    ];
  return [
    ...['--bind', plan.place.folder, privateTemporary],
    ...['--perms', '0700', '--size', size, '--tmpfs', privateHome],
    ...guardFolders(plan).flatMap((path) => ['--perms', '0755', '--size', guardBytes, '--tmpfs', path]),
  ];
}

/** Enough for the folders that lead to a mount. */
const guardBytes = String(1024 * 1024);

/**
 * Returns the guarded folders of a shared `/tmp` (conversation-place.ts) on which nothing else is mounted. Each becomes an
 * empty folder of this command alone, so that what is mounted deeper has no folder on its way that another command could
 * replace.
 */
function guardFolders({ place, root, node, shown, confinement }: IsolationPlan): string[] {
  const mounted = [
    ...(confinement.workspace === 'none' ? [] : [root]),
    ...(node ? [node.shown] : []),
    ...shown.mounts,
    privateHome,
  ];
  return (place?.guarded ?? [])
    .map((name) => `${privateTemporary}/${name}`)
    .filter((path) => !mounted.includes(path));
}

/** Returns npm's global configuration files, which may contain the person's registry tokens (VA-2). */
function globalNpmConfigs(node: OwnNode | undefined, mounts: ShownFolders['mounts']): string[] {
  const own = [...(node ? [node.shown] : []), ...mounts];
  const prefixes = new Set(['/usr', '/usr/local', ...own]);
  const paths = [...prefixes].map((prefix) => join(prefix, 'etc/npmrc'));
  return paths.filter((path) => realDisk.look(path)?.type === 'file');
}

const coverArguments = (
  files: PreparedFiles,
  { path, isFolder }: ShownFolders['masked'][number],
): string[] => ['--ro-bind', isFolder ? files.emptyFolder : files.emptyFile, path];

function workspaceArguments({
  root,
  confinement,
  files,
  layer,
  places,
  protection,
}: IsolationPlan): string[] {
  const { readOnly, pinned, standIns } = protection;
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
    ...[isWritable ? '--bind' : '--ro-bind', layer?.merged ?? root, root],
    ...[...pinned, ...(confinement.writable ?? [])].flatMap((path) => ['--bind', path, path]),
    ...readOnly.flatMap((path) => ['--ro-bind', path, path]),
    ...outermost.flatMap((place) => coverArguments(files, place)),
    ...specialFiles.flatMap((path) => ['--ro-bind', files.emptyFile, path]),
    ...(standIns.length === 0 ? [] : ['--ro-bind', ignoringFile(files, standIns), ignoredByGit]),
  ];
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
