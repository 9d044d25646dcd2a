import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { CountersignError, defaultLimits, lowerLimits } from '@countersign/protocol';
import { type RunnerClock, systemClock } from './clock.ts';
import type { Executor } from './executor.ts';
import { Journal } from './journal/journal.ts';
import { OwnVerdict } from './own-verdict.ts';
import type { CallPreviews, ToolHandlerConfig } from './tool-handler-config.ts';
import type { Workspace } from './workspace.ts';

/** Where the person's own files are; the environment decides, as the XDG specification says. */
export interface PersonsFolders {
  readonly home: string;
  /** `policy.json`, `ceiling.json`. */
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

/** A folder as a workspace, with its own state folder. Throws WORKSPACE_NOT_FOUND, or PATH_INVALID for a bad choice. */
export function workspaceAt(
  folder: string,
  { folders = personsFolders(), ...options }: Partial<Workspace> & { readonly folders?: PersonsFolders } = {},
): Workspace {
  let root: string;
  try {
    root = realpathSync(folder);
  } catch (cause) {
    throw new CountersignError('WORKSPACE_NOT_FOUND', { path: folder }, { cause });
  }
  const name = createHash('sha256').update(root).digest('hex').slice(0, 32);
  const stateFolder = options.stateFolder ?? join(folders.state, name);
  if (root === '/' || `${stateFolder}/`.startsWith(`${root}/`)) {
    const problem = 'it contains what Countersign itself keeps; open a folder below it';
    throw new CountersignError('PATH_INVALID', { path: root, problem });
  }
  return { limits: defaultLimits, home: folders.home, addedEnvironment: [], ...options, root, stateFolder };
}

/** Everything that a ToolHandler works with. */
export interface WorkspaceParts {
  readonly workspace: Workspace;
  readonly configFolder: string;
  readonly verdict: OwnVerdict;
  readonly executors: readonly Executor[];
  readonly previews: CallPreviews;
  readonly journal: Journal;
  readonly clock: RunnerClock;
}

/** Puts together what the configuration gives and, for the rest, the real thing. */
export function openWorkspace(config: ToolHandlerConfig): WorkspaceParts {
  const clock = config.clock ?? systemClock;
  const folders = personsFolders();
  const given = config.workspace ?? workspaceAt(process.cwd(), { folders });
  const workspace = { ...given, limits: limitsOf(given, config) };
  const configFolder = config.configFolder ?? folders.config;
  const journal =
    config.journal ??
    Journal.open({
      folder: workspace.stateFolder,
      holder: { program: config.program ?? 'a runner' },
      now: () => clock.now(),
    });
  return {
    workspace,
    configFolder,
    verdict: new OwnVerdict({ workspace, configFolder, isIsolated: config.isIsolated ?? false }),
    executors: config.executors ?? [],
    previews: config.previews ?? noPreviews,
    journal,
    clock,
  };
}

function limitsOf({ limits }: Workspace, { commandTimeoutMs, fileSizeMaxBytes }: ToolHandlerConfig) {
  return lowerLimits(limits, {
    ...(commandTimeoutMs !== undefined && { commandTimeoutMaxSeconds: Math.floor(commandTimeoutMs / 1000) }),
    ...(fileSizeMaxBytes !== undefined && { fileBytes: fileSizeMaxBytes }),
  });
}

const noPreviews: CallPreviews = {
  preview: () => Promise.reject(new Error('There are no previews yet')),
  digest: () => Promise.reject(new Error('There are no previews yet')),
};
