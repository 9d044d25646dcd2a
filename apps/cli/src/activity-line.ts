import { callOutcome, callTitle, isBlocked, type ResultView, resultView } from '@countersign/approvals';
import type { CountersignEvent, EventPayload, JsonValue } from '@countersign/protocol';
import { type ResultFrame, resultExcerpt, wholeResult } from './drawn-result.ts';
import { visible } from './screen/paragraph.ts';
import { fit, widthOf } from './screen/text-width.ts';
import { statusMark } from './status-mark.ts';
import { paints } from './terminal.ts';
import type { Words } from './words.ts';

interface OpenCall {
  readonly toolName: string;
  readonly params: Readonly<Record<string, JsonValue>>;
  percent: number | null;
  message: string | null;
  /** The end of what the command has printed so far. */
  output: string;
  /** Who decided about it, in words; empty if nobody was asked. */
  decided: string;
}

/** Ended calls whose parameters are kept, because they may be undone later. */
const keptCalls = 500;

/** Of a running command's output, this many characters at its end are kept. */
const keptOutput = 8_000;

/** Makes one line for each tool call that ends, with its title, outcome and duration, and the result below it. */
export class ActivityLines {
  readonly #words: Words;
  readonly #color: boolean;
  readonly #calls = new Map<string, OpenCall>();
  readonly #ended = new Map<string, OpenCall['params']>();
  #latest: { readonly title: string; readonly view: ResultView } | undefined;
  /** Why calls ended, as far as notes of the conversation have said it. */
  readonly #told = new Set<string>();
  ended = 0;

  constructor(words: Words, color: boolean) {
    this.#words = words;
    this.#color = color;
  }

  /** Running calls with their progress: `40% · Reading a.log · 4 of 10 MB read`. */
  get running(): readonly string[] {
    return [...this.#calls.values()].map(({ toolName, params, percent, message }) =>
      [
        ...(percent === null ? [] : [`${Math.round(percent)}%`]),
        callTitle({ toolName, params, status: 'executing' }, this.#words.calls),
        ...(message === null ? [] : [visible(this.#words.said(message))]),
      ].join(' · '),
    );
  }

  /** The last lines that the running command has printed. */
  runningOutput(columns: number): string[] {
    const [call] = this.#calls.values();
    if (!call || call.output === '') return [];
    return resultExcerpt({ kind: 'terminal', output: call.output, exitCode: 0 }, true, this.#frame(columns));
  }

  /** The latest result in full; undefined if there is none. */
  latestResult(columns: number): string[] | undefined {
    if (!this.#latest) return undefined;
    const { title, view } = this.#latest;
    return [paints(this.#color).bold(title), ...wholeResult(view, this.#frame(columns))];
  }

  receive({ event, data }: CountersignEvent, columns: number): string[] {
    const { activity } = this.#words;
    const paint = paints(this.#color);
    switch (event) {
      case 'tool.call':
      case 'tool.approval_request': // including those that waited before we connected
        if (data.omitted?.includes('tool_params') && this.#calls.has(data.tool_id)) return [];
        this.#calls.set(data.tool_id, {
          percent: null,
          message: null,
          output: '',
          decided: '',
          ...this.#calls.get(data.tool_id),
          toolName: data.tool_name,
          params: data.tool_params,
        });
        return [];
      case 'tool.progress': {
        const known = this.#calls.get(data.tool_id);
        if (known) {
          known.percent = data.progress ?? known.percent;
          // A message that comes with output only repeats that output.
          if (data.output === null) known.message = data.message ?? known.message;
          known.output = `${known.output}${data.output?.chunk ?? ''}`.slice(-keptOutput);
        }
        return [];
      }
      case 'tool.result':
        return data.undo_id === undefined ? this.#endCall(data, columns) : [this.#undone(data)];
      case 'runner.changed':
        return [paint.dim(activity.runner(data.state, visible(data.workspace)))];
      default:
        return [];
    }
  }

  /** Notes who approved a call, for its line. The state of a rejected call already shows the rejection. */
  noteDecision(toolId: string, decided: string): void {
    const call = this.#calls.get(toolId);
    if (call) call.decided = decided;
  }

  /** Remembers a reason that the conversation has shown, so that calls which ended for that reason do not repeat it. */
  noteTold(reason: string): void {
    this.#told.add(reason);
  }

  #endCall(data: EventPayload<'tool.result'>, columns: number): string[] {
    const { activity, calls, told: tell } = this.#words;
    const { status, error, exit_code = 0, result, not_started: isNotStarted = false } = data;
    const paint = paints(this.#color);
    const title = this.#titleOf(data);
    const { params = {}, decided = '' } = this.#calls.get(data.tool_id) ?? {};
    const view = resultView(data.tool_name, params, result);
    this.#calls.delete(data.tool_id);
    this.#ended.set(data.tool_id, params);
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= keptCalls) break;
      this.#ended.delete(oldest);
    }
    this.ended += 1;
    this.#latest = { title, view };
    const isCompleted = status === 'completed';
    const state = status === 'cancelled' && isNotStarted ? 'not_started' : status;
    const outcome = isCompleted ? callOutcome(view, calls) : '';
    // If the result could not be fetched, its event still has the exit code.
    const exit = exit_code !== 0 && view.kind !== 'terminal' ? activity.exit(exit_code) : '';
    const facts = [
      isCompleted ? '' : isBlocked(status, error) ? activity.blocked : activity[state],
      outcome,
      exit,
      data.late ? activity.late : '',
      decided,
      data.execution_time_ms === null ? '' : activity.took(data.execution_time_ms),
    ].filter((fact) => fact !== '');
    const told = facts.length === 0 ? '' : ` ${paint.dim(`· ${facts.join(' · ')}`)}`;
    const mark = statusMark(status, this.#color, exit_code);
    const lines = [`${mark} ${fit(title, Math.max(columns - widthOf(told) - 3, 20))}${told}`];
    const isUndecidedOrRejected = status === 'rejected' || status === 'timeout';
    const isTold = status === 'cancelled' && error !== null && this.#told.has(error.message);
    if (error !== null && !isUndecidedOrRejected && !isTold)
      lines.push(`  ${paint.dim(visible(tell(error)))}`);
    const isFailed = !isCompleted || exit_code !== 0;
    return [...lines, ...resultExcerpt(view, isFailed, this.#frame(columns))];
  }

  #undone(data: EventPayload<'tool.result'>): string {
    const { activity, said } = this.#words;
    const isDone = data.status === 'completed';
    const why = isDone ? activity.undone : `${activity.undoFailed}: ${visible(said(data.error ?? ''))}`;
    const mark = statusMark(data.status, this.#color);
    return `${mark} ${this.#titleOf(data)} ${paints(this.#color).dim(`· ${why}`)}`;
  }

  /** A call that began before we listened is known by its tool only. */
  #titleOf({ tool_id, tool_name, status }: EventPayload<'tool.result'>): string {
    const params = this.#calls.get(tool_id)?.params ?? this.#ended.get(tool_id) ?? {};
    return callTitle({ toolName: tool_name, params, status }, this.#words.calls);
  }

  #frame(columns: number): ResultFrame {
    return { columns, color: this.#color, words: this.#words };
  }
}
