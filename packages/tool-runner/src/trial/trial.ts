import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError } from '@countersign/protocol';
import { writesOfLine } from '../commands/git-writes.ts';
import { namesIn } from '../isolation/disk-names.ts';
import { IsolatingStarter } from '../isolation/process-starter.ts';
import { hasEnded, identifyProcess } from '../isolation/started-process.ts';
import type { Effect } from '../layers/effect.ts';
import { type Layer, removeFolder } from '../layers/layers.ts';
import { readRunnerSettings, requireShownFolders } from '../runner-settings.ts';
import type { Workspace } from '../workspace.ts';
import type { EffectDiffs } from './effect-diffs.ts';
import type { TrialLimits } from './trial-limits.ts';
import { type TrialEffects, type TrialRun, TriedCommand, type TriedRequest } from './tried-command.ts';

export { defaultTrialLimits, type TrialLimits } from './trial-limits.ts';
export type { TrialEffects, TrialEnding, TrialRun } from './tried-command.ts';

/** One text is a shell line; several are a program and its arguments. */
export type TrialCommand = readonly [string, ...string[]];

export interface TrialOptions {
  readonly workspace: Workspace;
  readonly configFolder: string;
}

/** A place for the layers and the isolation of tries. A runner of the workspace must not take them for its own. */
const triesFolder = (stateFolder: string): string => join(stateFolder, 'tries');

/** A command that is told to end gets this long. */
const KILL_DELAY_MS = 2_000;
/** Removing 50,000 files can take a minute: nobody waits for that. */
const REMOVAL_MS = 1_000;

/**
 * Tries one command without a server (RN-13). It needs neither the workspace's journal nor its runner, and changes nothing in
 * the workspace.
 */
export class Trial {
  /** With the trial's own state folder. */
  readonly #workspace: Workspace;
  readonly #stateFolder: string;
  readonly #starter: IsolatingStarter;
  readonly #folder: string;
  #tried: TriedCommand | undefined;

  /** Throws ISOLATION_UNAVAILABLE where no command can run in a layer, with the reason. */
  constructor({ workspace, configFolder }: TrialOptions) {
    const settings = readRunnerSettings(configFolder, workspace.root);
    requireShownFolders(settings, { ...workspace, configFolder });
    const known = identifyProcess(process.pid);
    this.#folder = join(
      triesFolder(workspace.stateFolder),
      `${process.pid}-${known?.startedAt ?? 0}-${Math.trunc(performance.now() * 1_000)}`,
    );
    this.#stateFolder = workspace.stateFolder;
    this.#workspace = {
      ...workspace,
      stateFolder: this.#folder,
      addedEnvironment: [...workspace.addedEnvironment, ...settings.environment],
    };
    this.#starter = new IsolatingStarter(this.#workspace, {
      configFolder,
      killDelayMs: KILL_DELAY_MS,
      settings: () => readRunnerSettings(configFolder, workspace.root),
    });
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const problem = this.#starter.layerProblem();
    if (problem === undefined) return;
    void this.dispose();
    throw new CountersignError('ISOLATION_UNAVAILABLE', {
      problem: `a command cannot run in a layer here, because ${problem}`,
    });
  }

  /** Runs the command to its end. `onOutput` is awaited, so that a slow reader slows the command down. */
  run(command: TrialCommand, limits: TrialLimits, io: Parameters<TriedCommand['run']>[1]): Promise<TrialRun> {
    const { root } = this.#workspace;
    const places = { root, stateFolder: this.#stateFolder };
    this.#tried = new TriedCommand(this.#starter, places, requestOf(command));
    return this.#tried.run(limits, io);
  }

  /** Reads the effects, after the command has ended by itself. */
  effects(): Promise<TrialEffects> {
    return this.#ran.effects();
  }

  /** Reads the diffs of effects, until so many are read that nobody reads more. */
  diffs(): EffectDiffs {
    return this.#ran.diffs();
  }

  /** Keeps what does not land, where the workspace's other calls keep it. Returns the folder. */
  setAside(effects: readonly Effect[]): string | undefined {
    return this.#ran.setAside(effects);
  }

  /** How many changes are dropped if nothing lands. */
  countChanges(): Promise<number> {
    return this.#ran.countChanges();
  }

  /** The layer, once the command has run. */
  get layer(): Pick<Layer, 'id' | 'upper'> {
    return this.#ran.layer;
  }

  get #ran(): TriedCommand {
    if (!this.#tried) throw new Error('the command has not run');
    return this.#tried;
  }

  /** Stops what still runs, and removes the layer with what has not landed. */
  async dispose(): Promise<void> {
    await this.#starter.dispose();
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), REMOVAL_MS);
    const isLate = new Promise((resolve) => late.signal.addEventListener('abort', resolve));
    await Promise.race([removeFolder(this.#folder, late.signal), isLate]);
    clearTimeout(timer);
  }
}

/** The shell looks a program up as it does for the person: on the PATH, or below the folder for a path. */
function requestOf(command: TrialCommand): TriedRequest {
  const [line] = command;
  const isLine = command.length === 1;
  const args = isLine ? [line] : ['exec "$@"', 'bash', ...command];
  const writes = isLine ? writesOfLine(line) : line === 'git' ? writesOfLine(command.join(' ')) : undefined;
  return {
    program: 'bash',
    args: ['--noprofile', '--norc', '-c', ...args],
    cwd: '.',
    // What decides which programs git runs is withheld, so every command may write git's data.
    writableGit: writes ?? 'data',
  };
}

/** Removes what tries of killed processes left, but no layer in `needed`: the folders that a landing still reads. */
export async function removeAbandonedTries(stateFolder: string, needed: readonly string[]): Promise<void> {
  const tries = triesFolder(stateFolder);
  for (const name of namesIn(tries)) {
    const [pid, startedAt = ''] = name.split('-');
    const folder = join(tries, name);
    const isNeeded = needed.some((upper) => upper.startsWith(`${folder}/`));
    if (!isNeeded && hasEnded({ pid: Number(pid), startedAt })) await removeFolder(folder);
  }
}
