import { Observable } from '@countersign/approvals';
import { type CallResponse, type Client, MessageText } from '@countersign/client';
import type { CountersignEvent, Execution, Message } from '@countersign/protocol';
import {
  type Conversation,
  emptyConversation,
  withEvent,
  withHistory,
  withMessage,
  withRun,
  withText,
} from './conversation.ts';

export interface Place {
  readonly projectId: string;
  readonly sessionId: string;
}

type Run = CallResponse<'getRun'>['run'];

/** Pages of the history that are read for the states of a conversation's calls. */
const maxHistoryPages = 5;

/** The conversations this page has opened, each read once and then kept by events. */
export class Conversations {
  readonly all = new Observable<ReadonlyMap<string, Conversation>>(new Map());
  readonly #client: Client;
  readonly #places = new Map<string, Place>();
  readonly #texts = new Map<string, MessageText>();
  readonly #loading = new Map<string, Promise<void>>();
  /** Events that came while a conversation was being read: they are newer, so they are applied afterwards. */
  readonly #meanwhile = new Map<string, CountersignEvent[]>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Reads a conversation, unless it is known already. */
  open(place: Place): Promise<void> {
    if (this.#places.has(place.sessionId)) return Promise.resolve();
    this.#places.set(place.sessionId, place);
    this.#change(place.sessionId, (state) => state);
    return this.#load(place);
  }

  /** Reads a conversation again, after it could not be read. */
  reload(place: Place): Promise<void> {
    this.#change(place.sessionId, (state) => ({ ...state, status: 'loading' }));
    return this.read(place);
  }

  /** Reads a conversation again while the old one stays on the screen. */
  read(place: Place): Promise<void> {
    return this.#load(place);
  }

  /** After missed events: reads every open conversation again. */
  async refresh(): Promise<void> {
    await Promise.all([...this.#places.values()].map((place) => this.#load(place)));
  }

  receive(event: CountersignEvent): void {
    if (!('session_id' in event.data)) return;
    const sessionId = event.data.session_id;
    const place = this.#places.get(sessionId);
    if (!place) return;
    if (event.event === 'message.created') {
      const text = this.#textOf(event.data);
      this.#change(sessionId, (state) => withMessage(state, event.data, text.text));
      if (text.needsRefetch || event.data.omitted?.length) void this.#load(place);
    } else if (event.event === 'message.delta') {
      const { message_id } = event.data;
      const text = this.#texts.get(message_id);
      if (text?.add(event.data)) this.#change(sessionId, (state) => withText(state, message_id, text.text));
      if (!text || text.needsRefetch) void this.#load(place);
    } else if (this.#loading.has(sessionId)) this.#meanwhile.get(sessionId)?.push(event);
    else this.#change(sessionId, (state) => withEvent(state, event));
  }

  #load(place: Place): Promise<void> {
    const running = this.#loading.get(place.sessionId);
    if (running) return running;
    this.#meanwhile.set(place.sessionId, []);
    const load = this.#read(place).finally(() => this.#loaded(place.sessionId));
    this.#loading.set(place.sessionId, load);
    return load;
  }

  #loaded(sessionId: string): void {
    const meanwhile = this.#meanwhile.get(sessionId) ?? [];
    this.#loading.delete(sessionId);
    this.#meanwhile.delete(sessionId);
    this.#change(sessionId, (state) => meanwhile.reduce(withEvent, state));
  }

  async #read(place: Place): Promise<void> {
    const { sessionId } = place;
    try {
      const [messages, executions] = await Promise.all([this.#messages(place), this.#executions(place)]);
      const run = await this.#lastRun(messages);
      this.#change(sessionId, (state) => {
        const read = withHistory(state, messages, executions, (message) => this.#textOf(message).text);
        return run ? withRun(read, run) : read;
      });
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      this.#change(sessionId, (state) =>
        state.status === 'ready' ? state : { ...state, status: 'failed', problem },
      );
    }
  }

  async #messages({ projectId, sessionId }: Place): Promise<readonly Message[]> {
    const messages: Message[] = [];
    let cursor: string | undefined;
    do {
      const query = { session_id: sessionId, limit: 500, ...(cursor !== undefined && { cursor }) };
      const page = await this.#client.listMessages(
        { params: { project_id: projectId }, query },
        { retry: { times: 2 } },
      );
      messages.push(...page.messages);
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    return messages;
  }

  async #executions({ sessionId }: Place): Promise<readonly Execution[]> {
    const executions: Execution[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxHistoryPages; page += 1) {
      const query = { session_id: sessionId, limit: 200, ...(cursor !== undefined && { cursor }) };
      const answer = await this.#client.history({ query }, { retry: { times: 2 } });
      executions.push(...answer.executions);
      if (answer.next_cursor === null) break;
      cursor = answer.next_cursor;
    }
    return executions.reverse();
  }

  /** The newest run: events tell only what happens from now on, and a reset may have hidden its end. */
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
