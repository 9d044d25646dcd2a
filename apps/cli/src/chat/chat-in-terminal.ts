import { approvalsServer } from '@countersign/approvals';
import { systemClock } from '@countersign/client';
import type { CountersignEvent } from '@countersign/protocol';
import { ActivityLines } from '../activity-line.ts';
import { TerminalApprovals } from '../approvals/terminal-approvals.ts';
import type { Key } from '../screen/keys.ts';
import { LineEditor } from '../screen/line-editor.ts';
import { inputLines, layOut } from '../screen/paragraph.ts';
import { Stage } from '../screen/stage.ts';
import { fit, spread } from '../screen/text-width.ts';
import { streamWords } from '../sign-in/stream-words.ts';
import { paints, type Screen } from '../terminal.ts';
import { type ChatPlace, exitCodeOf } from './chat-once.ts';
import { Conversation } from './conversation.ts';
import type { AgentState, RunFollower } from './run-follower.ts';
import { SessionTitles } from './session-titles.ts';

export interface TerminalChat extends ChatPlace {
  readonly screen: Screen;
  /** Send this message and end. If empty, the person types until they leave. */
  readonly message: string;
}

/** A conversation on a screen: the answer as it is written, calls as they end, cards as they come. */
export function chatInTerminal(chat: TerminalChat): Promise<number> {
  return new ChatInTerminal(chat).run();
}

class ChatInTerminal {
  readonly #chat: TerminalChat;
  readonly #stage: Stage;
  readonly #cards: TerminalApprovals;
  readonly #conversation: Conversation;
  readonly #activity: ActivityLines;
  readonly #titles: SessionTitles;
  readonly #editor = new LineEditor();
  readonly #sent: string[] = [];
  /** Index of the sent line that is shown again; the number of lines for none. */
  #recalled = 0;
  #run: { readonly id: string; readonly follower: RunFollower } | undefined;
  #state: AgentState = 'thinking';
  #isStopping = false;
  /** The person is looking at cards of other conversations too. */
  #isDeciding = false;
  #trouble: string | undefined;
  #exitCode = 0;
  /** The person left while a run was being stopped. */
  #isForced = false;
  #leave: () => void = () => {};
  readonly #left: Promise<void>;

  constructor(chat: TerminalChat) {
    this.#chat = chat;
    const { access, project, sessionId, model, words, terminal, screen, env } = chat;
    const { client, device } = access;
    const { color } = terminal;
    this.#left = new Promise((resolve) => {
      this.#leave = resolve;
    });
    this.#activity = new ActivityLines(words, color);
    this.#stage = new Stage({
      screen,
      env,
      lines: (columns, rows) => this.#lines(columns, rows),
      onKey: (key) => this.#press(key),
    });
    this.#titles = new SessionTitles(access.client, project.project_id, () => this.#stage.draw());
    this.#cards = new TerminalApprovals({
      clock: systemClock,
      words,
      color,
      device,
      server: approvalsServer(client),
      isShown: ({ project_id }) => project_id === project.project_id,
      backtest: (rule) => client.backtestPolicy({ body: { rule } }),
      conversation: {
        isOwn: ({ session_id }) => session_id === this.#conversation.sessionId,
        showsOthers: () => this.#isDeciding,
        titleOf: ({ session_id }) => this.#titles.of(session_id),
      },
      edit: this.#stage.edit,
      onChange: () => this.#stage.draw(),
      say: (lines) => this.#stage.print(lines),
    });
    this.#conversation = new Conversation({
      access,
      project,
      sessionId,
      model,
      onEvent: (event) => this.#receive(event),
      onState: (state) => {
        this.#trouble =
          state.status === 'connecting' ? this.#trouble : streamWords(state, access.address, words);
        if (state.status === 'closed' && state.why !== 'stopped') this.#leave();
        this.#stage.draw();
      },
    });
  }

  async run(): Promise<number> {
    const { message } = this.#chat;
    if (message.trim() !== '') void this.#send(message);
    this.#stage.draw();
    await this.#left;
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
    if ('session_id' in event.data && event.data.session_id === this.#conversation.sessionId) {
      this.#stage.print(this.#activity.receive(event, this.#chat.screen.columns));
    }
    if ((this.#isRunning ? this.#cards.otherCount : this.#cards.count) === 0) this.#isDeciding = false;
    this.#stage.draw();
  }

  async #send(content: string): Promise<void> {
    const { words, terminal, screen, message } = this.#chat;
    const paint = paints(terminal.color);
    const print = (text: string, style?: 'yellow' | 'red') =>
      this.#stage.print(layOut([{ text, style }], screen.columns - 1, terminal.color));
    this.#state = 'thinking';
    this.#isStopping = false;
    const lead = `${words.chat.prompt}  `;
    this.#stage.print([
      '',
      ...layOut([{ lead, leadStyle: 'cyan', text: content }], screen.columns - 1, terminal.color),
      '',
    ]);
    try {
      const { runId, follower } = await this.#conversation.send(content, {
        onLines: (lines) => {
          for (const line of lines) print(line);
        },
        onNotice: (text) => print(words.said(text), 'yellow'),
        onState: (state) => {
          this.#state = state;
        },
      });
      this.#run = { id: runId, follower };
      this.#stage.draw();
      const run = await follower.ended;
      this.#exitCode = exitCodeOf(run);
      if (run.status === 'stopped') this.#stage.print([paint.yellow(words.chat.stopped)]);
    } catch (error) {
      this.#exitCode = 1;
      print(words.chat.failed(words.said((error as Error).message)), 'red');
    }
    this.#run = undefined;
    if (message.trim() !== '') this.#leave();
    this.#stage.draw();
  }

  get #isRunning(): boolean {
    return this.#run !== undefined;
  }

  #press(key: Key): void {
    const isOnCard = this.#isRunning || this.#isDeciding;
    if (isOnCard && this.#cards.press(key)) return;
    if (this.#isRunning) this.#pressWhileRunning(key);
    else this.#type(key);
    this.#stage.draw();
  }

  #pressWhileRunning({ name }: Key): void {
    if (name === 'tab') this.#isDeciding = this.#cards.otherCount > 0;
    if (name !== 'ctrl-c') return; // ignore type-ahead: there is no input field
    if (this.#isDeciding) {
      this.#isDeciding = false;
      return;
    }
    if (this.#isStopping) {
      this.#exitCode = 130;
      this.#isForced = true;
      this.#leave();
      return;
    }
    this.#isStopping = true;
    const id = this.#run?.id ?? '';
    this.#conversation.stop(id).catch((error: Error) => {
      this.#isStopping = false;
      this.#stage.print(
        layOut(
          [{ text: this.#chat.words.said(error.message), style: 'red' }],
          this.#chat.screen.columns - 1,
          this.#chat.terminal.color,
        ),
      );
    });
  }

  #type(key: Key): void {
    const editor = this.#editor;
    switch (key.name) {
      case 'ctrl-c':
        if (this.#isDeciding) this.#isDeciding = false;
        else if (editor.text === '') this.#leave();
        else editor.set('');
        return;
      case 'ctrl-d':
        if (editor.text === '') this.#leave();
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
        if (text === '') return;
        this.#recalled = this.#sent.push(text);
        editor.set('');
        void this.#send(text);
        return;
      }
      default:
        editor.press(key);
    }
  }

  #lines(columns: number, rows: number): string[] {
    const { words, terminal } = this.#chat;
    const paint = paints(terminal.color);
    const width = columns - 1;
    const trouble = this.#trouble === undefined ? [] : [paint.yellow(this.#trouble)];
    if (this.#isRunning || this.#isDeciding) {
      const card = this.#cards.lines(columns, rows - 3);
      const tail = card.length > 0 ? '' : (this.#run?.follower.tail ?? '');
      const others = card.length > 0 ? 0 : this.#cards.otherCount;
      return [
        ...(tail === '' ? [] : layOut([{ text: tail }], width, terminal.color).slice(-(rows - 4))),
        ...card,
        ...trouble,
        ...(this.#isRunning && card.length === 0 ? [this.#runLine(width)] : []),
        ...(others > 0 ? [paint.yellow(fit(words.chat.othersHint(others), width))] : []),
      ];
    }
    const pending = this.#cards.count;
    const right = pending > 0 ? words.chat.pendingHint(pending) : '';
    return [
      ...trouble,
      paint.dim('─'.repeat(width)),
      ...inputLines(`${words.chat.prompt} `, this.#editor, width, terminal.color),
      spread(paint.dim(words.chat.inputHint), paint.yellow(right), width),
    ];
  }

  #runLine(width: number): string {
    const { chat } = this.#chat.words;
    const paint = paints(this.#chat.terminal.color);
    if (this.#isStopping) return paint.yellow(chat.stopping);
    const [call] = this.#activity.running;
    const doing = {
      thinking: chat.thinking,
      tool_execution: call ?? chat.working,
      awaiting_approval: chat.waitingForApproval,
      idle: chat.working,
    }[this.#state];
    return paint.dim(layOut([{ text: `${doing} · ${chat.stopHint}` }], width, false)[0] ?? '');
  }
}
