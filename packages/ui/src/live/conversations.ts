import { Observable } from '@countersign/approvals';
import { type CallResponse, type Client, MessageText } from '@countersign/client';
import { type CountersignEvent, type Execution, type Message, messageOf } from '@countersign/protocol';
import {
  type Conversation,
  emptyConversation,
  withEvent,
  withHistory,
  withMessage,
  withRun,
  withText,
} from './conversation.ts';

export interface SessionRef {
  readonly projectId: string;
  readonly sessionId: string;
}

type Run = CallResponse<'getRun'>['run'];
type ReadMessages = Pick<CallResponse<'listMessages'>, 'messages' | 'queued'>;

/** The conversations that this page has opened. Each is read once, then kept up to date by events. */
export class Conversations {
  readonly all = new Observable<ReadonlyMap<string, Conversation>>(new Map());
  readonly #client: Client;
  readonly #opened = new Map<string, SessionRef>();
  readonly #texts = new Map<string, MessageText>();
  readonly #loading = new Map<string, Promise<void>>();
  /** Events that came while a conversation was being read. They are newer, so they are applied afterwards. */
  readonly #queuedEvents = new Map<string, CountersignEvent[]>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Reads a conversation, unless it is already open. */
  open(session: SessionRef): Promise<void> {
    if (this.#opened.has(session.sessionId)) return Promise.resolve();
    this.#opened.set(session.sessionId, session);
    this.#change(session.sessionId, (state) => state);
    return this.read(session);
  }

  /** Reads a conversation again, after it could not be read. */
  reload(session: SessionRef): Promise<void> {
    this.#change(session.sessionId, (state) => ({ ...state, status: 'loading' }));
    return this.read(session);
  }

  /** Reads a conversation again, while its old state stays on the screen. Joins a read that is under way. */
  read(session: SessionRef): Promise<void> {
    const running = this.#loading.get(session.sessionId);
    if (running) return running;
    this.#queuedEvents.set(session.sessionId, []);
    const load = this.#fetch(session).finally(() => this.#loaded(session.sessionId));
    this.#loading.set(session.sessionId, load);
    return load;
  }

  /** Reads every open conversation again, after events were missed. */
  async refresh(): Promise<void> {
    await Promise.all([...this.#opened.values()].map((session) => this.read(session)));
  }

  receive(event: CountersignEvent): void {
    if (!('session_id' in event.data)) return;
    const sessionId = event.data.session_id;
    const session = this.#opened.get(sessionId);
    if (!session) return;
    if (event.event === 'message.created') {
      const text = this.#textOf(event.data);
      this.#change(sessionId, (state) => withMessage(state, event.data, text.text));
      if (event.data.complete && !event.data.omitted?.length) this.#queuedEvents.get(sessionId)?.push(event);
      if (text.needsRefetch || event.data.omitted?.length) void this.read(session);
    } else if (event.event === 'message.delta') {
      const { message_id } = event.data;
      const text = this.#texts.get(message_id);
      if (text?.add(event.data)) this.#change(sessionId, (state) => withText(state, message_id, text.text));
      if (!text || text.needsRefetch) void this.read(session);
    } else if (event.event === 'queue.changed' && event.data.queued.some(({ omitted }) => omitted)) {
      void this.read(session); // the messages were too large for an event
    } else if (this.#loading.has(sessionId)) this.#queuedEvents.get(sessionId)?.push(event);
    else this.#change(sessionId, (state) => withEvent(state, event));
  }

  #loaded(sessionId: string): void {
    const queued = this.#queuedEvents.get(sessionId) ?? [];
    this.#loading.delete(sessionId);
    this.#queuedEvents.delete(sessionId);
    this.#change(sessionId, (state) => queued.reduce((now, event) => this.#withQueued(now, event), state));
  }

  /**
   * Applies a queued event. What was read may have an older version of its message, without the end of the text and its
   * calls.
   */
  #withQueued(state: Conversation, event: CountersignEvent): Conversation {
    if (event.event !== 'message.created') return withEvent(state, event);
    return withMessage(state, event.data, this.#textOf(event.data).text);
  }

  async #fetch(session: SessionRef): Promise<void> {
    const { sessionId } = session;
    try {
      const [{ messages, queued }, executions] = await Promise.all([
        this.readMessages(session),
        this.#executions({ session_id: sessionId }),
      ]);
      for (const run_id of runsWithout(executions, messages))
        executions.push(...(await this.#executions({ run_id })));
      const run = await this.#lastRun(messages);
      this.#change(sessionId, (state) => {
        const read = withHistory(state, messages, executions, (message) => this.#textOf(message).text);
        return { ...(run ? withRun(read, run) : read), queued };
      });
    } catch (error) {
      const problem = messageOf(error);
      this.#change(sessionId, (state) =>
        state.status === 'ready' ? state : { ...state, status: 'failed', problem },
      );
    }
  }

  /** All messages of a conversation as the server has them. */
  async readMessages({ projectId, sessionId }: SessionRef): Promise<ReadMessages> {
    const messages: Message[] = [];
    let queued: ReadMessages['queued'] = [];
    let cursor: string | undefined;
    do {
      const query = { session_id: sessionId, limit: 500, ...(cursor !== undefined && { cursor }) };
      const page = await this.#client.listMessages(
        { params: { project_id: projectId }, query },
        { retry: { times: 2 } },
      );
      messages.push(...page.messages);
      queued = page.queued;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    return { messages, queued };
  }

  /** All calls of a conversation or a run, oldest first. Ends at a page that brings nothing new. */
  async #executions(of: { readonly session_id: string } | { readonly run_id: string }): Promise<Execution[]> {
    const executions = new Map<string, Execution>();
    let cursor: string | undefined;
    for (let known = -1; known < executions.size; ) {
      known = executions.size;
      const query = { ...of, limit: 200, ...(cursor !== undefined && { cursor }) };
      const response = await this.#client.history({ query }, { retry: { times: 2 } });
      for (const execution of response.executions) executions.set(execution.tool_id, execution);
      if (response.next_cursor === null) break;
      cursor = response.next_cursor;
    }
    return [...executions.values()].reverse();
  }

  /** The newest run. Its end may have come before the first event, or have been missed. */
  async #lastRun(messages: readonly Message[]): Promise<Run | undefined> {
    const run_id = messages.at(-1)?.run_id ?? null;
    if (run_id === null) return undefined;
    try {
      return (await this.#client.getRun({ params: { run_id } })).run;
    } catch {
      return undefined; // the conversation can be read without it
    }
  }

  #textOf(message: Message): MessageText {
    const known = this.#texts.get(message.message_id);
    known?.replace(message);
    const text = known ?? new MessageText(message);
    this.#texts.set(message.message_id, text);
    return text;
  }

  #change(sessionId: string, change: (state: Conversation) => Conversation): void {
    const all = this.all.get();
    const known = all.get(sessionId);
    const next = change(known ?? emptyConversation);
    if (next !== known) this.all.set(new Map(all).set(sessionId, next));
  }
}

/** The runs of calls that are not among these: a branch has copies of messages, whose calls stay where they were made. */
function runsWithout(executions: readonly Execution[], messages: readonly Message[]): ReadonlySet<string> {
  const known = new Set(executions.map(({ tool_id }) => tool_id));
  const isMissing = ({ tool_calls = [] }: Message) =>
    tool_calls.some(({ tool_id }) => tool_id !== null && !known.has(tool_id));
  return new Set(messages.filter(isMissing).flatMap(({ run_id }) => run_id ?? []));
}
