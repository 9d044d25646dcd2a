import {
  type CountersignEvent,
  type QueuedMessage,
  type SessionMode,
  sessionModes,
  visibleLine,
} from '@countersign/protocol';
import { ActivityLines } from '../activity-line.ts';
import { cardDeps, TerminalApprovals } from '../approvals/terminal-approvals.ts';
import { lacksResult, withWholeResult } from '../call-results.ts';
import type { Key } from '../screen/keys.ts';
import { LineEditor } from '../screen/line-editor.ts';
import { layOut, type Paragraph } from '../screen/paragraph.ts';
import { Stage } from '../screen/stage.ts';
import { streamWords } from '../sign-in/stream-words.ts';
import type { Screen } from '../terminal.ts';
import { chatLines } from './chat-lines.ts';
import { type ChatPlace, exitCodeOf } from './chat-once.ts';
import { Conversation } from './conversation.ts';
import { commandNames, readCommand } from './conversation-commands.ts';
import { MarkdownStream } from './markdown-lines.ts';
import type { AgentState, RunFollower } from './run-follower.ts';
import { SessionTitles } from './session-titles.ts';
import { commandList, TypedCommands } from './typed-commands.ts';

export interface TerminalChat extends ChatPlace {
  readonly screen: Screen;
  /** Sends this message and ends. If empty, the person types until they leave. */
  readonly message: string;
}

/** A conversation on a terminal screen: streams the reply, prints calls as they end, shows approval cards. */
export class ChatInTerminal {
  readonly #chat: TerminalChat;
  readonly #stage: Stage;
  readonly #cards: TerminalApprovals;
  readonly #conversation: Conversation;
  readonly #activity: ActivityLines;
  readonly #titles: SessionTitles;
  readonly #commands: TypedCommands;
  readonly #editor = new LineEditor();
  readonly #reply = new MarkdownStream();
  /** Resolves when the calls that have ended are printed. */
  #printing: Promise<void> = Promise.resolve();
  /** How many prints wait for a result that is being fetched. */
  #fetching = 0;
  readonly #sent: string[] = [];
  /** Index in `#sent` of the line that the person recalled; `#sent.length` if they recalled none. */
  #recalled = 0;
  #run: { readonly id: string; readonly follower: RunFollower } | undefined;
  #state: AgentState = 'thinking';
  /** Messages that wait for the agent's next step. */
  #queued: readonly QueuedMessage[] = [];
  /** Ids of messages that have been in the queue and are to be printed once the agent takes them. */
  readonly #everQueued = new Set<string>();
  /** Ids of messages that are printed already, although they wait in the queue. */
  readonly #printed = new Set<string>();
  #mode: SessionMode = 'ask';
  #isStopping = false;
  /** True while cards of other conversations are shown too. */
  #isDeciding = false;
  #trouble: string | undefined;
  #exitCode = 0;
  /** True if the person left while a run was being stopped. */
  #isForced = false;
  readonly #left = Promise.withResolvers<void>();

  constructor(chat: TerminalChat) {
    this.#chat = chat;
    const { access, project, words, terminal, screen, env } = chat;
    const { color } = terminal;
    this.#activity = new ActivityLines(words, color);
    this.#stage = new Stage({
      screen,
      env,
      lines: (columns, rows) => this.#lines(columns, rows),
      onKey: (key) => this.#press(key),
    });
    this.#titles = new SessionTitles(access.client, project.project_id, () => this.#stage.draw());
    this.#cards = new TerminalApprovals({
      ...cardDeps(access, this.#stage),
      words,
      color,
      isShown: ({ project_id }) => project_id === project.project_id,
      conversation: {
        isOwn: ({ session_id }) => session_id === this.#conversation.sessionId,
        showsOthers: () => this.#isDeciding,
        titleOf: ({ session_id }) => this.#titles.of(session_id),
        onApproved: (toolId, decided) => this.#activity.noteDecision(toolId, decided),
      },
    });
    this.#commands = new TypedCommands({
      client: access.client,
      projectId: project.project_id,
      words,
      sessionId: () => this.#conversation.chooseSession(),
      begin: (work) => this.#try(work),
      say: (text) => this.#print(text),
      send: (content) => void this.#send(content),
      leave: () => this.#left.resolve(),
    });
    this.#conversation = new Conversation({
      ...chat,
      onEvent: (event) => this.#receive(event),
      onState: (state) => {
        this.#trouble =
          state.status === 'connecting' ? this.#trouble : streamWords(state, access.address, words);
        if (state.status === 'closed' && state.why !== 'stopped') this.#left.resolve();
        this.#stage.draw();
      },
    });
  }

  /** Returns the exit code. */
  async run(): Promise<number> {
    const { message } = this.#chat;
    if (message.trim() !== '') void this.#send(message);
    void this.#readMode();
    this.#stage.draw();
    await this.#left.promise;
    this.#cards.dispose();
    this.#stage.close();
    this.#conversation.close();
    const closed = await this.#conversation.closed;
    if (closed.why !== 'stopped') throw closed.error;
    // Leaving a conversation is a success, whatever happened to its last run.
    return message.trim() === '' && !this.#isForced ? 0 : this.#exitCode;
  }

  #receive(event: CountersignEvent): void {
    this.#cards.receive(event);
    this.#noteConversation(event);
    if ('session_id' in event.data && event.data.session_id === this.#conversation.sessionId) {
      this.#showActivity(event);
    }
    if ((this.#isRunning ? this.#cards.otherCount : this.#cards.count) === 0) this.#isDeciding = false;
    this.#stage.draw();
  }

  #showActivity(event: CountersignEvent): void {
    const { access, screen } = this.#chat;
    const show = (one: CountersignEvent) => this.#stage.print(this.#activity.receive(one, screen.columns));
    if (lacksResult(event)) this.#inOrder(async () => show(await withWholeResult(access.client, event)));
    else this.#inOrder(() => show(event));
  }

  /** Prints at once, or after a large result that is being fetched, so that all is in order. */
  #inOrder(print: () => void | Promise<void>): void {
    const isFree = this.#fetching === 0;
    const printed = isFree ? print() : this.#printing.then(print);
    if (!printed) return;
    this.#fetching += 1;
    this.#printing = printed.finally(() => {
      this.#fetching -= 1;
      this.#stage.draw();
    });
  }

  /** Keeps the queue and the mode of this conversation as the server has them. */
  #noteConversation({ event, data }: CountersignEvent): void {
    const { sessionId } = this.#conversation;
    if (event === 'queue.changed' && data.session_id === sessionId) {
      this.#queued = data.queued;
      for (const { message_id } of data.queued) this.#everQueued.add(message_id);
    }
    if (event === 'session.changed' && data.session.session_id === sessionId) this.#mode = data.session.mode;
    // What the agent takes from the queue becomes part of the conversation here.
    if (event === 'message.created' && data.role === 'user' && this.#everQueued.delete(data.message_id))
      if (!this.#printed.delete(data.message_id)) this.#printOwn(data.content);
  }

  async #readMode(): Promise<void> {
    const { access, project, sessionId } = this.#chat;
    if (sessionId === undefined) return;
    const params = { project_id: project.project_id };
    const { sessions } = await access.client.listSessions({ params }).catch(() => ({ sessions: [] }));
    this.#mode = sessions.find(({ session_id }) => session_id === sessionId)?.mode ?? this.#mode;
    this.#stage.draw();
  }

  #send(content: string): Promise<void> {
    this.#printOwn(content);
    // The agent may work for another front end. A message of the command line is refused then: its answer must be its own.
    const whenBusy = this.#chat.message.trim() === '' ? 'queue' : 'refuse';
    return this.#follow((listener) =>
      this.#conversation.send(content, listener, whenBusy, ({ queued, message_id }) => {
        if (queued) this.#printed.add(message_id);
      }),
    );
  }

  /** Keeps a message for the agent's next step. If the run has just ended, the message starts another one. */
  #queue(content: string): Promise<void> {
    return this.#follow((listener) =>
      this.#conversation.send(content, listener, 'queue', ({ queued }) => {
        if (!queued) this.#printOwn(content);
      }),
    );
  }

  #printOwn(content: string): void {
    const { words, terminal, screen } = this.#chat;
    const sent: Paragraph = { lead: `${words.chat.prompt}  `, leadStyle: 'cyan', text: content };
    this.#stage.print(['', ...layOut([sent], screen.columns - 1, terminal.color), '']);
  }

  async #follow(
    send: (listener: Parameters<Conversation['send']>[1]) => ReturnType<Conversation['send']>,
  ): Promise<void> {
    const { words, terminal, message } = this.#chat;
    if (!this.#isRunning) {
      this.#state = 'thinking';
      this.#isStopping = false;
    }
    let run: { readonly id: string; readonly follower: RunFollower } | undefined;
    try {
      const { runId, follower } = await send({
        onLines: (lines) =>
          this.#inOrder(() => this.#stage.print(this.#reply.push(lines, this.#width, terminal.color))),
        onMessageEnd: () =>
          this.#inOrder(() => this.#stage.print(this.#reply.end(this.#width, terminal.color))),
        onNotice: (text) => {
          this.#activity.noteTold(text);
          this.#print(words.said(text), 'yellow');
        },
        onState: (state) => {
          this.#state = state;
        },
      });
      if (this.#run?.id === runId) return; // the run's own follower reports the outcome
      run = { id: runId, follower };
      this.#run = run;
      this.#stage.draw();
      const ended = await follower.ended;
      await this.#printing;
      this.#exitCode = exitCodeOf(ended);
      if (message.trim() === '') await this.#printChanges(runId);
    } catch (error) {
      this.#exitCode = 1;
      this.#print(words.chat.failed(words.said(error as Error)), 'red');
    }
    if (this.#run === run) this.#run = undefined;
    if (message.trim() !== '') this.#left.resolve();
    this.#stage.draw();
  }

  /**
   * Says which files a run changed, over all of its calls. The lines of the calls show this too, so a failure is not
   * reported.
   */
  async #printChanges(run_id: string): Promise<void> {
    const { access, words, terminal } = this.#chat;
    const { files } = await access.client.runChanges({ params: { run_id } }).catch(() => ({ files: [] }));
    if (files.length === 0) return;
    const named = files.map(({ path, added, removed }) => {
      const counts = added === null || removed === null ? '' : ` +${added} −${removed}`;
      return `${visibleLine(path)}${counts}`;
    });
    const text = words.chat.changed(files.length, named.join(' · '));
    this.#stage.print(layOut([{ text, style: 'dim' }], this.#width, terminal.color));
  }

  /** Runs in the background; a failure is printed. */
  #try(work: () => Promise<string | undefined>): void {
    void work()
      .then(
        (told) => told !== undefined && this.#print(told),
        (error: Error) => this.#print(this.#chat.words.said(error), 'red'),
      )
      .finally(() => this.#stage.draw());
  }

  #nextMode(): void {
    const next = sessionModes[(sessionModes.indexOf(this.#mode) + 1) % sessionModes.length] ?? 'ask';
    this.#try(async () => {
      const session_id = await this.#conversation.chooseSession();
      await this.#chat.access.client.changeSession({ params: { session_id }, body: { mode: next } });
      this.#mode = next;
      const { name, means } = this.#chat.words.modes[next];
      return this.#chat.words.commands.modeIs(name, means);
    });
  }

  #print(text: string, style?: 'yellow' | 'red'): void {
    const { terminal, screen } = this.#chat;
    this.#stage.print(layOut([{ text, style }], screen.columns - 1, terminal.color));
  }

  get #width(): number {
    return this.#chat.screen.columns - 1;
  }

  get #isRunning(): boolean {
    return this.#run !== undefined;
  }

  #press(key: Key): void {
    if (key.name === 'ctrl-o') {
      const { words, screen } = this.#chat;
      this.#stage.print(this.#activity.latestResult(screen.columns) ?? [words.chat.noResult]);
      return;
    }
    if (this.#commands.question) this.#commands.answer(key);
    else if (key.name === 'shift-tab') this.#nextMode();
    else if (this.#isOnCard && this.#cards.press(key)) return;
    else if (this.#isRunning) this.#pressWhileRunning(key);
    else this.#type(key);
    this.#stage.draw();
  }

  /** While the person types, keys go to the line. They decide about a card only if the line is empty (UI-6). */
  get #isOnCard(): boolean {
    return (this.#isRunning || this.#isDeciding) && this.#editor.text === '';
  }

  #pressWhileRunning(key: Key): void {
    switch (key.name) {
      case 'tab':
        this.#isDeciding = this.#cards.otherCount > 0;
        return;
      case 'ctrl-c':
        if (this.#editor.text !== '') this.#editor.set('');
        else this.#stop();
        return;
      case 'escape':
        this.#editor.set('');
        return;
      case 'enter':
        this.#queueTyped();
        return;
      case 'up':
        this.#takeBack();
        return;
      default:
        this.#editor.press(key);
    }
  }

  /**
   * Queues the typed text, or runs it if it is a command. With an empty line, sends the first queued message as soon as the
   * running calls have ended.
   */
  #queueTyped(): void {
    const text = this.#editor.text.trim();
    const [waiting] = this.#queued;
    this.#editor.set('');
    if (text !== '') {
      this.#recalled = this.#sent.push(text);
      const command = readCommand(text, commandNames);
      if (command) this.#try(() => this.#commands.run(command));
      else void this.#queue(text);
    } else if (waiting) {
      this.#try(async () => {
        const { access, project } = this.#chat;
        const { message_id } = waiting;
        await access.client.sendQueuedMessage({ params: { project_id: project.project_id, message_id } });
        return undefined;
      });
    }
  }

  /** Takes the last queued message back into the line, to change it. */
  #takeBack(): void {
    const last = this.#queued.at(-1);
    if (!last || this.#editor.text !== '') return;
    this.#try(async () => {
      const content = await this.#conversation.unqueue(last.message_id);
      const typed = this.#editor.text; // typed while the request was under way
      this.#editor.set([content, typed].filter((part) => part !== '').join(' '));
      return undefined;
    });
  }

  #stop(): void {
    if (this.#isDeciding) {
      this.#isDeciding = false;
      return;
    }
    if (this.#isStopping) {
      this.#exitCode = 130;
      this.#isForced = true;
      this.#left.resolve();
      return;
    }
    this.#isStopping = true;
    const id = this.#run?.id ?? '';
    this.#conversation.stop(id).catch((error: Error) => {
      this.#isStopping = false;
      this.#print(this.#chat.words.said(error), 'red');
    });
  }

  #type(key: Key): void {
    const editor = this.#editor;
    switch (key.name) {
      case 'ctrl-c':
        if (this.#isDeciding) this.#isDeciding = false;
        else if (editor.text === '') this.#left.resolve();
        else editor.set('');
        return;
      case 'ctrl-d':
        if (editor.text === '') this.#left.resolve();
        return;
      case 'tab':
        this.#isDeciding = this.#cards.count > 0;
        return;
      case 'up':
      case 'down': {
        const to = this.#recalled + (key.name === 'up' ? -1 : 1);
        this.#recalled = Math.min(Math.max(to, 0), this.#sent.length);
        editor.set(this.#sent[this.#recalled] ?? '');
        return;
      }
      case 'enter': {
        const text = editor.text.trim();
        editor.set('');
        this.#enter(text);
        return;
      }
      default:
        editor.press(key);
    }
  }

  /** Sends what was typed, runs a command, or gives the agent what a stopped run has left in the queue. */
  #enter(text: string): void {
    const { words, terminal } = this.#chat;
    const [waiting] = this.#queued;
    if (text === '') {
      if (waiting)
        void this.#follow((listener) => this.#conversation.sendQueued(waiting.message_id, listener));
      return;
    }
    this.#recalled = this.#sent.push(text);
    const command = readCommand(text, commandNames);
    if (text === '/') this.#stage.print(commandList(words, this.#width, terminal.color));
    else if (command) this.#try(() => this.#commands.run(command));
    else void this.#send(text);
  }

  #lines(columns: number, rows: number): string[] {
    const { words, terminal } = this.#chat;
    const width = columns - 1;
    return chatLines({
      words,
      color: terminal.color,
      columns,
      rows,
      editor: this.#editor,
      queued: this.#queued,
      mode: this.#mode,
      trouble: this.#trouble,
      question: this.#commands.question,
      run: this.#isRunning ? { state: this.#state, isStopping: this.#isStopping } : undefined,
      isDeciding: this.#isDeciding,
      cards: this.#cards,
      tail: () => this.#reply.tail(this.#run?.follower.tail ?? '', width, terminal.color),
      activity: this.#activity,
    });
  }
}
