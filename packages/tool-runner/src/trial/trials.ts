import { createHash } from 'node:crypto';
import type { PolicyDecision } from '@countersign/policy';
import {
  CountersignError,
  digestOf,
  type JsonValue,
  type Preview,
  type ToolCall,
  type Trial,
} from '@countersign/protocol';
import type { RunnerClock } from '../clock.ts';
import { KeptOutput } from '../commands/command-output.ts';
import { failureNotes } from '../commands/failure-notes.ts';
import { landEffects, outermost, withNotes } from '../commands/layered-command.ts';
import { type CommandResult, commandResult } from '../commands/run-command.ts';
import type { CallLanding } from '../executor.ts';
import type { IsolatingStarter } from '../isolation/process-starter.ts';
import type { Effect } from '../layers/effect.ts';
import { Turns } from '../layers/turns.ts';
import { visibleName } from '../preview/look.ts';
import { ExecutionCancelled } from '../runner-errors.ts';
import type { Workspace } from '../workspace.ts';
import type { TrialLimits } from './trial-limits.ts';
import { type TrialEffects, type TrialRun, TriedCommand, type TriedRequest } from './tried-command.ts';

type CommandPreview = Extract<Preview, { kind: 'command' }>;
type TrialFile = Extract<Trial, { files: unknown }>['files'][number];

/** What a call shows and the base of its digest, as without a trial. */
export interface PlainView {
  readonly preview: Preview;
  readonly base: string;
}

/** How to try a call: the program, and the name of the command in error messages. */
export interface TriedCall extends TriedRequest {
  readonly name: string;
  /** The programs that it runs, as far as its words show. */
  readonly programs: readonly string[];
}

export interface TrialsDeps {
  readonly starter: IsolatingStarter;
  readonly workspace: Workspace;
  readonly clock: RunnerClock;
  readonly limits: () => TrialLimits;
  /** Of runner.json, by program. */
  readonly programs: () => Readonly<Record<string, { readonly layer: boolean }>>;
  /** Room for undo copies, in bytes. */
  readonly undoBytes: number;
  /** Undefined for a call that is not a command. */
  readonly triedCallOf: (call: ToolCall, decision: PolicyDecision) => TriedCall | undefined;
}

/** A trial that has ended. */
interface Kept {
  /** With the time and output of the one run; its effects are read again each time. */
  readonly run: TrialRun;
  readonly stdout: string;
  readonly stderr: string;
  /** What the call reports when the trial lands. */
  readonly result: CommandResult;
  readonly call: TriedCall;
  /** Undefined if the command did not end by itself: then there is nothing to land. */
  readonly tried: TriedCommand | undefined;
}

/** So many layers are kept at once: each may hold as much as `limits.bytes`. */
const MAX_KEPT = 8;
/** How often a trial is made again because the workspace changed meanwhile. */
const MAX_RUNS = 2;
/** An approved call is given to a runner within this time, or asked about again. */
const APPROVED_MS = 10 * 60_000;
const MAX_FILES = 1_000;
const MAX_DIFF_CHARACTERS = 500_000;
const OUTPUT_CHARACTERS = 16_384;

/**
 * Tries calls that wait for approval, and keeps what came of it for each approval until it is decided (RN-13). A trial
 * neither changes the workspace nor decides anything.
 */
export class Trials {
  readonly #deps: TrialsDeps;
  readonly #kept = new Map<string, Kept | { readonly problem: string }>();
  readonly #timers = new Map<string, () => void>();
  /** One at a time: each may use what a machine has. */
  #last: Promise<unknown> = Promise.resolve();
  #running = 0;
  readonly #ended = new AbortController();

  constructor(deps: TrialsDeps) {
    this.#deps = deps;
  }

  /** Whether commands can be tried here at all. */
  get isAvailable(): boolean {
    const { starter } = this.#deps;
    return starter.isIsolated && starter.layers.problem === undefined;
  }

  get isBusy(): boolean {
    return this.#running > 0;
  }

  /**
   * Tries a call, keeps the outcome for its approval in place of an earlier one, and returns the view with it. Throws only
   * ExecutionCancelled: anything else that goes wrong is part of the preview.
   */
  async try(
    approvalId: string,
    asked: { readonly call: ToolCall; readonly own: PolicyDecision; readonly plain: PlainView },
    stop: AbortSignal,
  ): Promise<PlainView> {
    const signal = AbortSignal.any([stop, this.#ended.signal]);
    this.#running += 1;
    const before = this.#last;
    const outcome = (async () => {
      await before;
      if (signal.aborted) throw new ExecutionCancelled();
      const kept = await this.#tryOrSay(approvalId, asked, signal);
      this.drop(approvalId);
      this.#kept.set(approvalId, kept);
      const view = await this.viewOf(approvalId, asked.plain).catch((error: Error) => {
        this.drop(approvalId);
        this.#kept.set(approvalId, { problem: error.message });
        return this.viewOf(approvalId, asked.plain);
      });
      if (!signal.aborted) return view;
      this.drop(approvalId);
      throw new ExecutionCancelled();
    })();
    this.#last = outcome.catch(() => {});
    try {
      return await outcome;
    } finally {
      this.#running -= 1;
    }
  }

  /** The view of a call with its trial as it is now, read from the disk again. The plain view if there was no trial. */
  async viewOf(approvalId: string, plain: PlainView): Promise<PlainView> {
    const kept = this.#kept.get(approvalId);
    const { preview, base } = plain;
    if (!kept || preview.kind !== 'command') return plain;
    if (!('run' in kept)) return { preview: { ...preview, trial: kept }, base };
    const found = await kept.tried?.effects();
    if (found && found.conflicts.length > 0) throw changedMeanwhile(found.conflicts);
    return {
      preview: await this.#shown(preview, kept, found),
      base: digestOf({ form: 1, base, trial: factsOf(kept, found) }),
    };
  }

  /** Whether approving lands a layer, rather than running the call. */
  lands(approvalId: string): boolean {
    const kept = this.#kept.get(approvalId);
    return kept !== undefined && 'tried' in kept && kept.tried !== undefined;
  }

  /**
   * Lands the layer of an approved trial, without running the call again, and returns the result of the trial's run. `base` is
   * that of the approved view: nothing else lands. Throws APPROVAL_STALE otherwise.
   */
  async land(
    approvalId: string,
    { plainBase, base, landing }: { plainBase: string; base: string; landing: CallLanding },
  ): Promise<CommandResult> {
    const kept = this.#kept.get(approvalId);
    if (!kept || !('tried' in kept) || !kept.tried) throw stale('its trial is gone');
    this.#forget(approvalId);
    const { tried, result, call } = kept;
    const { starter, workspace } = this.#deps;
    landing.begin(tried.layer.id);
    return landEffects(tried.layer, {
      starter,
      workspace,
      writableGit: call.writableGit,
      landing,
      result,
      confirm: ({ landing: effects, withheld }, { conflicts, leftOut }) => {
        const found = { effects, withheld, conflicts, leftOut };
        const now = digestOf({ form: 1, base: plainBase, trial: factsOf(kept, found) });
        if (conflicts.length > 0) throw changedMeanwhile(conflicts);
        if (now !== base) throw stale('what its trial wrote is not what was shown');
      },
    });
  }

  /** Keeps an approved trial for as long as its call may still begin. */
  approved(approvalId: string): void {
    if (!this.#kept.has(approvalId)) return;
    this.#timers.get(approvalId)?.();
    this.#timers.set(
      approvalId,
      this.#deps.clock.after(APPROVED_MS, () => this.drop(approvalId)),
    );
  }

  /** Drops what was tried for an approval. Harmless twice. */
  drop(approvalId: string): void {
    const kept = this.#kept.get(approvalId);
    this.#forget(approvalId);
    if (kept && 'tried' in kept) kept.tried?.drop();
  }

  /** Stops what is being tried and drops all layers. */
  async dispose(): Promise<void> {
    this.#ended.abort();
    await this.#last;
    for (const id of [...this.#kept.keys()]) this.drop(id);
  }

  #forget(approvalId: string): void {
    this.#timers.get(approvalId)?.();
    this.#timers.delete(approvalId);
    this.#kept.delete(approvalId);
  }

  async #tryOrSay(
    approvalId: string,
    asked: { call: ToolCall; own: PolicyDecision },
    signal: AbortSignal,
  ): Promise<Kept | { readonly problem: string }> {
    try {
      const others = [...this.#kept].filter(([id, kept]) => id !== approvalId && 'tried' in kept);
      if (others.length >= MAX_KEPT)
        return { problem: `${MAX_KEPT} trials wait for a decision already; decide on one of them first` };
      for (let runs = 1; ; runs += 1) {
        const kept = await this.#runOnce(asked, signal);
        if (!('tried' in kept) || !kept.tried) return kept;
        const { conflicts } = await kept.tried.effects();
        if (conflicts.length === 0) return kept;
        kept.tried.drop();
        if (runs === MAX_RUNS) return { problem: changedMeanwhile(conflicts).message };
      }
    } catch (error) {
      if (error instanceof ExecutionCancelled) throw error;
      return { problem: error instanceof Error ? error.message : String(error) };
    }
  }

  async #runOnce(
    { call, own }: { call: ToolCall; own: PolicyDecision },
    signal: AbortSignal,
  ): Promise<Kept | { readonly problem: string }> {
    const { starter, workspace, limits: limitsNow, programs, triedCallOf } = this.#deps;
    const found = triedCallOf(call, own);
    if (!found) return { problem: 'only commands can be tried' };
    const settings = programs();
    const unlayered = found.programs.find((name) => settings[name]?.layer === false);
    if (unlayered !== undefined)
      return { problem: `runner.json says that "${visibleName(unlayered)}" runs without a layer` };
    const limits = limitsNow();
    const { name, programs: _, ...request } = found;
    const tried = new TriedCommand(starter, workspace, request);
    let isKept = false;
    try {
      const { outputStreamBytes } = workspace.limits;
      const output = { stdout: new KeptOutput(outputStreamBytes), stderr: new KeptOutput(outputStreamBytes) };
      const run = await tried.run(limits, {
        signal,
        onOutput: async (stream, chunk) => output[stream].push(chunk),
      });
      const { ending } = run;
      if (ending.kind === 'cancelled') throw new ExecutionCancelled();
      const [stdout, stderr] = [output.stdout.text(), output.stderr.text()];
      const status =
        ending.kind === 'ended'
          ? { exitCode: ending.exitCode }
          : ending.kind === 'killed'
            ? { signal: ending.signal }
            : ('timeout' as const);
      const ended = commandResult(
        name,
        {
          stdout,
          stderr,
          isCut: output.stdout.isCut || output.stderr.isCut,
          seconds: run.durationMs / 1_000,
          status,
        },
        { timeout: limits.seconds, limit: limits.seconds },
      );
      const { confinement } = tried;
      const hidden = starter.readableSecrets();
      const failed = { confinement, cwd: request.cwd ?? '', root: workspace.root, hidden };
      const notes = ended.success ? [] : [...run.notes, ...failureNotes(ended, failed)];
      const result = withNotes(ended, notes);
      isKept = ending.kind === 'ended';
      return { run, stdout, stderr, result, call: found, tried: isKept ? tried : undefined };
    } finally {
      if (!isKept) tried.drop();
    }
  }

  async #shown(
    preview: CommandPreview,
    { run, stdout, stderr, tried }: Kept,
    found: TrialEffects | undefined,
  ): Promise<CommandPreview> {
    const effects = found?.effects ?? [];
    const counts = { created: 0, modified: 0, deleted: 0, mode: 0 };
    for (const { change } of effects) counts[change] += 1;
    const deleted = outermost(effects.filter(({ after }) => after === undefined));
    const others = effects.filter(({ after }) => after !== undefined);
    const diffs = tried?.diffs(MAX_DIFF_CHARACTERS);
    const files: TrialFile[] = [];
    const turns = new Turns();
    for (const effect of [...deleted, ...others].slice(0, MAX_FILES)) {
      await turns.next();
      const { path, change, before, after } = effect;
      const entry = after ?? before;
      const read = diffs?.read(effect);
      files.push({
        path: visibleName(path),
        change,
        ...(entry?.type === 'file' && { size: entry.size }),
        ...(read && { diff: read.diff }),
        ...(read?.truncated && { truncated: true }),
      });
    }
    const trial: Trial = {
      ended: endedAs(run),
      exit_code: run.ending.kind === 'ended' ? run.ending.exitCode : null,
      duration_ms: run.durationMs,
      stdout: endOf(stdout),
      stderr: endOf(stderr),
      files,
      counts,
      withheld: namesOf(outermost(found?.withheld ?? []).map(({ path }) => path)),
      left_out: namesOf(found?.leftOut ?? []),
      hosts: namesOf(run.hosts),
    };
    const undone = effects.reduce(
      (sum, { before, change }) => sum + (change === 'mode' ? 0 : (before?.size ?? 0)),
      0,
    );
    const reversible = tried ? undone <= this.#deps.undoBytes : preview.reversible;
    return { ...preview, reversible, trial };
  }
}

const namesOf = (names: readonly string[]): string[] => names.slice(0, MAX_FILES).map(visibleName);

const endOf = (text: string): string =>
  (text.length <= OUTPUT_CHARACTERS ? text : `…${text.slice(-OUTPUT_CHARACTERS)}`).toWellFormed();

function endedAs({ ending }: TrialRun): Extract<Trial, { ended: unknown }>['ended'] {
  if (ending.kind === 'ended') return 'exit';
  if (ending.kind === 'limit') return ending.limit === 'seconds' ? 'timeout' : 'limit';
  return 'signal';
}

/**
 * What the digest covers of a trial: every effect with the versions before and after, what is withheld and left out, and how
 * the command ended. The card alone does not show all of it.
 */
function factsOf({ run }: Kept, found: TrialEffects | undefined): JsonValue {
  const entries = createHash('sha256');
  const add = (kind: string, { path, change, before, after }: Effect): void => {
    const states = [before, after].map((state) => state && [state.type, state.version, state.mode]);
    entries.update(`${JSON.stringify([kind, path, change, ...states])}\n`);
  };
  const byPath = (a: Effect, b: Effect): number => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
  for (const effect of [...(found?.effects ?? [])].sort(byPath)) add('lands', effect);
  for (const effect of [...(found?.withheld ?? [])].sort(byPath)) add('withheld', effect);
  return {
    ended: endedAs(run),
    exit_code: run.ending.kind === 'ended' ? run.ending.exitCode : null,
    entries: entries.digest('hex'),
    left_out: [...(found?.leftOut ?? [])],
  };
}

const stale = (problem: string): CountersignError => new CountersignError('APPROVAL_STALE', { problem });

const changedMeanwhile = (conflicts: readonly { readonly path: string }[]): CountersignError =>
  stale(`"${visibleName(conflicts[0]?.path ?? '')}" was changed since the call was tried`);
