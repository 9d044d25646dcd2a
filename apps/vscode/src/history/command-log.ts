import { type CountersignEvent, findTool, makeVisible } from '@countersign/protocol';
import { told } from '../approvals/request-title.ts';
import type { Words } from '../words.ts';
import { callLabel } from './call-label.ts';

interface Known {
  readonly label: string;
  isBegun: boolean;
  /** Whether the last output ended with a line break. */
  isAtLineStart: boolean;
  readonly printed: Record<Stream, Printed>;
}

type Stream = 'stdout' | 'stderr';

/** How much of a stream was already written while the command ran, and its last characters. */
interface Printed {
  length: number;
  last: string;
}

const categories: readonly string[] = ['command', 'shell', 'git'];

/** Writes the live output of commands to the output channel, with a line before and after each command. */
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
        if (!this.#known.has(data.tool_id) && categories.includes(findTool(data.tool_name)?.category ?? ''))
          this.#known.set(data.tool_id, {
            label: callLabel(data.tool_name, data.tool_params),
            isBegun: false,
            isAtLineStart: true,
            printed: { stdout: { length: 0, last: '' }, stderr: { length: 0, last: '' } },
          });
        return;
      case 'tool.progress':
        if (data.output) this.#progress(data.tool_id, data.output);
        return;
      case 'tool.result':
        if (data.undo_id === undefined) this.#end(data);
        return;
      default:
    }
  }

  #progress(toolId: string, { stream, chunk }: { readonly stream: Stream; readonly chunk: string }): void {
    const call = this.#known.get(toolId);
    if (!call) return;
    const printed = call.printed[stream];
    printed.length += chunk.length;
    printed.last = chunk;
    this.#print(call, chunk);
  }

  #print(call: Known, chunk: string): void {
    this.#begin(call);
    // Make control characters visible: output must not imitate the lines that the extension writes.
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
    error,
    exit_code,
    execution_time_ms,
  }: Extract<CountersignEvent, { event: 'tool.result' }>['data']): void {
    const call = this.#known.get(tool_id);
    this.#known.delete(tool_id);
    if (!call || (status !== 'completed' && !call.isBegun)) return;
    this.#begin(call);
    for (const stream of ['stdout', 'stderr'] as const) {
      const whole = ((result ?? {}) as Readonly<Record<string, unknown>>)[stream];
      const rest = typeof whole === 'string' ? restOf(whole, call.printed[stream]) : '';
      if (rest !== '') this.#print(call, rest);
    }
    const { output: words, history } = this.#words;
    const how =
      exit_code !== undefined
        ? words.ended(exit_code)
        : [history.status[status], ...(error ? [makeVisible(told(error, this.#words))] : [])].join(': ');
    const time =
      execution_time_ms === null ? '' : ` · ${words.seconds((execution_time_ms / 1000).toFixed(1))}`;
    this.#write(`${call.isAtLineStart ? '' : '\n'}[${how}${time}]\n`);
  }
}

/** The part of the result's output that was not streamed: progress events may skip chunks and never carry the end. */
function restOf(whole: string, { length, last }: Printed): string {
  if (whole.slice(0, length).endsWith(last)) return whole.slice(length);
  const at = whole.lastIndexOf(last);
  return at === -1 ? '' : whole.slice(at + last.length);
}
