import { type CallResponse, type Client, MessageText } from '@countersign/client';
import type { CountersignEvent, EventPayload, Message } from '@countersign/protocol';

export type Run = CallResponse<'getRun'>['run'];
export type AgentState = EventPayload<'agent.state'>['state'];

export interface RunFollowerDeps {
  readonly client: Pick<Client, 'getRun' | 'listMessages'>;
  readonly projectId: string;
  readonly sessionId: string;
  readonly runId: string;
  /** Called with complete lines of the reply, each once and in order. */
  onLines(lines: readonly string[]): void;
  /** Called when a message of the reply is complete and its lines were given. */
  onMessageEnd?(): void;
  /** If set, called with pieces of the reply as they arrive, instead of `onLines`. */
  onText?(piece: string): void;
  /** Called with notices of the run, such as why it ended. */
  onNotice(text: string): void;
  onState(state: AgentState): void;
}

interface Streamed {
  readonly text: MessageText;
  /** The part of the text that listeners have got. */
  delivered: string;
  isEnded: boolean;
}

/** Follows one run of the agent by its events until it ends. Lost connections do no harm. */
export class RunFollower {
  /** Resolves with the run when it has ended. */
  readonly ended: Promise<Run>;
  readonly #deps: RunFollowerDeps;
  readonly #messages = new Map<string, Streamed>();
  readonly #end = Promise.withResolvers<Run>();

  constructor(deps: RunFollowerDeps) {
    this.#deps = deps;
    this.ended = this.#end.promise;
    this.ended.catch(() => {}); // callers that await it get the error
  }

  get runId(): string {
    return this.#deps.runId;
  }

  /** The line that is being written. */
  get tail(): string {
    const last = [...this.#messages.values()].at(-1);
    return last ? last.text.text.slice(last.delivered.length) : '';
  }

  receive({ event, data }: CountersignEvent): void {
    const { runId, sessionId, onState } = this.#deps;
    switch (event) {
      case 'message.created':
        if (data.run_id === runId) this.#receiveMessage(data);
        return;
      case 'message.delta': {
        const streamed = this.#messages.get(data.message_id);
        if (!streamed) return;
        streamed.text.add(data);
        if (streamed.text.needsRefetch) void this.#catchUp();
        else this.#deliver(streamed);
        return;
      }
      case 'agent.state':
        if (data.run_id !== runId || data.session_id !== sessionId) return;
        if (data.state === 'idle') void this.#finish();
        else onState(data.state);
        return;
      case 'stream.reset':
        void this.#finish();
    }
  }

  #receiveMessage(message: Message): void {
    if (message.role === 'system') this.#deps.onNotice(message.content);
    if (message.role !== 'assistant') return;
    const known = this.#messages.get(message.message_id);
    const streamed = known ?? { text: new MessageText(message), delivered: '', isEnded: false };
    if (known) known.text.replace(message);
    else this.#messages.set(message.message_id, streamed);
    if (streamed.text.needsRefetch) void this.#catchUp();
    else this.#deliver(streamed);
  }

  /** Passes on new text. If the model started its message over, marks that with an ellipsis and starts over too. */
  #deliver(streamed: Streamed): void {
    const { text, complete } = streamed.text;
    const { onLines, onText } = this.#deps;
    if (!text.startsWith(streamed.delivered)) {
      if (onText) onText('\n…\n');
      else onLines(['…']);
      streamed.delivered = '';
    }
    const end = complete || onText ? text.length : text.lastIndexOf('\n') + 1;
    const fresh = text.slice(streamed.delivered.length, end);
    if (fresh !== '') {
      streamed.delivered = text.slice(0, end);
      if (onText) onText(fresh);
      else onLines((fresh.endsWith('\n') ? fresh.slice(0, -1) : fresh).split('\n'));
    }
    if (complete && !streamed.isEnded) this.#deps.onMessageEnd?.();
    streamed.isEnded = complete;
  }

  /** Reads the run's messages again, after an interrupted stream or a message too large for an event. */
  async #catchUp(): Promise<void> {
    const { client, projectId, sessionId, runId } = this.#deps;
    try {
      for await (const message of storedMessages(client, projectId, sessionId))
        if (message.run_id === runId) this.#receiveMessage(message);
    } catch (error) {
      this.#end.reject(error);
    }
  }

  /** Ends if the server says that the run has ended; after a reset it may still be running. */
  async #finish(): Promise<void> {
    const { client, runId } = this.#deps;
    try {
      const { run } = await client.getRun({ params: { run_id: runId } }, { retry: { times: 3 } });
      if (run.status === 'running') return;
      if ([...this.#messages.values()].some(({ text }) => !text.complete) || this.#messages.size === 0) {
        await this.#catchUp();
      }
      this.#end.resolve(run);
    } catch (error) {
      this.#end.reject(error);
    }
  }
}

/** All messages of a conversation, oldest first, read page by page. */
export async function* storedMessages(
  client: Pick<Client, 'listMessages'>,
  project_id: string,
  session_id: string,
): AsyncGenerator<Message> {
  for (let cursor: string | undefined; ; ) {
    const query = { session_id, limit: 500, ...(cursor !== undefined && { cursor }) };
    const page = await client.listMessages({ params: { project_id }, query });
    yield* page.messages;
    if (page.next_cursor === null) return;
    cursor = page.next_cursor;
  }
}
