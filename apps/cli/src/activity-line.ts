import type { CountersignEvent } from '@countersign/protocol';
import { callWords, statusMark } from './call-line.ts';
import { visible } from './screen/paragraph.ts';
import { fit } from './screen/text-width.ts';
import { paints } from './terminal.ts';
import type { Words } from './words.ts';

/** Tells in lines what happens to tool calls: one when a call ends, with what it was and how long it took. */
export class ActivityLines {
  readonly #words: Words;
  readonly #color: boolean;
  readonly #calls = new Map<string, string>();
  ended = 0;

  constructor(words: Words, color: boolean) {
    this.#words = words;
    this.#color = color;
  }

  /** What is under way, in words. */
  get running(): readonly string[] {
    return [...this.#calls.values()];
  }

  receive({ event, data }: CountersignEvent, columns: number): string[] {
    const { activity, said } = this.#words;
    const paint = paints(this.#color);
    switch (event) {
      case 'tool.call':
      case 'tool.approval_request': // also those that waited before we looked
        if (data.omitted?.includes('tool_params') && this.#calls.has(data.tool_id)) return [];
        this.#calls.set(data.tool_id, callWords(data.tool_name, data.tool_params));
        return [];
      case 'tool.result': {
        const call = this.#calls.get(data.tool_id) ?? visible(data.tool_name);
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
          ...(data.late ? [activity.late] : []),
          ...(data.execution_time_ms === null ? [] : [activity.took(data.execution_time_ms)]),
        ].join(' · ');
        const line = `${statusMark(data.status, this.#color)} ${fit(call, Math.max(columns - facts.length - 6, 20))} ${paint.dim(`· ${facts}`)}`;
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
