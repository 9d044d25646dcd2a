import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { viewPrefix } from '../isolation/abandoned-isolation.ts';
import { findProgram, isInside } from '../isolation/fixed-path.ts';
import { sendSignal } from '../isolation/started-process.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import type { Workspace } from '../workspace.ts';
import { matchingIncludes } from './conditional-includes.ts';
import { type ConfigEntry, latin1, parseConfigList, setting, utf8, writeConfig } from './config-text.ts';
import { gitCannot, gitFailed } from './git-failure.ts';
import { collectGit, type GitAnswer, type GitStreams } from './git-process.ts';
import { isOutside, personsEnvironment } from './persons-environment.ts';

/** What a transport repository is made for. */
export interface TransportOptions {
  /** Refs and objects are stored as the workspace's repository stores them: `sha1` or `sha256`. */
  readonly objectFormat?: string | undefined;
  /** The `shallow` file of the workspace's repository, if it has one. */
  readonly shallow?: Buffer | undefined;
  /** A folder of objects that git may read besides its own. */
  readonly alternate?: string | undefined;
  /** Written to its configuration. */
  readonly settings?: readonly ConfigEntry[];
  /** The only protocol that git may use; none if left out. */
  readonly protocol?: string;
  /** False: git asks neither a credential helper nor an agent nor the terminal for a login. */
  readonly mayAskForLogin?: boolean;
}

/** An empty repository of ours in which the person's own git runs. */
export interface Transport {
  readonly folder: string;
  /** Any exit code is a normal result. */
  run(args: readonly string[], options?: Partial<GitStreams>): Promise<GitAnswer>;
  /** Throws GIT_FAILED unless git succeeds. */
  ask(args: readonly string[], options?: Partial<GitStreams>): Promise<GitAnswer>;
  /** Forgets the address, which may contain a login of the person, before the folder is shown to a command. */
  forgetAddress(): void;
  remove(): void;
}

const STOP_MS = 5_000;
/** A credential helper may leave a daemon that holds our pipe; git's own output has arrived by then. */
const PIPES_CLOSE_MS = 1_000;

/**
 * The person's own git, outside isolation, with their configuration, credential helpers, ssh and agent (RN-6). It only
 * ever runs in an empty repository that we made, with our configuration, and gets the address as an argument. So it
 * never reads the configuration of the workspace's repository, and no hook, helper, filter, ssh command, proxy or URL
 * rewriting from there can run or send the person's login anywhere (docs/decisions/0029).
 */
export class PersonsGit {
  readonly #workspace: Workspace;
  readonly #own: Readonly<Record<string, string | undefined>>;

  constructor(workspace: Workspace, environment: Readonly<Record<string, string | undefined>> = process.env) {
    this.#workspace = workspace;
    this.#own = environment;
  }

  /** Makes the repository. Throws GIT_FAILED if a file of the person's git configuration is in the workspace. */
  async open(options: TransportOptions = {}, signal?: AbortSignal): Promise<Transport> {
    const { root, home, stateFolder } = this.#workspace;
    if (isInside(root, tryOrReal(home))) throw settingsInWorkspace(home);
    const folder = mkdtempSync(join(stateFolder, `${viewPrefix}transport-`));
    try {
      const { settings = [] } = options;
      const environment = personsEnvironment(this.#own, { root, home });
      layOut(folder, options);
      const run: Transport['run'] = (args, streams) =>
        this.#run(folder, args, { ...environment, ...fixedEnvironment(options) }, { signal, ...streams });
      const transport: Transport = {
        folder,
        run,
        async ask(args, streams) {
          const answer = await run(args, streams);
          if (answer.exitCode !== 0) throw gitFailed(answer.stderr, answer.exitCode);
          return answer;
        },
        forgetAddress: () =>
          layOut(folder, { ...options, settings: settings.filter(({ section }) => section !== 'url') }),
        remove: () => rmSync(folder, { recursive: true, force: true }),
      };
      const first = await this.#readSettings(transport);
      const { included } = first;
      if (included.length > 0) layOut(folder, { ...options, settings: [...included, ...settings] });
      const { hasOwnSsh } = included.length > 0 ? await this.#readSettings(transport) : first;
      if (!hasOwnSsh && !('GIT_SSH_COMMAND' in environment || 'GIT_SSH' in environment))
        environment.GIT_SSH_COMMAND = quietSsh;
      return transport;
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * Throws if the workspace holds a file of the person's configuration: an agent could have changed it. `included` are the
   * files that the person includes for repositories at this place (`includeIf "gitdir:~/work/"`): for git, our repository
   * is elsewhere.
   */
  async #readSettings(transport: Transport): Promise<{ included: ConfigEntry[]; hasOwnSsh: boolean }> {
    const { root, home } = this.#workspace;
    const { stdout } = await transport.ask(['config', '--list', '--show-origin', '--includes', '-z']);
    const fields = stdout.toString('latin1').split('\0');
    const included: ConfigEntry[] = [];
    let hasOwnSsh = false;
    for (let at = 0; at + 1 < fields.length; at += 2) {
      const origin = utf8(fields[at] ?? '');
      const file = origin.startsWith('file:') ? origin.slice('file:'.length) : undefined;
      if (file?.startsWith('/') && !isOutside(file, root)) throw settingsInWorkspace(file);
      const [entry] = parseConfigList(Buffer.from(`${fields[at + 1]}\0`, 'latin1'));
      if (entry === undefined || file === undefined) continue;
      hasOwnSsh ||= entry.section === 'core' && entry.name === 'sshcommand';
      for (const path of matchingIncludes(entry, { origin: file, home, gitFolder: join(root, '.git') })) {
        if (!isOutside(path, root)) throw settingsInWorkspace(path);
        included.push(setting('include.path', latin1(path)));
      }
    }
    return { included, hasOwnSsh };
  }

  async #run(
    folder: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
    streams: Partial<GitStreams>,
  ): Promise<GitAnswer> {
    if (streams.signal?.aborted) throw new ExecutionCancelled();
    const { limits, root } = this.#workspace;
    const git = findProgram('git', (environment.PATH ?? '').split(':'), root);
    // A group and session of its own: no terminal to ask on, and its ssh ends with it.
    const child = spawn(git, ['--no-pager', ...args], {
      cwd: folder,
      env: { ...environment, GIT_DIR: folder },
      stdio: [streams.input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      detached: true,
    });
    return collectGit(
      child,
      {
        maxBytes: limits.outputStreamBytes,
        timeoutSeconds: limits.commandTimeoutDefaultSeconds,
        ...streams,
      },
      { stop, untilEnd: () => untilEnd(child), notes: () => [] },
    );
  }
}

/** Nothing is stopped after a normal end: a helper's daemon keeps the person's logins for later. */
async function stop(child: ChildProcess): Promise<void> {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  sendSignal(-pid, 'SIGTERM');
  const timer = setTimeout(() => sendSignal(-pid, 'SIGKILL'), STOP_MS);
  await exited;
  clearTimeout(timer);
  sendSignal(-pid, 'SIGKILL');
}

async function untilEnd(child: ChildProcess): Promise<Error | undefined> {
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const cause = await new Promise<Error | undefined>((resolve) => {
    child.once('exit', () => resolve(undefined));
    child.once('error', resolve);
  });
  if (cause) return cause;
  const isClosed = new AbortController();
  await Promise.race([closed, wait(PIPES_CLOSE_MS, undefined, { signal: isClosed.signal }).catch(() => {})]);
  isClosed.abort();
  child.stdout?.destroy();
  child.stderr?.destroy();
  return undefined;
}

function layOut(folder: string, { objectFormat, shallow, alternate, settings = [] }: TransportOptions): void {
  for (const name of ['objects/pack', 'objects/info', 'refs/heads'])
    mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, 'HEAD'), 'ref: refs/heads/countersign\n');
  const isOther = objectFormat !== undefined && objectFormat !== 'sha1';
  const own = [
    setting('core.repositoryformatversion', isOther ? '1' : '0'),
    setting('core.bare', 'true'),
    ...(isOther ? [setting('extensions.objectformat', objectFormat)] : []),
  ];
  writeFileSync(join(folder, 'config'), writeConfig([...own, ...settings]), { mode: 0o600 });
  if (shallow) writeFileSync(join(folder, 'shallow'), shallow);
  if (alternate !== undefined) writeFileSync(join(folder, 'objects/info/alternates'), `${alternate}\n`);
}

/** ssh that asks nothing, and lends the other side neither the agent nor connections of this machine. */
const quietSsh = 'ssh -o BatchMode=yes -o ForwardAgent=no -o ForwardX11=no -o ClearAllForwardings=yes';

/**
 * These override every configuration file, even the person's, so that nothing is sent or fetched that the card does not
 * show.
 */
const fixedSettings: readonly (readonly [key: string, value: string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  // Git would otherwise ask the workspace's repository, with its configuration, for its refs.
  ['core.alternateRefsCommand', 'true'],
  ['core.abbrev', 'no'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['fetch.writeCommitGraph', 'false'],
  ['transfer.fsckObjects', 'true'],
  ['fetch.fsckObjects', 'true'],
  ['push.followTags', 'false'],
  ['push.gpgSign', 'false'],
  ['push.recurseSubmodules', 'no'],
  ['submodule.recurse', 'false'],
  // A redirect would lead to an address that the card does not show.
  ['http.followRedirects', 'false'],
];

function fixedEnvironment({
  mayAskForLogin = true,
  protocol = '',
}: TransportOptions): Record<string, string> {
  const settings = mayAskForLogin
    ? fixedSettings
    : [...fixedSettings, ['credential.helper', ''] as const, ['core.askPass', 'false'] as const];
  return {
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${at}`, key],
        [`GIT_CONFIG_VALUE_${at}`, value],
      ]),
    ),
    ...(mayAskForLogin ? {} : { GIT_ASKPASS: 'false', SSH_ASKPASS: 'false' }),
    GIT_ALLOW_PROTOCOL: protocol,
    GIT_TERMINAL_PROMPT: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_PAGER: 'cat',
    GIT_EDITOR: 'false',
  };
}

const tryOrReal = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
};

const settingsInWorkspace = (file: string): Error =>
  gitCannot(
    `your git configuration is inside the workspace (${file}), where a tool could change it, so your login is not used; the person must do this`,
  );
