import { approvalsServer } from '@countersign/approvals';
import { type ClosedState, type StreamState, systemClock } from '@countersign/client';
import { CountersignError, type CountersignEvent } from '@countersign/protocol';
import { RunnerSession } from '@countersign/runner-client';
import type { Workspace, WorkspaceRunner } from '@countersign/tool-runner';
import { ActivityLines } from '../activity-line.ts';
import { TerminalApprovals } from '../approvals/terminal-approvals.ts';
import type { Key } from '../screen/keys.ts';
import { visible } from '../screen/paragraph.ts';
import { Stage } from '../screen/stage.ts';
import { fit } from '../screen/text-width.ts';
import type { ServerAccess } from '../sign-in/server-access.ts';
import { streamWords } from '../sign-in/stream-words.ts';
import type { Project } from '../sign-in/workspace-project.ts';
import { paints, type Terminal } from '../terminal.ts';
import { type ToolNotice, ToolNotices } from '../tools/tool-notices.ts';
import { toolsWordsFor } from '../tools/tools-words.ts';
import type { Words } from '../words.ts';
import type { LogWish } from './log-options.ts';
import { jsonLine, type LogLine, RunnerLog, textLine } from './runner-log.ts';

export interface ConnectOptions {
  readonly access: ServerAccess;
  readonly project: Project;
  readonly workspace: Workspace;
  readonly configFolder: string;
  readonly words: Words;
  /** The language of `--lang`, if given. */
  readonly lang?: string | undefined;
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly json: boolean;
  /** Ask about approvals here, if this is a terminal. */
  readonly prompt: boolean;
  readonly runUnisolated: boolean;
  readonly log: LogWish;
  /** Write the log as JSON Lines, for a program that reads standard error. By default the same as `json`. */
  readonly logAsJson?: boolean;
  /** Set if this session is part of `countersign up`, which prints its own introduction. */
  readonly host?: SessionHost;
}

export interface SessionHost {
  /** Called when the runner has connected for the first time. */
  onOpen(): void;
  /** Called with a key that no card took. */
  onKey(key: Key): void;
  /** The host's keys, for the line at the bottom. */
  readonly keys: string;
  /** Aborting it ends the session gracefully. */
  readonly ending: AbortSignal;
}

const echoMs = 300;
/** How often to check whether the workspace is free again. */
const lookAgainMs = 2_000;

/** Runs one workspace and shows its cards; shows only the cards while another process is the runner. */
export class ConnectSession {
  readonly #options: ConnectOptions;
  readonly #activity: ActivityLines;
  readonly #session: RunnerSession;
  readonly #log: RunnerLog;
  #stage: Stage | undefined;
  #cards: TerminalApprovals | undefined;
  #closed: ClosedState | undefined;
  #trouble: string | undefined;
  /** The last message about why we could not become the runner again. */
  #saidTrouble: string | undefined;
  /** Whether the first lines about this program were printed. */
  #isIntroduced = false;
  #wasOpen = false;
  #isEnding = false;
  #signalledAt = Number.NEGATIVE_INFINITY;
  #end: () => void = () => {};
  readonly #ended: Promise<void>;

  constructor(options: ConnectOptions) {
    const { access, project, workspace, configFolder, words, terminal, prompt, runUnisolated } = options;
    this.#options = options;
    this.#log = new RunnerLog(options.log, (line) => this.#showLog(line));
    this.#activity = new ActivityLines(words, terminal.color);
    this.#session = new RunnerSession({
      access,
      projectId: project.project_id,
      device: access.device,
      runner: { workspace, configFolder, logger: this.#log, runUnisolated },
      cards:
        prompt && terminal.screen
          ? {
              show: (request) => this.#cards?.show({ ...request, omitted: undefined }),
              withdraw: (approvalId) => this.#cards?.withdraw(approvalId),
            }
          : undefined,
      lookAgainMs,
      onEvent: (event) => this.#receive(event),
      onStream: (state) => this.#streamIs(state),
      onStarted: (runner) => this.#runs(runner),
      onHandedOver: (editor) => {
        this.say(words.connect.handedOver(visible(editor)), 'yellow');
        this.#tellProgram({ handed_over: editor });
      },
      onTrouble: (error) => this.#sayTrouble(error),
    });
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Runs until the person ends it or the server refuses us. Returns the exit code. */
  async run(): Promise<number> {
    const { words, workspace, terminal, prompt, access, host } = this.#options;
    this.#session.start();
    const holder = this.#holder();
    if (holder !== undefined && !(prompt && terminal.screen)) {
      await this.#session.dispose();
      throw new CountersignError('JOURNAL_UNAVAILABLE', { problem: words.connect.heldNoPrompt(holder) });
    }
    if (holder !== undefined) this.say(words.connect.held(holder));
    else if (!host) this.say(words.connect.ready(visible(workspace.root)));
    if (prompt) this.say(terminal.screen ? words.connect.prompting : words.connect.noTerminal, 'dim');
    else if (!host) this.say(words.connect.notPrompting, 'dim');
    this.#tellRunner();
    this.#isIntroduced = true;
    this.#takeTerminal();
    this.#trouble = words.stream.connecting(access.address);
    this.#session.listen();
    // One Ctrl-C may come twice: from the terminal, and from an npm that passes it on.
    const onSignal = () => {
      const isEcho = performance.now() - this.#signalledAt < echoMs;
      this.#signalledAt = performance.now();
      if (!isEcho) this.#askedToEnd();
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
    host?.ending.addEventListener('abort', () => this.#end(), { once: true });
    if (host?.ending.aborted) this.#end();
    this.#draw();
    await this.#ended;
    await this.#stop();
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    const closed = this.#closed;
    if (closed === undefined || closed.why === 'stopped') return 0;
    terminal.writeError(`${streamWords(closed, access.address, words) ?? ''}\n`);
    return 1;
  }

  /** Prints a line that stays. With `json` it prints nothing: a program gets events instead. */
  say(text: string, style?: 'dim' | 'yellow'): void {
    const { terminal, json } = this.#options;
    if (json) return;
    const line = style === undefined ? text : paints(terminal.color)[style](text);
    if (this.#stage) this.#stage.print([line]);
    else this.#write(`${line}\n`);
  }

  /** The program that is the workspace's runner instead, in words (RN-10). */
  #holder(): string | undefined {
    const { holder } = this.#session;
    return holder === undefined ? undefined : visible(this.#options.words.said(holder));
  }

  /** Called when this session has become the runner, at the start or after another program. */
  #runs({ handler: { toolServers } }: WorkspaceRunner): void {
    const { env, lang, words, workspace } = this.#options;
    const notices = new ToolNotices(toolsWordsFor(env, lang), words.said);
    toolServers.onChange(() => this.#tellOfTools(notices.news(toolServers.status)));
    if (!this.#isIntroduced) return; // run() does it
    this.#saidTrouble = undefined;
    this.say(words.connect.ready(visible(workspace.root)));
    this.#tellRunner();
  }

  #tellRunner(): void {
    const { runnerId: runner_id } = this.#session;
    this.#tellProgram({ runner: { runner_id, workspace: this.#options.workspace.root } });
  }

  /** Says a problem once, not at each retry. */
  #sayTrouble(error: unknown): void {
    const { message } = error as Error;
    if (message !== this.#saidTrouble) this.say(visible(this.#options.words.said(message)), 'yellow');
    this.#saidTrouble = message;
  }

  #tellOfTools(news: readonly ToolNotice[]): void {
    for (const { server, says } of news) {
      this.#tellProgram({ tool_server: server });
      this.say(visible(says), 'yellow');
    }
  }

  #takeTerminal(): void {
    const { prompt, terminal, env, access, project, words, json } = this.#options;
    const { screen, color } = terminal;
    if (!screen || json) return;
    const stage = new Stage({
      screen,
      env,
      lines: (columns, rows) => this.#lines(columns, rows),
      onKey: (key) => this.#press(key),
    });
    this.#stage = stage;
    if (!prompt) return;
    const { client, device } = access;
    this.#cards = new TerminalApprovals({
      clock: systemClock,
      words,
      color,
      device,
      server: { ...approvalsServer(client), decide: (decision) => this.#session.decide(decision) },
      isBesideRunner: () => this.#session.runner !== undefined,
      isShown: ({ project_id }) => project_id === project.project_id,
      backtest: (rule) => client.backtestPolicy({ body: { rule } }),
      edit: stage.edit,
      onChange: () => stage.draw(),
      say: (lines) => stage.print(lines),
    });
  }

  #streamIs(state: StreamState): void {
    const { access, words, host } = this.#options;
    this.#tellProgram({ stream: state.status });
    if (state.status === 'open') {
      const isFirst = !this.#wasOpen;
      if (isFirst ? !host : this.#trouble !== undefined) this.say(words.stream.open(access.address), 'dim');
      this.#wasOpen = true;
      this.#trouble = undefined;
      if (isFirst) host?.onOpen();
    } else if (state.status === 'waiting') {
      const trouble = streamWords(state, access.address, words) ?? '';
      if (this.#trouble === undefined || !this.#stage) this.say(trouble, 'yellow');
      this.#trouble = trouble;
    } else if (state.status === 'closed') {
      this.#closed = state;
      this.#end();
    }
    this.#draw();
  }

  #receive(event: CountersignEvent): void {
    const { terminal } = this.#options;
    this.#tellProgram(event);
    // The cards first: they print how a request ended before the runner withdraws its card.
    this.#cards?.receive(event);
    if (event.event !== 'runner.changed') {
      for (const line of this.#activity.receive(event, terminal.screen?.columns ?? 100)) this.say(line);
    }
    this.#draw();
  }

  #press(key: Key): void {
    if (!this.#isEnding && this.#cards?.press(key)) return;
    if (key.name === 'ctrl-c') this.#askedToEnd();
    else if (!this.#isEnding) this.#options.host?.onKey(key);
  }

  /** Ends gracefully the first time, at once the second time. */
  #askedToEnd(): void {
    const { words } = this.#options;
    if (this.#isEnding) {
      this.#stage?.close();
      process.exit(130);
    }
    this.#isEnding = true;
    this.say(words.connect.ending, 'yellow');
    this.#draw();
    this.#end();
  }

  /** Removes the cards without a decision; running calls are stopped and reported. */
  async #stop(): Promise<void> {
    const { words } = this.#options;
    this.#cards?.dispose();
    await this.#session.dispose();
    this.#log.close();
    this.say(words.connect.ended, 'dim');
    this.#stage?.close();
  }

  #draw(): void {
    this.#stage?.draw();
  }

  #lines(columns: number, rows: number): string[] {
    const { words, workspace, terminal, host } = this.#options;
    const paint = paints(terminal.color);
    const card = this.#isEnding ? [] : (this.#cards?.lines(columns, rows - 2) ?? []);
    if (this.#trouble !== undefined) return [...card, paint.yellow(fit(this.#trouble, columns - 1))];
    if (card.length > 0) return card;
    const [running] = this.#activity.running;
    const now = running ?? visible(workspace.root);
    const idle = words.connect.idle(this.#activity.ended);
    const facts = host ? `${host.keys} · ${idle}` : idle;
    return [`${paint.green('●')} ${paint.dim(fit(`${now} · ${facts}`, columns - 3))}`];
  }

  #tellProgram(what: object): void {
    if (this.#options.json) this.#write(`${JSON.stringify(what)}\n`);
  }

  /** Ends the session if our output has no reader any more. */
  #write(text: string): void {
    this.#options.terminal.write(text).catch(() => this.#end());
  }

  /** Prints a log line above the card, or on standard error if there is no screen. */
  #showLog(line: LogLine): void {
    const { json, logAsJson = json, terminal } = this.#options;
    const text = logAsJson ? jsonLine(line) : visible(textLine(line));
    const paint = paints(terminal.color);
    if (this.#stage) this.#stage.print([line.level === 'error' ? paint.red(text) : paint.dim(text)]);
    else terminal.writeError(`${text}\n`);
  }
}
