import { type CallResponse, type Client, MessageText } from '@countersign/client';
import type { CountersignEvent, EventPayload, Message } from '@countersign/protocol';

export type Run = CallResponse<'getRun'>['run'];
export type AgentState = EventPayload<'agent.state'>['state'];

export interface RunFollowerDeps {
  readonly client: Pick<Client, 'getRun' | 'listMessages'>;
  readonly projectId: string;
  readonly sessionId: string;
  readonly runId: string;
  /** Complete lines of the answer, each once and in order. */
  onLines(lines: readonly string[]): void;
  /** Pieces of the answer as they arrive, instead of complete lines. */
  onText?(piece: string): void;
  /** Notices of the run, such as why it ended. */
  onNotice(text: string): void;
  onState(state: AgentState): void;
}

interface Streamed {
  readonly text: MessageText;
  /** The part that was already passed on. */
  told: string;
}

/** Follows one run of the agent through the events, over lost connections, to its end. */
export class RunFollower {
  /** Resolves with the run when it has ended. */
  readonly ended: Promise<Run>;
  readonly #deps: RunFollowerDeps;
  readonly #messages = new Map<string, Streamed>();
  #end: (run: Run) => void = () => {};
  #fail: (error: unknown) => void = () => {};

  constructor(deps: RunFollowerDeps) {
    this.#deps = deps;
    this.ended = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
    this.ended.catch(() => {}); // callers that await it get the error
  }

  /** The line that is being written. */
  get tail(): string {
    const last = [...this.#messages.values()].at(-1);
    return last ? last.text.text.slice(last.told.length) : '';
  }

  receive({ event, data }: CountersignEvent): void {
    const { runId, sessionId, onState } = this.#deps;
    switch (event) {
      case 'message.created':
        if (data.run_id === runId) this.#take(data);
        return;
      case 'message.delta': {
        const streamed = this.#messages.get(data.message_id);
        if (!streamed) return;
        streamed.text.add(data);
        if (streamed.text.needsRefetch) void this.#catchUp();
        else this.#tell(streamed);
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

  #take(message: Message): void {
    if (message.role === 'system') this.#deps.onNotice(message.content);
    if (message.role !== 'assistant') return;
    const known = this.#messages.get(message.message_id);
    const streamed = known ?? { text: new MessageText(message), told: '' };
    if (known) known.text.replace(message);
    else this.#messages.set(message.message_id, streamed);
    if (streamed.text.needsRefetch) void this.#catchUp();
    else this.#tell(streamed);
  }

  /** If the model started over after its stream was cut, start over too. */
  #tell(streamed: Streamed): void {
    const { text, complete } = streamed.text;
    const { onLines, onText } = this.#deps;
    if (!text.startsWith(streamed.told)) {
      if (onText) onText('\n…\n');
      else onLines(['…']);
      streamed.told = '';
    }
    const end = complete || onText ? text.length : text.lastIndexOf('\n') + 1;
    const fresh = text.slice(streamed.told.length, end);
    if (fresh === '') return;
    streamed.told = text.slice(0, end);
    if (onText) onText(fresh);
    else onLines((fresh.endsWith('\n') ? fresh.slice(0, -1) : fresh).split('\n'));
  }

  /** Reads the run's messages again, after an interrupted stream or a message too large for an event. */
  async #catchUp(): Promise<void> {
    const { client, projectId, sessionId, runId } = this.#deps;
    try {
      for (let cursor: string | undefined; ; ) {
        const query = { session_id: sessionId, limit: 500, ...(cursor !== undefined && { cursor }) };
        const page = await client.listMessages({ params: { project_id: projectId }, query });
        for (const message of page.messages) if (message.run_id === runId) this.#take(message);
        if (page.next_cursor === null) return;
        cursor = page.next_cursor;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Asks the server: after a reset the run may still be going on. */
  async #finish(): Promise<void> {
    const { client, runId } = this.#deps;
    try {
      const { run } = await client.getRun({ params: { run_id: runId } }, { retry: { times: 3 } });
      if (run.status === 'running') return;
      if ([...this.#messages.values()].some(({ text }) => !text.complete) || this.#messages.size === 0) {
        await this.#catchUp();
      }
      this.#end(run);
    } catch (error) {
      this.#fail(error);
    }
  }
}
