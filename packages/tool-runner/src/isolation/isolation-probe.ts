import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Layers } from '../layers/layers.ts';
import { tryOr } from '../try-or.ts';
import type { Workspace } from '../workspace.ts';
import { ConversationPlace } from './conversation-place.ts';
import { seccompFilter } from './seccomp-filter.ts';

/** Fixed folders instead of the PATH variable, which a workspace may influence. */
const toolFolders = ['/usr/local/bin', '/usr/bin', '/bin', '/run/current-system/sw/bin'];

export interface IsolationTools {
  readonly bubblewrap: string;
  readonly prlimit: string;
  /** Enters the place that a conversation shares. Part of util-linux, like prlimit. */
  readonly nsenter: string | undefined;
}

export type Probe = { readonly tools: IsolationTools } | { readonly problem: string };

export function findTool(name: string): string | undefined {
  return toolFolders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Checks whether isolation works on this machine by running bubblewrap once, which takes about 10 ms. */
export function probeIsolation(
  bubblewrap = findTool('bwrap'),
  platform: string = process.platform,
  find = findTool,
): Probe {
  if (platform !== 'linux') return { problem: `isolation needs Linux, and this is ${platform}` };
  const prlimit = find('prlimit');
  if (bubblewrap === undefined || !existsSync(bubblewrap)) return { problem: 'bubblewrap is not installed' };
  if (prlimit === undefined) return { problem: 'prlimit (of util-linux) is not installed' };
  const problem = tryBubblewrap(bubblewrap, ['--unshare-net', '--proc', '/proc', '--dev', '/dev']);
  return problem === undefined ? { tools: { bubblewrap, prlimit, nsenter: find('nsenter') } } : { problem };
}

/** Runs bubblewrap with these arguments. Returns its error message, or undefined if it works. `input` is its stdin. */
function tryBubblewrap(
  bubblewrap: string,
  args: readonly string[],
  program: readonly string[] = ['/bin/true'],
  input: Uint8Array = new Uint8Array(),
): string | undefined {
  const everything = [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--ro-bind',
    '/',
    '/',
  ];
  const { status, stderr, error } = spawnSync(bubblewrap, [...everything, ...args, '--', ...program], {
    env: {},
    encoding: 'utf8',
    input,
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: 5_000,
  });
  if (status === 0) return undefined;
  return `bubblewrap does not work here (${error?.message ?? (stderr.trim() || `it ended with ${status}`)})`;
}

/** Whether one part of isolation works, and how to get it if it does not. */
export interface IsolationCheck {
  readonly name:
    | 'bubblewrap'
    | 'user namespace'
    | 'processes'
    | 'network'
    | 'masks'
    | 'limits'
    | 'conversation'
    | 'layers'
    | 'system calls';
  readonly works: boolean;
  /** A text for the person: what this part protects, or what is wrong. */
  readonly says: string;
  readonly remedy?: string;
}

/** How well this machine can isolate commands (RN-5), as `countersign doctor` shows it. */
export interface IsolationReport {
  /**
   * `none`: commands are not isolated, and LOW commands need approval. `partial`: commands are isolated, but without
   * the filter of system calls, the place that the commands of a conversation share, or layers.
   */
  readonly level: 'full' | 'partial' | 'none';
  readonly checks: readonly IsolationCheck[];
  /** Further remarks for the person. */
  readonly notes: readonly string[];
}

export interface InspectOptions {
  /** Returns the path of a system program. */
  readonly find?: (name: string) => string | undefined;
  readonly platform?: string;
  readonly arch?: string;
  /** The text of /etc/os-release. */
  readonly system?: string;
  /** Where layers are tried. Without it they are not looked at. */
  readonly workspace?: Pick<Workspace, 'root' | 'stateFolder'> | undefined;
}

/** Checks each part of isolation separately, to name what is missing. Takes about 0.1 s. */
export async function inspectIsolation(options: InspectOptions = {}): Promise<IsolationReport> {
  const { platform = process.platform, arch = process.arch } = options;
  if (platform !== 'linux')
    return {
      level: 'none',
      checks: [
        missing(
          'bubblewrap',
          `isolation needs Linux, and this is ${platform}`,
          'Run the runner in a Linux virtual machine or container.',
        ),
      ],
      notes: withoutIsolation,
    };
  const system = options.system ?? tryOr(() => readFileSync('/etc/os-release', 'utf8'), '');
  const find = options.find ?? findTool;
  const bubblewrap = find('bwrap');
  const limits = checkLimits(system, find('prlimit'));
  if (bubblewrap === undefined)
    return {
      level: 'none',
      checks: [missing('bubblewrap', 'bubblewrap is not installed', install(system, 'bubblewrap')), limits],
      notes: withoutIsolation,
    };

  const attempt = (
    name: IsolationCheck['name'],
    says: string,
    args: string[],
    program?: string[],
    input?: Uint8Array,
  ): IsolationCheck => {
    const problem = tryBubblewrap(bubblewrap, args, program, input);
    return problem === undefined
      ? { name, works: true, says }
      : missing(name, problem, namespaceRemedy(system));
  };
  const filter = seccompFilter({ unixSockets: true }, arch);
  const checks: IsolationCheck[] = [
    { name: 'bubblewrap', works: true, says: bubblewrap },
    attempt('user namespace', "commands have no rights beyond the person's own", []),
    attempt(
      'processes',
      'commands see no other process',
      ['--proc', '/proc', '--dev', '/dev'],
      ['/bin/sh', '-c', 'test $$ -lt 10'],
    ),
    attempt('network', 'commands have no network unless it was granted', ['--unshare-net']),
    attempt(
      'masks',
      'sensitive files are hidden from commands that run unasked',
      ['--ro-bind', '/dev/null', '/etc/passwd'],
      ['/bin/sh', '-c', 'test ! -s /etc/passwd'],
    ),
    limits,
    await checkPlace(system, { bubblewrap, nsenter: find('nsenter') }),
    ...(options.workspace ? [await checkLayers(options.workspace, find)] : []),
    filter === undefined
      ? missing(
          'system calls',
          `there is no table of system calls for ${arch}: they are not filtered`,
          'Nothing; namespaces hold without it.',
        )
      : attempt('system calls', 'dangerous system calls are refused', ['--seccomp', '0'], undefined, filter),
  ];
  const essential = checks.filter(({ name }) => !dispensable.has(name));
  const level = !essential.every(({ works }) => works)
    ? 'none'
    : checks.every(({ works }) => works)
      ? 'full'
      : 'partial';
  return { level, checks, notes: level === 'none' ? withoutIsolation : isolatedNotes() };
}

/** Isolation holds without these. */
const dispensable: ReadonlySet<IsolationCheck['name']> = new Set(['system calls', 'conversation', 'layers']);

const withoutIsolation = [
  'Without isolation, commands that would run unasked ask first, and the others do not run unless the operator allows it.',
];

function isolatedNotes(): string[] {
  return [
    'Commands with network reach the hosts on their card through a proxy of the runner, never this machine itself. Programs that know no proxy, such as ssh, have no network.',
    ...(process.getuid?.() === 0
      ? ['This runner is root: the kernel does not limit how many processes root starts.']
      : []),
  ];
}

/** Makes the place of a conversation and lets go of it. */
async function checkPlace(
  system: string,
  { bubblewrap, nsenter }: { readonly bubblewrap: string; readonly nsenter: string | undefined },
): Promise<IsolationCheck> {
  const name = 'conversation';
  if (nsenter === undefined) return missing(name, 'nsenter is not installed', install(system, 'util-linux'));
  const folder = mkdtempSync(join(tmpdir(), 'countersign-place-'));
  try {
    const place = await ConversationPlace.make(
      { bubblewrap, nsenter },
      { folder, temporaryBytes: 1024 * 1024, guarded: [] },
    );
    place.close();
    return {
      name,
      works: true,
      says: 'the commands of a conversation share a /tmp and a loopback, and no others',
    };
  } catch (error) {
    return missing(name, (error as Error).message, namespaceRemedy(system));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Mounts layers over the workspace, as before its first command. */
async function checkLayers(
  workspace: Pick<Workspace, 'root' | 'stateFolder'>,
  find: (name: string) => string | undefined,
): Promise<IsolationCheck> {
  const layers = new Layers(workspace, find);
  const { problem } = layers;
  await layers.idle();
  const { stateFolder } = workspace;
  // Leave no folder behind that was not there.
  for (const empty of [join(stateFolder, 'layers'), stateFolder]) tryOr(() => rmdirSync(empty), undefined);
  return problem === undefined
    ? { name: 'layers', works: true, says: 'what a command writes lands in the workspace when it has ended' }
    : missing('layers', problem, withoutLayers);
}

const withoutLayers =
  'Without layers commands write in the workspace itself: what they did cannot be undone, and they cannot write where files execute later.';

function checkLimits(system: string, prlimit: string | undefined): IsolationCheck {
  return prlimit === undefined
    ? missing('limits', 'prlimit is not installed', install(system, 'util-linux'))
    : {
        name: 'limits',
        works: true,
        says: 'memory, processor time, files and processes of commands are limited',
      };
}

const missing = (name: IsolationCheck['name'], says: string, remedy: string): IsolationCheck => ({
  name,
  works: false,
  says,
  remedy,
});

const installers: readonly [like: RegExp, command: string][] = [
  [/\b(debian|ubuntu)\b/, 'sudo apt install'],
  [/\b(fedora|rhel|centos)\b/, 'sudo dnf install'],
  [/\b(suse|opensuse)\b/, 'sudo zypper install'],
  [/\barch\b/, 'sudo pacman -S'],
  [/\balpine\b/, 'sudo apk add'],
];

function install(system: string, name: string): string {
  const kind = (system.match(/^ID(_LIKE)?=.*$/gm) ?? []).join(' ').toLowerCase();
  const command = installers.find(([like]) => like.test(kind))?.[1];
  return command ? `${command} ${name}` : `Install the package ${name} of your system.`;
}

function namespaceRemedy(system: string): string {
  if (/^ID=ubuntu$/m.test(system))
    return 'Ubuntu keeps programs from making user namespaces: give bwrap an AppArmor profile with "userns,", or run sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0';
  return 'Allow user namespaces (sudo sysctl user.max_user_namespaces=10000, and kernel.unprivileged_userns_clone=1 where that exists); in a container, start it with a seccomp profile that allows them.';
}
