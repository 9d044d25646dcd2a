import { createHash } from 'node:crypto';
import { opendirSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import {
  CountersignError,
  defaultLimits,
  isCustomCall,
  type Limits,
  lowerLimits,
} from '@countersign/protocol';
import { BuiltInTools } from './built-in-tools.ts';
import { type RunnerClock, systemClock } from './clock.ts';
import { BackgroundJobs } from './commands/background-jobs.ts';
import { CustomExecutor } from './custom/custom-executor.ts';
import { ToolServers } from './custom/tool-servers.ts';
import type { Executor } from './executor.ts';
import { ResultCache } from './files/result-cache.ts';
import { GitRepository } from './git/git-repository.ts';
import { requireHandlerSettings, type SettingsInForce, settingsInForce } from './handler-settings.ts';
import { clearAbandonedIsolation } from './isolation/abandoned-isolation.ts';
import type { Planted } from './isolation/executing-place-guard.ts';
import { IsolatingStarter } from './isolation/process-starter.ts';
import { Journal } from './journal/journal.ts';
import { type Land, landingIn } from './layers/landing.ts';
import type { Layers } from './layers/layers.ts';
import type { Logger } from './logger.ts';
import { LspExecutor } from './lsp/lsp-executor.ts';
import { CallNetwork } from './network/call-network.ts';
import { HeldHosts } from './network/held-hosts.ts';
import { PackageSources } from './network/package-sources.ts';
import { OwnVerdict } from './own-verdict.ts';
import { RunnerDoor } from './ports/runner-door.ts';
import { failedWith, realPath } from './real-disk.ts';
import { readRunnerSettings, requireShownFolders } from './runner-settings.ts';
import type { CallPreviews, ToolHandlerConfig } from './tool-handler-config.ts';
import { Trials } from './trial/trials.ts';
import type { Workspace } from './workspace.ts';

/** The person's own folders, found as the XDG specification says. */
export interface PersonsFolders {
  readonly home: string;
  /** Contains `policy.json`, `ceiling.json`, `runner.json` and `mcp.json`. */
  readonly config: string;
  readonly state: string;
}

export function personsFolders(environment: NodeJS.ProcessEnv = process.env): PersonsFolders {
  const home = environment.HOME || homedir();
  const under = (value: string | undefined, otherwise: string) =>
    join(value?.startsWith('/') ? value : join(home, otherwise), 'countersign');
  return {
    home,
    config: under(environment.XDG_CONFIG_HOME, '.config'),
    state: under(environment.XDG_STATE_HOME, '.local/state'),
  };
}

/** Makes a workspace of a folder. Throws WORKSPACE_NOT_FOUND, or PATH_INVALID for a folder that cannot be used. */
export function workspaceAt(
  folder: string,
  { folders = personsFolders(), ...options }: Partial<Workspace> & { readonly folders?: PersonsFolders } = {},
): Workspace {
  const root = readableFolder(folder);
  const name = createHash('sha256').update(root).digest('hex').slice(0, 32);
  const stateFolder = options.stateFolder ?? join(folders.state, name);
  // Commands see the whole workspace, so it must not contain the journal or the person's tokens (AP-9).
  const own = [stateFolder, folders.config].find((path) => isBelow(root, realFolder(path)));
  if (own !== undefined) {
    const problem = `it contains what Countersign itself keeps (${own}); open a folder below it`;
    throw new CountersignError('PATH_INVALID', { path: root, problem });
  }
  return { limits: defaultLimits, home: folders.home, addedEnvironment: [], ...options, root, stateFolder };
}

/** The folder's real path. Throws if the folder cannot be listed or entered, because no tool could work in it. */
function readableFolder(folder: string): string {
  try {
    const root = realpathSync(folder);
    opendirSync(root).closeSync();
    statSync(`${root}/.`);
    return root;
  } catch (cause) {
    if (!failedWith(cause, 'EACCES', 'EPERM'))
      throw new CountersignError('WORKSPACE_NOT_FOUND', { path: folder }, { cause });
    const problem = 'you may not read it. Open a folder of your own, or have its permissions changed';
    throw new CountersignError('PATH_INVALID', { path: folder, problem }, { cause });
  }
}

const isBelow = (root: string, path: string): boolean =>
  `${path}/`.startsWith(root === '/' ? '/' : `${root}/`);

/** The real path of a folder; parts that do not exist yet stay as they are. */
function realFolder(path: string): string {
  const above = dirname(path);
  return realPath(path) ?? (above === path ? path : join(realFolder(above), basename(path)));
}

/** Everything that a ToolHandler works with. */
export interface WorkspaceParts {
  readonly workspace: Workspace;
  readonly configFolder: string;
  readonly verdict: OwnVerdict;
  readonly executors: readonly Executor[];
  readonly custom: CustomExecutor;
  /** Not started yet. */
  readonly toolServers: ToolServers;
  readonly previews: CallPreviews;
  readonly builtIn: BuiltInTools;
  readonly heldHosts: HeldHosts;
  readonly journal: Journal;
  readonly land: Land;
  /** Where the person's own programs on this machine reach this runner. */
  readonly door: RunnerDoor | undefined;
  readonly layers: Layers;
  /** Calls that are tried before they are approved. */
  readonly trials: Trials;
  readonly clock: RunnerClock;
  /** Sensitive files that an approved command could read (VA-2). */
  readonly readableSecrets: () => readonly string[];
  /** This machine's settings, without the server's limits. */
  readonly settings: SettingsInForce;
  /** Applies the server's limits: from now on the stricter of both count (TL-3). */
  joinLimits(told: Partial<Limits>): void;
  /** Files that commands of a killed runner had planted in places that execute later (VA-3). */
  readonly planted: Planted;
  /** Disposes all executors and closes what was opened here. A journal of the caller stays open. */
  dispose(): Promise<void>;
}

/** Uses the parts that the configuration has, and makes the others. */
export function openWorkspace(config: ToolHandlerConfig, logger: Logger): WorkspaceParts {
  const clock = config.clock ?? systemClock;
  const folders = personsFolders();
  const given = config.workspace ?? workspaceAt(process.cwd(), { folders });
  const configFolder = config.configFolder ?? folders.config;
  const settings = readRunnerSettings(configFolder, given.root);
  requireShownFolders(settings, { ...given, configFolder });
  const chosen = settingsInForce(settings.limits, requireHandlerSettings({ ...config }), given.limits);
  // All parts share this object, so that joinLimits changes the limits of all of them.
  const limits = { ...chosen.limits };
  const workspace = {
    ...given,
    limits,
    addedEnvironment: [...given.addedEnvironment, ...settings.environment],
  };
  const journal =
    config.journal ??
    Journal.open({
      folder: workspace.stateFolder,
      holder: {
        program: config.program ?? 'a runner',
        ...(config.takesOver && { takesOver: true }),
      },
      now: () => clock.now(),
    });
  const abandoned = clearAbandonedIsolation(workspace);
  // Without isolation OwnVerdict raises LOW commands to MEDIUM; once approved, they run unisolated (RN-5).
  const starter = new IsolatingStarter(workspace, {
    allowUnisolated: true,
    reachablePorts: settings.reachablePorts,
    configFolder,
    settings: () => readRunnerSettings(configFolder, workspace.root),
    ...(config.refusedHosts && { refusedHosts: config.refusedHosts }),
  });
  journal.watchChanges((changes) => starter.expectChanges(changes));
  const isIsolated = () => config.isIsolated ?? (config.runUnisolated === true || starter.isIsolated);
  const toolServers = new ToolServers({ workspace, configFolder, starter, clock, logger });
  const custom = new CustomExecutor(workspace, toolServers);
  const canHideLinks = () => config.runUnisolated === true || starter.canHideLinks;
  const verdict = new OwnVerdict({
    workspace,
    configFolder,
    isIsolated,
    canHideLinks,
    customTools: toolServers,
  });
  const sources = new PackageSources({
    home: workspace.home,
    starter,
    listed: () => readRunnerSettings(configFolder, workspace.root).registries,
  });
  const callNetwork = new CallNetwork({ root: workspace.root, starter, sources });
  const heldHosts = new HeldHosts();
  const lspOptions = config.languageFeatures && { features: config.languageFeatures };
  const git = new GitRepository(workspace, starter);
  const jobs = new BackgroundJobs(starter, limits.outputStreamBytes);
  const door =
    process.platform === 'linux'
      ? new RunnerDoor({
          stateFolder: workspace.stateFolder,
          ports: () => jobs.ports(),
          placeOf: (session) => starter.findPlace(session),
        })
      : undefined;
  const builtIn = new BuiltInTools({
    filesystem: {
      workspace,
      cache: new ResultCache({
        clock,
        enableCaching: chosen.enableCaching,
        cacheTtlMs: chosen.cacheTtlMs,
      }),
      liftedSensitivePaths: () => verdict.liftedSensitivePaths(),
    },
    command: { workspace, starter, git, callNetwork, heldHosts },
    shell: { workspace, starter, git, callNetwork, jobs },
    git,
    lsp: new LspExecutor({ workspace, starter, clock, servers: settings.languageServers, ...lspOptions }),
  });
  const executors = config.executors ?? [builtIn];
  const settingsNow = () => readRunnerSettings(configFolder, workspace.root);
  const trials = new Trials({
    starter,
    workspace,
    clock,
    limits: () => settingsNow().trials,
    programs: () => settingsNow().programs,
    undoBytes: journal.landings.undoBytes,
    triedCallOf: (call, decision) => (isCustomCall(call) ? undefined : builtIn.triedCallOf(call, decision)),
  });
  return {
    workspace,
    configFolder,
    verdict,
    executors,
    custom,
    toolServers,
    builtIn,
    heldHosts,
    previews: config.previews ?? {
      preview: async (call, decision) =>
        isCustomCall(call) ? custom.preview(call) : builtIn.preview(call, decision),
      base: async (call, decision) =>
        isCustomCall(call) ? custom.digest(call) : builtIn.base(call, decision),
    },
    journal,
    land: landingIn(journal, workspace),
    door,
    layers: starter.layers,
    trials,
    clock,
    readableSecrets: () => starter.readableSecrets(),
    settings: chosen,
    joinLimits: (told) => void Object.assign(limits, lowerLimits(chosen.limits, told)),
    planted: abandoned.planted,
    async dispose() {
      await trials.dispose();
      await Promise.allSettled([...executors, builtIn, custom].map((executor) => executor.dispose()));
      await door?.close();
      await starter.dispose();
      if (!config.journal) journal.close();
    },
  };
}
