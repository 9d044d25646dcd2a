import { lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { isInside, type OwnNode } from './fixed-path.ts';
import type { Confinement } from './isolated-process.ts';
import { onDisk } from './name-on-disk.ts';
import { bridgePlace, gatePlace } from './network-bridge.ts';
import { realInside } from './real-inside.ts';
import { type PreparedFiles, privateNpmCache, privateTemporary } from './visible-system.ts';
import type { FoundPlace, SpecialPlaces } from './workspace-scan.ts';

/** Descriptors of bubblewrap beside the standard three. */
export const statusDescriptor = 3;
export const seccompDescriptor = 4;

/** Each mount costs a tenth of a millisecond, more with many; bubblewrap itself takes 9,000 arguments. */
const mostMounts = 1_000;
/** A workspace that is one of these, or holds one, cannot be shown without showing what must stay hidden. */
const reserved = ['/usr', '/etc', '/proc', '/dev', '/sys', '/run', '/tmp', '/var/run', '/boot'];
export const isPartOfSystem = (root: string): boolean => reserved.some((path) => isInside(root, path));

export interface IsolationPlan {
  readonly root: string;
  readonly confinement: Confinement;
  readonly files: PreparedFiles;
  /** What of the system is shown: `systemArguments`. */
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

/** All arguments of bubblewrap up to the program (RN-5). What is not named here does not exist for the command. */
export function bubblewrapArguments(plan: IsolationPlan): string[] {
  const { confinement, files, node, root } = plan;
  const shown = [...(node ? [node.shown] : []), ...(confinement.readable ?? [])];
  const keepsCache = confinement.network && confinement.workspace === 'write';
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    // Also with network: its only way out is the gate.
    '--unshare-net',
    ...['--hostname', 'countersign', '--new-session', '--die-with-parent', '--cap-drop', 'ALL'],
    // Bash, where it had to close descriptors before, leaves its own count.
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

/** npm's settings for everybody stand in its installation, and with them the person's tokens for registries (VA-2). */
function globalLogins(node: OwnNode | undefined): string[] {
  const prefixes = new Set(['/usr', '/usr/local', ...(node ? [node.shown] : [])]);
  return [...prefixes].map((prefix) => join(prefix, 'etc/npmrc')).filter(isFile);
}

function isFile(path: string): boolean {
  try {
    return lstatSync(path).isFile();
  } catch {
    return false;
  }
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
  if (mounts > mostMounts)
    throw new CountersignError('ISOLATION_UNAVAILABLE', {
      problem: `the workspace has ${mounts} files that need special treatment, more than ${mostMounts}`,
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

/** What a link leads to is what must be hidden; where that is outside, it is not visible anyway. */
function maskedPlace(root: string, { path, type }: FoundPlace): { path: string; isFolder: boolean }[] {
  if (type !== 'link') return [{ path: join(root, path), isFolder: type === 'directory' }];
  return realInside(root, join(root, path)).map((real) => ({
    path: real,
    isFolder: statSync(onDisk(real)).isDirectory(),
  }));
}
