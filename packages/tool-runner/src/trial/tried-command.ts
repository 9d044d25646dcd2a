import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { CountersignError, type NetworkAccess } from '@countersign/protocol';
import { keepAside, outermost } from '../commands/layered-command.ts';
import { explainMissingPrograms } from '../commands/missing-programs.ts';
import { statusOf, stopInTime } from '../commands/run-to-end.ts';
import { SecretFilter } from '../commands/secret-filter.ts';
import type { Confinement, ProcessRequest } from '../isolation/isolated-process.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import type { Effect } from '../layers/effect.ts';
import { countChanges, measureLayer, readEffects } from '../layers/layer-effects.ts';
import type { Layer } from '../layers/layers.ts';
import { splitWithheld } from '../layers/withheld.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import type { Workspace } from '../workspace.ts';
import { EffectDiffs } from './effect-diffs.ts';
import type { TrialLimits } from './trial-limits.ts';

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
  /** Why something failed that works outside: a program that isolation hides, files of other users. */
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

/** A program to try, and what of `.git` lands of it. */
export interface TriedRequest extends Pick<ProcessRequest, 'program' | 'args' | 'cwd'> {
  readonly writableGit: Confinement['writableGit'];
}

/** How often the layer's size is looked at: after this, or after four times as long as the last look took. */
const LOOK_MS = 200;
const foreignFiles =
  'A file of another user, or of a group that is not your main one, cannot be changed in a layer ("Value too large for defined data type").';
/** The end of standard error that is searched for programs that were not found. */
const SEARCHED_CHARACTERS = 64 * 1024;

/**
 * One command that runs in a layer before anybody approved it, under the confinement of a LOW command: no network, secrets
 * covered (RN-13). It changes nothing in the workspace. Call `drop` at the end.
 */
export class TriedCommand {
  readonly #starter: IsolatingStarter;
  readonly #workspace: Pick<Workspace, 'root' | 'stateFolder'>;
  readonly #request: TriedRequest;
  readonly layer: Layer;

  /** Throws ISOLATION_UNAVAILABLE where no command can run in a layer, with the reason. */
  constructor(
    starter: IsolatingStarter,
    workspace: Pick<Workspace, 'root' | 'stateFolder'>,
    request: TriedRequest,
  ) {
    const problem = starter.layerProblem();
    const layer = problem === undefined ? starter.layers.open() : undefined;
    if (!layer) throw new CountersignError('ISOLATION_UNAVAILABLE', { problem: noLayer(problem) });
    this.#starter = starter;
    this.#workspace = workspace;
    this.#request = request;
    this.layer = layer;
  }

  get confinement(): Confinement {
    return { ...trialConfinement, writableGit: this.#request.writableGit };
  }

  /** Runs the command to its end. `onOutput` is awaited, so that a slow reader slows the command down. */
  async run(
    limits: TrialLimits,
    {
      signal,
      onOutput,
    }: {
      readonly signal: AbortSignal;
      readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => Promise<void>;
    },
  ): Promise<TrialRun> {
    const { writableGit: _, ...program } = this.#request;
    const { layer } = this;
    const startedAt = performance.now();
    const child = this.#starter.start({
      ...program,
      confinement: { ...this.confinement, limits: { fileBytes: limits.bytes } },
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
    let durationMs = 0;
    child.once('exit', () => {
      durationMs = Math.round(performance.now() - startedAt);
    });
    const ending = await this.#untilEnd(child, limits, signal);
    await Promise.all(pumps);
    if (!this.#starter.hasRun(child))
      throw new CountersignError('SPAWN_FAILED', { program: program.program, problem: stderr.trim() });
    return {
      ending,
      durationMs,
      hosts: this.#starter.networkUse(child)?.refused ?? [],
      notes: [
        ...explainMissingPrograms(this.#starter, stderr),
        ...(stderr.includes('Value too large for defined data type') ? [foreignFiles] : []),
      ],
    };
  }

  async #untilEnd(child: ChildProcess, limits: TrialLimits, signal: AbortSignal): Promise<TrialEnding> {
    const tooMuch = new AbortController();
    const most = { bytes: limits.bytes, entries: limits.files };
    let exceeded: 'bytes' | 'files' | undefined;
    const look = async (): Promise<void> => {
      const { bytes, entries } = await measureLayer(this.layer, most);
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

  /** Reads the effects, after the command has ended by itself. May be repeated: a file that changed below is a conflict then. */
  async effects(): Promise<TrialEffects> {
    const { root } = this.#workspace;
    const read = await readEffects(this.#starter.layers, this.layer, root);
    const { landing, withheld } = await splitWithheld(read.effects, {
      root,
      places: this.#starter.executingPlaces(),
      writableGit: this.#request.writableGit,
    });
    return {
      effects: deletionsFirst(landing),
      withheld,
      conflicts: read.conflicts,
      leftOut: read.leftOut,
    };
  }

  /** Reads the diffs of effects, until so many characters are read that nobody reads more. */
  diffs(maxCharacters?: number): EffectDiffs {
    return new EffectDiffs(this.#workspace.root, this.layer.upper, maxCharacters);
  }

  /** Keeps what does not land, where the workspace's other calls keep it. Returns the folder. */
  setAside(effects: readonly Effect[]): string | undefined {
    return keepAside(this.#workspace, this.layer, outermost(effects));
  }

  /** How many changes are dropped if nothing lands. */
  countChanges(): Promise<number> {
    return countChanges(this.layer, this.#workspace.root);
  }

  drop(): void {
    this.#starter.layers.drop(this.layer);
  }
}

const noLayer = (problem: string | undefined): string =>
  `a command cannot run in a layer here, because ${problem}`;

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
