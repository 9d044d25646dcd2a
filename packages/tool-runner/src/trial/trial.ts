import type { ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { CountersignError, type NetworkAccess } from '@countersign/protocol';
import { writesOfLine } from '../commands/git-writes.ts';
import { keepAside, outermost } from '../commands/layered-command.ts';
import { explainMissingPrograms } from '../commands/missing-programs.ts';
import { statusOf, stopInTime } from '../commands/run-to-end.ts';
import { SecretFilter } from '../commands/secret-filter.ts';
import { namesIn } from '../isolation/disk-names.ts';
import type { Confinement } from '../isolation/isolated-process.ts';
import { IsolatingStarter } from '../isolation/process-starter.ts';
import { hasEnded, identifyProcess } from '../isolation/started-process.ts';
import type { Effect } from '../layers/effect.ts';
import { countChanges, measureLayer, readEffects } from '../layers/layer-effects.ts';
import { type Layer, removeFolder } from '../layers/layers.ts';
import { splitWithheld } from '../layers/withheld.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import { readRunnerSettings, requireShownFolders } from '../runner-settings.ts';
import type { Workspace } from '../workspace.ts';
import { EffectDiffs } from './effect-diffs.ts';

/** One text is a shell line; several are a program and its arguments. */
export type TrialCommand = readonly [string, ...string[]];

export interface TrialLimits {
  readonly seconds: number;
  /** Of all files that the command writes in the workspace. */
  readonly bytes: number;
  /** Files, folders and links that the command writes. */
  readonly files: number;
}

export const defaultTrialLimits: TrialLimits = { seconds: 30, bytes: 1024 ** 3, files: 100_000 };

/** How a tried command ended. Only one that ended by itself has effects. */
export type TrialEnding =
  | { readonly kind: 'ended'; readonly exitCode: number }
  | { readonly kind: 'killed'; readonly signal: string }
  | { readonly kind: 'limit'; readonly limit: keyof TrialLimits }
  | { readonly kind: 'cancelled' };

export interface TrialRun {
  readonly ending: TrialEnding;
  readonly durationMs: number;
  /** Hosts that the command asked for through its proxy, and did not reach. Other attempts leave no trace. */
  readonly hosts: readonly string[];
  /** Sentences about programs that the command did not find and that the person has. */
  readonly notes: readonly string[];
}

/** The effects of a command that ended by itself, deletions first. */
export interface TrialEffects {
  readonly effects: readonly Effect[];
  /** In places that execute later (VA-3): they do not land. */
  readonly withheld: readonly Effect[];
  /** On what was changed in the workspace meanwhile: they do not land. */
  readonly conflicts: readonly Effect[];
  /** Pipes, sockets and devices, and paths that are too long: they cannot land. */
  readonly leftOut: readonly string[];
}

export interface TrialOptions {
  readonly workspace: Workspace;
  readonly configFolder: string;
}

/** A place for the layers and the isolation of tries. A runner of the workspace must not take them for its own. */
const triesFolder = (stateFolder: string): string => join(stateFolder, 'tries');

/** How often the layer's size is looked at: after this, or after four times as long as the last look took. */
const LOOK_MS = 200;
/** A command that is told to end gets this long. */
const KILL_DELAY_MS = 2_000;
/** The end of standard error that is searched for programs that were not found. */
const SEARCHED_CHARACTERS = 64 * 1024;

/**
 * Runs one command in a layer before anybody approved it, under the confinement of a LOW command: no network, secrets
 * covered (RN-13). It needs neither the workspace's journal nor its runner, and changes nothing in the workspace.
 */
export class Trial {
  /** With the trial's own state folder. */
  readonly #workspace: Workspace;
  readonly #stateFolder: string;
  readonly #starter: IsolatingStarter;
  readonly #folder: string;
  #layer: Layer | undefined;
  #writableGit: Confinement['writableGit'];

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
  async run(
    command: TrialCommand,
    limits: TrialLimits,
    {
      signal,
      onOutput,
    }: {
      readonly signal: AbortSignal;
      readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => Promise<void>;
    },
  ): Promise<TrialRun> {
    const layer = this.#starter.layers.open();
    if (!layer)
      throw new CountersignError('ISOLATION_UNAVAILABLE', { problem: `${this.#starter.layerProblem()}` });
    this.#layer = layer;
    const [line] = command;
    const isLine = command.length === 1;
    // What decides which programs git runs is withheld, so every command may write git's data.
    this.#writableGit =
      (isLine ? writesOfLine(line) : line === 'git' ? writesOfLine(command.join(' ')) : undefined) ?? 'data';
    const startedAt = performance.now();
    // The shell looks a program up as it does for the person: on the PATH, or below the folder for a path.
    const args = isLine ? [line] : ['exec "$@"', 'bash', ...command];
    const child = this.#starter.start({
      program: 'bash',
      args: ['--noprofile', '--norc', '-c', ...args],
      cwd: '.',
      confinement: {
        ...trialConfinement,
        writableGit: this.#writableGit,
        limits: { fileBytes: limits.bytes },
      },
      layer,
      stdin: 'ignore',
    });
    let stderr = '';
    const { secrets } = this.#starter.networkUse(child) ?? {};
    const pumps = [
      pump(child.stdout, secrets, (chunk) => onOutput('stdout', chunk)),
      pump(child.stderr, secrets, (chunk) => {
        stderr = (stderr + chunk.toString()).slice(-SEARCHED_CHARACTERS);
        return onOutput('stderr', chunk);
      }),
    ];
    const ending = await this.#untilEnd(child, layer, limits, signal);
    await Promise.all(pumps);
    if (!this.#starter.hasRun(child))
      throw new CountersignError('SPAWN_FAILED', { program: line, problem: stderr.trim() });
    return {
      ending,
      durationMs: Math.round(performance.now() - startedAt),
      hosts: this.#starter.networkUse(child)?.refused ?? [],
      notes: explainMissingPrograms(this.#starter, stderr),
    };
  }

  async #untilEnd(
    child: ChildProcess,
    layer: Layer,
    limits: TrialLimits,
    signal: AbortSignal,
  ): Promise<TrialEnding> {
    const tooMuch = new AbortController();
    const most = { bytes: limits.bytes, entries: limits.files };
    let exceeded: 'bytes' | 'files' | undefined;
    const look = async (): Promise<void> => {
      const { bytes, entries } = await measureLayer(layer, most);
      if (bytes > most.bytes) exceeded = 'bytes';
      else if (entries > most.entries) exceeded = 'files';
      if (exceeded) tooMuch.abort();
    };
    let timer: NodeJS.Timeout | undefined;
    let looking = Promise.resolve();
    const lookLater = (ms: number): void => {
      timer = setTimeout(() => {
        const startedAt = performance.now();
        looking = look().then(() => {
          if (timer && !exceeded) lookLater(Math.max(LOOK_MS, 4 * (performance.now() - startedAt)));
        });
      }, ms);
    };
    lookLater(LOOK_MS);
    const untilEnd = async (): Promise<void> => {
      await new Promise<void>((resolve, reject) => {
        child.once('exit', () => resolve());
        child.once('error', reject);
      });
      await this.#starter.stop(child);
    };
    const either = AbortSignal.any([signal, tooMuch.signal]);
    const options = { timeoutSeconds: limits.seconds, signal: either, onProcess: undefined };
    try {
      if (await stopInTime(this.#starter, child, options, untilEnd))
        return { kind: 'limit', limit: 'seconds' };
    } catch (error) {
      if (!(error instanceof ExecutionCancelled)) throw error;
      return exceeded && !signal.aborted ? { kind: 'limit', limit: exceeded } : { kind: 'cancelled' };
    } finally {
      clearTimeout(timer);
      timer = undefined;
      await looking;
    }
    // A short command may have written much since the last look.
    await look();
    if (exceeded) return { kind: 'limit', limit: exceeded };
    const status = statusOf(child);
    return 'exitCode' in status
      ? { kind: 'ended', exitCode: status.exitCode }
      : { kind: 'killed', signal: status.signal };
  }

  /** Reads the effects, after the command has ended by itself. */
  async effects(): Promise<TrialEffects> {
    const { root } = this.#workspace;
    const read = await readEffects(this.#starter.layers, this.#ran, root);
    const { landing, withheld } = await splitWithheld(read.effects, {
      root,
      places: this.#starter.executingPlaces(),
      writableGit: this.#writableGit,
    });
    return {
      effects: deletionsFirst(landing),
      withheld: outermost(withheld),
      conflicts: outermost(read.conflicts),
      leftOut: read.leftOut,
    };
  }

  /** Reads the diffs of effects, until so many are read that nobody reads more. */
  diffs(): EffectDiffs {
    return new EffectDiffs(this.#workspace.root, this.#ran.upper);
  }

  /** Keeps what does not land, where the workspace's other calls keep it. Returns the folder. */
  setAside(effects: readonly Effect[]): string | undefined {
    return keepAside({ stateFolder: this.#stateFolder }, this.#ran, effects);
  }

  /** How many changes are dropped if nothing lands. */
  countChanges(): Promise<number> {
    return countChanges(this.#ran, this.#workspace.root);
  }

  /** The layer, once the command has run. */
  get layer(): Pick<Layer, 'id' | 'upper'> {
    return this.#ran;
  }

  get #ran(): Layer {
    if (!this.#layer) throw new Error('the command has not run');
    return this.#layer;
  }

  /** Stops what still runs, and removes the layer with what has not landed. */
  async dispose(): Promise<void> {
    await this.#starter.dispose();
    await removeFolder(this.#folder);
  }
}

/**
 * No host is allowed: with an empty list, the command talks to a proxy that refuses, so that the hosts it asked for are known.
 */
const noHosts: NetworkAccess = [];
const trialConfinement: Confinement = {
  workspace: 'write',
  network: noHosts,
  maskSensitive: true,
  maskLinkedOutside: true,
};

async function pump(
  stream: Readable | null,
  secrets: readonly string[] | undefined,
  onOutput: (chunk: Buffer) => Promise<void>,
): Promise<void> {
  const filter = new SecretFilter(secrets);
  const passOn = async (chunk: Buffer): Promise<void> => {
    if (chunk.length > 0) await onOutput(chunk);
  };
  for await (const chunk of stream ?? []) await passOn(filter.push(chunk as Buffer));
  await passOn(filter.end());
}

const deletionsFirst = (effects: readonly Effect[]): Effect[] => [
  ...effects.filter(({ after }) => after === undefined),
  ...effects.filter(({ after }) => after !== undefined),
];

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
