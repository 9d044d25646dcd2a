import type { CountersignEvent } from '@countersign/protocol';
import { callWords, statusMark } from './call-line.ts';
import { visible } from './screen/paragraph.ts';
import { fit } from './screen/text-width.ts';
import { paints } from './terminal.ts';
import type { Words } from './words.ts';

interface RunningCall {
  readonly call: string;
  percent: number | null;
  message: string | null;
}

/** Makes one line for each tool call that ends: what it was and how long it took. */
export class ActivityLines {
  readonly #words: Words;
  readonly #color: boolean;
  readonly #calls = new Map<string, RunningCall>();
  ended = 0;

  constructor(words: Words, color: boolean) {
    this.#words = words;
    this.#color = color;
  }

  /** Running calls with their progress: `40% · read_file a.log · 4 of 10 MB read`. */
  get running(): readonly string[] {
    return [...this.#calls.values()].map(({ call, percent, message }) =>
      [
        ...(percent === null ? [] : [`${Math.round(percent)}%`]),
        call,
        ...(message === null ? [] : [visible(this.#words.said(message))]),
      ].join(' · '),
    );
  }

  receive({ event, data }: CountersignEvent, columns: number): string[] {
    const { activity, said } = this.#words;
    const paint = paints(this.#color);
    switch (event) {
      case 'tool.call':
      case 'tool.approval_request': // including those that waited before we connected
        if (data.omitted?.includes('tool_params') && this.#calls.has(data.tool_id)) return [];
        this.#calls.set(data.tool_id, {
          call: callWords(data.tool_name, data.tool_params),
          percent: null,
          message: null,
        });
        return [];
      case 'tool.progress': {
        const known = this.#calls.get(data.tool_id);
        if (known) {
          known.percent = data.progress ?? known.percent;
          known.message = data.message ?? known.message;
        }
        return [];
      }
      case 'tool.result': {
        const call = this.#calls.get(data.tool_id)?.call ?? visible(data.tool_name);
        if (data.undo_id !== undefined) {
          const isDone = data.status === 'completed';
          const why = isDone
            ? activity.undone
            : `${activity.undoFailed}: ${visible(said(data.error?.message ?? ''))}`;
          return [`${statusMark(data.status, this.#color)} ${call} ${paint.dim(`· ${why}`)}`];
        }
        this.#calls.delete(data.tool_id);
        this.ended += 1;
        const facts = [
          activity[data.status],
          ...(data.exit_code ? [activity.exit(data.exit_code)] : []),
          ...(data.late ? [activity.late] : []),
          ...(data.execution_time_ms === null ? [] : [activity.took(data.execution_time_ms)]),
        ].join(' · ');
        const mark = statusMark(data.status, this.#color, data.exit_code);
        const line = `${mark} ${fit(call, Math.max(columns - facts.length - 6, 20))} ${paint.dim(`· ${facts}`)}`;
        const isPersons = data.status === 'rejected' || data.status === 'timeout';
        return data.error === null || isPersons
          ? [line]
          : [line, `  ${paint.dim(visible(said(data.error.message)))}`];
      }
      case 'runner.changed':
        return [paint.dim(activity.runner(data.state, visible(data.workspace)))];
      default:
        return [];
    }
  }
}
