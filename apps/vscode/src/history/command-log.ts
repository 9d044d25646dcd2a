import { type CountersignEvent, findTool, makeVisible } from '@countersign/protocol';
import type { Words } from '../words/words.ts';
import { callLabel } from './call-label.ts';

interface Known {
  readonly label: string;
  isBegun: boolean;
  /** Whether what was printed last ended its line. */
  isAtLineStart: boolean;
}

const categories: readonly string[] = ['command', 'shell', 'git'];

/** Writes down what commands print, as they print it, with a line before and after each. */
export class CommandLog {
  readonly #write: (text: string) => void;
  readonly #words: Words;
  readonly #known = new Map<string, Known>();

  constructor(words: Words, write: (text: string) => void) {
    this.#words = words;
    this.#write = write;
  }

  receive({ event, data }: CountersignEvent): void {
    switch (event) {
      case 'tool.call':
        if (categories.includes(findTool(data.tool_name)?.category ?? ''))
          this.#known.set(data.tool_id, {
            label: callLabel(data.tool_name, data.tool_params),
            isBegun: false,
            isAtLineStart: true,
          });
        return;
      case 'tool.progress':
        if (data.output) this.#print(data.tool_id, data.output.chunk);
        return;
      case 'tool.result':
        if (data.undo_id === undefined) this.#end(data);
        return;
      default:
    }
  }

  #print(toolId: string, chunk: string): void {
    const call = this.#known.get(toolId);
    if (!call) return;
    this.#begin(call);
    // Colours and the like are not for a channel of plain text, nor may they forge a line of ours.
    this.#write(chunk.split('\n').map(makeVisible).join('\n'));
    call.isAtLineStart = chunk.endsWith('\n');
  }

  #begin(call: Known): void {
    if (call.isBegun) return;
    call.isBegun = true;
    this.#write(`\n> ${makeVisible(call.label)}\n`);
  }

  #end({
    tool_id,
    status,
    result,
    execution_time_ms,
  }: Extract<CountersignEvent, { event: 'tool.result' }>['data']): void {
    const call = this.#known.get(tool_id);
    this.#known.delete(tool_id);
    if (!call || (status !== 'completed' && !call.isBegun)) return;
    this.#begin(call);
    const { exit_code } = (result ?? {}) as { exit_code?: unknown };
    const seconds = ((execution_time_ms ?? 0) / 1000).toFixed(1);
    const { output } = this.#words;
    const how = typeof exit_code === 'number' ? output.ended(exit_code, seconds) : output.status(status);
    this.#write(`${call.isAtLineStart ? '' : '\n'}[${how}]\n`);
  }
}
