import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One step of a scripted response, in the order of sending. */
export type WireStep =
  | { readonly text: string }
  /** `args` as text is sent unchanged, in two pieces, even if it is not JSON. */
  | { readonly call: { readonly name: string; readonly args: object | string; readonly id?: string } }
  | { readonly reasoning: string }
  | { readonly wait: number | Promise<unknown> }
  /** The connection breaks here. */
  | { readonly cut: true };

/** The response to a request: a stream, or an error. */
export type WireTurn =
  | readonly WireStep[]
  | {
      readonly status: number;
      readonly message: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

/** A request as received. */
export interface WireRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: {
    readonly model: string;
    readonly stream?: boolean;
    readonly stream_options?: { readonly include_usage?: boolean };
    readonly messages: readonly {
      readonly role: string;
      readonly content?: unknown;
      readonly tool_call_id?: string;
      readonly tool_calls?: readonly {
        readonly id: string;
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    }[];
    readonly tools?: readonly {
      readonly function: { readonly name: string; readonly parameters: unknown };
    }[];
  };
  /** True if the client disconnected before the response was complete. */
  aborted: boolean;
}

export interface OpenAiCompatibleServer {
  readonly url: string;
  readonly requests: readonly WireRequest[];
  /** Appends turns to the script, or sets a function that makes the turn of each request. */
  script(turns: readonly WireTurn[] | ((request: WireRequest) => WireTurn)): void;
  close(): Promise<void>;
}

/**
 * A model server that plays a script over real HTTP: `POST /v1/chat/completions`, streamed as Server-Sent Events like
 * Ollama, vLLM and OpenAI. Each response counts 100 input and 20 output tokens.
 */
export async function openAiCompatibleServer(
  turns: readonly WireTurn[] = [],
): Promise<OpenAiCompatibleServer> {
  const requests: WireRequest[] = [];
  const left: WireTurn[] = [...turns];
  let make: ((request: WireRequest) => WireTurn) | undefined;
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of incoming) text += chunk;
    const request: WireRequest = {
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: JSON.parse(text),
      aborted: false,
    };
    requests.push(request);
    response.on('close', () => {
      request.aborted = !response.writableFinished;
    });
    const turn = make ? make(request) : left.shift();
    if (turn === undefined) return refuse(response, 500, 'The script has ended.');
    if ('status' in turn) return refuse(response, turn.status, turn.message, turn.headers);
    await stream(response, request, turn);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    script(more) {
      if (typeof more === 'function') make = more;
      else left.push(...more);
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message, type: 'error', code: null, param: null } }));
}

async function stream(
  response: ServerResponse,
  { body }: WireRequest,
  steps: readonly WireStep[],
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  const send = (choices: readonly unknown[], more: object = {}) => {
    const chunk = {
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: body.model,
      choices,
      ...more,
    };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  const delta = (value: object) => send([{ index: 0, delta: value, finish_reason: null }]);
  let calls = 0;
  delta({ role: 'assistant', content: '' });
  for (const step of steps) {
    if (response.destroyed) return;
    if ('text' in step) delta({ content: step.text });
    else if ('reasoning' in step) delta({ reasoning_content: step.reasoning });
    else if ('call' in step)
      for (const piece of callPieces(step.call, calls++)) delta({ tool_calls: [piece] });
    else if ('wait' in step) {
      await (typeof step.wait === 'number'
        ? new Promise((resolve) => setTimeout(resolve, step.wait as number))
        : step.wait);
    } else {
      // Flush first, so that the client has seen half a response.
      await new Promise((resolve) => setTimeout(resolve, 20));
      response.destroy();
      return;
    }
  }
  send([{ index: 0, delta: {}, finish_reason: calls > 0 ? 'tool_calls' : 'stop' }]);
  if (body.stream_options?.include_usage === true) {
    send([], { usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } });
  }
  response.end('data: [DONE]\n\n');
}

/** A tool call as it is streamed: first its name, then the arguments in pieces. */
function callPieces(call: { name: string; args: object | string; id?: string }, index: number): object[] {
  const text = typeof call.args === 'string' ? call.args : JSON.stringify(call.args);
  const half = Math.ceil(text.length / 2);
  const id = call.id ?? `call_${index}`;
  return [
    { index, id, type: 'function', function: { name: call.name, arguments: '' } },
    { index, function: { arguments: text.slice(0, half) } },
    { index, function: { arguments: text.slice(half) } },
  ];
}
