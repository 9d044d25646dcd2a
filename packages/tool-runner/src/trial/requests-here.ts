import { randomUUID } from 'node:crypto';
import { CountersignError, type JsonValue, type ToolErrorValue } from '@countersign/protocol';
import { keepAside, outermost } from '../commands/layered-command.ts';
import type { Journal } from '../journal/journal.ts';
import type { Effect } from '../layers/effect.ts';
import type { Land } from '../layers/landing.ts';
import { errorValueOf, failedReport } from '../result-outbox.ts';
import type { ResultReport } from '../runner-api.ts';
import { tryOr } from '../try-or.ts';
import type { UndoOptions } from '../undo/undo-plan.ts';
import type { Workspace } from '../workspace.ts';

/** The tool of such calls in the journal. No server knows them. */
const TRY = 'try';
const prefix = 'try-';
/** Whether this is a call of `countersign try`, or an undo of such calls: no server knows it. */
export const isTried = (toolId: string, journal: Pick<Journal, 'undo'>): boolean =>
  toolId.startsWith(prefix) || (journal.undo(toolId)?.toolIds.every((id) => isTried(id, journal)) ?? false);

/** What a person wants to land of a command that they have tried. */
export interface TriedLanding {
  /** For people: `countersign undo --last` says it. */
  readonly command: string;
  readonly exitCode: number;
  readonly layerId: string;
  readonly upper: string;
  readonly effects: readonly Effect[];
}

export interface TriedOutcome {
  /** Nothing landed. */
  readonly error?: ToolErrorValue;
  readonly landed: number;
  /** Paths that were changed in the workspace meanwhile, and did not land. */
  readonly conflicts: readonly string[];
  /** The folder with what did not land. */
  readonly keptIn?: string;
  /** Sentences: what the system refused, and why this cannot be undone. */
  readonly notes: readonly string[];
}

/** What to undo. */
export interface UndoHere {
  /** Calls or undos; undefined: the newest call in the workspace that changed something. */
  readonly toolIds: readonly string[] | undefined;
  readonly force: boolean;
}

/** What became of an undo. */
export interface UndoneHere {
  readonly report: ResultReport;
  /** Undefined if nothing was found to undo. */
  readonly call?: UndoneCall;
}

export interface UndoneCall {
  readonly toolId: string;
  readonly tool: string;
  /** Of a call of `countersign try`. */
  readonly command?: string;
  readonly paths: readonly string[];
  /** How many paths it changed. */
  readonly count: number;
}

type UndoCalls = (toolIds: readonly string[], options: UndoOptions) => Promise<ResultReport>;

const nothingToUndo = new CountersignError('NOT_UNDOABLE', {
  problem: 'nothing that was changed here can be undone',
});

/** So many paths say what a call changed. */
const NAMED = 3;

/** Does what the person asks at this machine without a server, with the journal of the workspace. */
export class RequestsHere {
  readonly #journal: Journal;
  readonly #workspace: Workspace;
  readonly #land: Land;
  readonly #undo: UndoCalls;

  constructor(deps: {
    readonly journal: Journal;
    readonly workspace: Workspace;
    readonly land: Land;
    readonly undo: UndoCalls;
  }) {
    this.#journal = deps.journal;
    this.#workspace = deps.workspace;
    this.#land = deps.land;
    this.#undo = deps.undo;
  }

  /** Lands effects that were shown to the person, journalled like those of any other call. */
  async landTried({ command, exitCode, layerId, upper, effects }: TriedLanding): Promise<TriedOutcome> {
    const [toolId, attempt] = [`${prefix}${randomUUID()}`, 1];
    const journal = this.#journal;
    const result = { success: exitCode === 0, exit_code: exitCode, command };
    try {
      journal.start(toolId, attempt, TRY);
      journal.recordLayer(toolId, attempt, layerId);
      const sorted = effects.toSorted((a, b) => (a.path < b.path ? -1 : 1));
      const landing = { toolId, attempt, runId: undefined, upper, layerId, effects: sorted, result };
      const { landed, conflicts, notUndoable, problem } = await this.#land(landing);
      const left = outermost(conflicts);
      const keptIn = keepAside(this.#workspace, { id: layerId, upper }, left);
      this.#end(toolId, attempt, { status: 'completed', attempt, result });
      return {
        landed: landed.length,
        conflicts: left.map(({ path }) => path),
        ...(keptIn !== undefined && { keptIn }),
        notes: [problem, notUndoable].filter((note) => note !== undefined),
      };
    } catch (error) {
      const value = errorValueOf(error);
      this.#end(toolId, attempt, { status: 'failed', attempt, error: value });
      return { error: value, landed: 0, conflicts: [], notes: [] };
    }
  }

  /** Undoes calls of `countersign try` or of an agent. */
  async undoHere({ toolIds, force }: UndoHere): Promise<UndoneHere> {
    const last = toolIds === undefined ? this.#journal.lastToUndo() : undefined;
    const call = last === undefined ? undefined : await this.#describe(last);
    const named = toolIds ?? (last === undefined ? [] : [last]);
    if (named.length === 0) return { report: failedReport(nothingToUndo, 1) };
    return { report: await this.#undo(named, { force }), ...(call && { call }) };
  }

  async #describe(toolId: string): Promise<UndoneCall> {
    const known = this.#journal.attempt(toolId, this.#journal.newestAttempt(toolId) ?? 1);
    const changes = await this.#journal.landings.changesOf(toolId);
    const paths = [...new Set(changes.filter(({ isUndone }) => !isUndone).map(({ path }) => path))];
    const { command } = { ...(known?.report?.result as { command?: JsonValue } | undefined) };
    return {
      toolId,
      tool: known?.tool ?? TRY,
      ...(toolId.startsWith(prefix) && typeof command === 'string' && { command }),
      paths: paths.slice(0, NAMED).map((path) => path.toWellFormed()),
      count: paths.length,
    };
  }

  /** No server waits for this report. If it cannot be written, the next recovery ends the call. */
  #end(toolId: string, attempt: number, report: ResultReport): void {
    tryOr(() => {
      this.#journal.end(toolId, attempt, report);
      this.#journal.acknowledge(toolId, attempt);
    }, undefined);
  }
}

/** For a runner that was stopped while it landed: its recovery has ended the call, and nobody asks for the report. */
export function acknowledgeTried(journal: Journal): void {
  for (const { toolId, attempt } of journal.unacknowledged())
    if (isTried(toolId, journal)) journal.acknowledge(toolId, attempt);
  for (const { undoId, toolIds } of journal.unacknowledgedUndos())
    if (toolIds.every((id) => isTried(id, journal))) journal.acknowledgeUndo(undoId);
}
