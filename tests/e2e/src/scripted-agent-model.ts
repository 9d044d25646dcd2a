import {
  type AgentInputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  Usage,
} from '@openai/agents';

/** One turn of the model: a tool call or its last message. It may read the result of the last call. */
export type AgentTurn = (
  last: string,
) => { readonly call: string; readonly args: object } | { readonly say: string };

/** A model for the OpenAI Agents SDK that plays a script, without a network. */
export class ScriptedAgentModel implements Model {
  /** The result of each tool call, as the model saw it. */
  readonly seen: string[] = [];
  /** The names of the tools in the first request. */
  offered: readonly string[] = [];
  readonly #turns: AgentTurn[];

  constructor(turns: readonly AgentTurn[]) {
    this.#turns = [...turns];
  }

  async getResponse({ input, tools }: ModelRequest): Promise<ModelResponse> {
    if (this.offered.length === 0) this.offered = tools.map((tool) => tool.name);
    const last = lastResult(input);
    if (last !== undefined) this.seen.push(last);
    const turn = this.#turns.shift()?.(last ?? '') ?? { say: 'The script is over.' };
    const callId = `call_${this.#turns.length}`;
    return {
      usage: new Usage(),
      output: [
        'call' in turn
          ? {
              type: 'function_call',
              callId,
              name: turn.call,
              arguments: JSON.stringify(turn.args),
              status: 'completed',
            }
          : {
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: turn.say }],
            },
      ],
    };
  }

  // biome-ignore lint/correctness/useYield: these tests do not stream
  async *getStreamedResponse(): AsyncGenerator<never> {
    throw new Error('Not streamed');
  }
}

/** The text of the last result, also where the SDK wraps it. */
function lastResult(input: string | AgentInputItem[]): string | undefined {
  const last = typeof input === 'string' ? undefined : input.at(-1);
  if (last?.type !== 'function_call_result') return undefined;
  const text = [last.output]
    .flat()
    .map((part) => (typeof part === 'string' ? part : 'text' in part ? part.text : ''))
    .join('');
  return text.startsWith('{"type":"text"') ? (JSON.parse(text) as { text: string }).text : text;
}

/** The call that a result is about. */
export const callIdIn = (text: string): string => /call_id: (\S+)/.exec(text)?.[1] ?? '';
