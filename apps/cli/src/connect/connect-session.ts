import type { ClosedState, StreamState } from '@countersign/client';
import { CountersignError, type CountersignEvent } from '@countersign/protocol';
import { RunnerSession } from '@countersign/runner-client';
import type { Workspace, WorkspaceRunner } from '@countersign/tool-runner';
import { ActivityLines } from '../activity-line.ts';
import { cardDeps, TerminalApprovals } from '../approvals/terminal-approvals.ts';
import type { Environment } from '../command-context.ts';
import { programsToMention } from '../doctor/programs.ts';
import type { Key } from '../screen/keys.ts';
import { visible } from '../screen/paragraph.ts';
import { Stage } from '../screen/stage.ts';
import { fit, wrap } from '../screen/text-width.ts';
import type { ServerAccess } from '../sign-in/server-access.ts';
import { streamWords } from '../sign-in/stream-words.ts';
import type { Project } from '../sign-in/workspace-project.ts';
import { paints, type Terminal } from '../terminal.ts';
import { type ToolNotice, ToolNotices } from '../tools/tool-notices.ts';
import type { Words } from '../words.ts';
import type { LogOptions } from './log-options.ts';
import { jsonLine, type LogLine, RunnerLog, textLine } from './runner-log.ts';

export interface ConnectOptions {
  readonly access: ServerAccess;
  readonly project: Project;
  readonly workspace: Workspace;
  readonly configFolder: string;
  readonly words: Words;
  readonly terminal: Terminal;
  readonly env: Environment;
  readonly json: boolean;
  /** Ask about approvals here, if this is a terminal. */
  readonly prompt: boolean;
  readonly runUnisolated: boolean;
  /** True for an editor's runner: asks another runner for the workspace, and waits for it (RN-10). */
  readonly takesOver?: boolean;
  readonly log: LogOptions;
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

/** One Ctrl-C may arrive twice within this time: from the terminal, and from an npm that passes it on. */
const repeatedSignalMs = 300;
/** How often to check whether another program is still the workspace's runner. */
const lookAgainMs = 2_000;

/** Acts as the runner of one workspace and shows its cards. While another program is the runner, it only shows cards. */
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
  /** True once `run` has printed the first lines. */
  #isIntroduced = false;
  #wasOpen = false;
  #isEnding = false;
  #signalledAt = Number.NEGATIVE_INFINITY;
  readonly #ended = Promise.withResolvers<void>();

  constructor(options: ConnectOptions) {
    const { access, project, workspace, configFolder, words, terminal, prompt, runUnisolated } = options;
    const { takesOver = false } = options;
    this.#options = options;
    this.#log = new RunnerLog(options.log, (line) => this.#showLog(line));
    this.#activity = new ActivityLines(words, terminal.color);
    this.#session = new RunnerSession({
      access,
      projectId: project.project_id,
      device: access.device,
      runner: { workspace, configFolder, logger: this.#log, runUnisolated, takesOver },
      cards:
        prompt && terminal.screen
          ? {
              show: (request) => this.#cards?.show({ ...request, omitted: undefined }),
              withdraw: (approvalId) => this.#cards?.withdraw(approvalId),
            }
          : undefined,
      lookAgainMs,
      onEvent: (event) => this.#receive(event),
      onStream: (state) => this.#onStreamState(state),
      onStarted: (runner) => this.#onRunnerStarted(runner),
      onHandedOver: (editor) => {
        this.say(words.connect.handedOver(visible(editor)), 'yellow');
        this.#writeJson({ handed_over: editor });
      },
      onTrouble: (error) => this.#sayTrouble(error),
    });
  }

  /** Runs until the person ends it or the server refuses us. Returns the exit code. */
  async run(): Promise<number> {
    const { words, workspace, terminal, prompt, access, host, takesOver } = this.#options;
    this.#session.start();
    const holder = this.holder;
    if (holder !== undefined && !(prompt && terminal.screen) && !takesOver) {
      await this.#session.dispose();
      throw new CountersignError('JOURNAL_UNAVAILABLE', { problem: words.connect.heldNoPrompt(holder) });
    }
    if (holder !== undefined) this.say(words.connect.held(holder));
    else if (!host) this.say(words.connect.ready(visible(workspace.root)));
    if (prompt) this.say(terminal.screen ? words.connect.prompting : words.connect.noTerminal, 'dim');
    else if (!host) this.say(words.connect.notPrompting, 'dim');
    this.#announceRunner();
    this.#mentionPrograms();
    this.#isIntroduced = true;
    this.#openScreen();
    this.#trouble = words.stream.connecting(access.address);
    this.#session.listen();
    const onSignal = () => {
      const isEcho = performance.now() - this.#signalledAt < repeatedSignalMs;
      this.#signalledAt = performance.now();
      if (!isEcho) this.#requestEnd();
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
    host?.ending.addEventListener('abort', () => this.#ended.resolve(), { once: true });
    if (host?.ending.aborted) this.#ended.resolve();
    this.#draw();
    await this.#ended.promise;
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

  /** Describes the other program that is the workspace's runner, if there is one (RN-10). */
  get holder(): string | undefined {
    const { holder } = this.#session;
    return holder === undefined ? undefined : visible(this.#options.words.said(holder));
  }

  /** Called when this session becomes the runner: at the start, or after another program has ended. */
  #onRunnerStarted({ handler: { toolServers } }: WorkspaceRunner): void {
    const { words, workspace } = this.#options;
    const notices = new ToolNotices(words.tools, words.said);
    toolServers.onChange(() => this.#announceToolProblems(notices.news(toolServers.status)));
    if (!this.#isIntroduced) return; // `run` prints these lines itself
    this.#saidTrouble = undefined;
    this.say(words.connect.ready(visible(workspace.root)));
    this.#announceRunner();
  }

  #announceRunner(): void {
    const { runnerId: runner_id } = this.#session;
    this.#writeJson({ runner: { runner_id, workspace: this.#options.workspace.root } });
  }

  /** Says once which programs of the person commands do not see (RN-5). */
  #mentionPrograms(): void {
    const { words, workspace, env } = this.#options;
    const offers = programsToMention({ root: workspace.root, env });
    if (offers.length === 0) return;
    this.#writeJson({ hidden_programs: offers });
    const folders = offers.map(({ from }) => from);
    const columns = (this.#options.terminal.screen?.columns ?? Number.POSITIVE_INFINITY) - 1;
    const text = words.doctor.mention(folders.slice(0, 3).join(', '), Math.max(folders.length - 3, 0));
    for (const line of wrap(visible(text), columns)) this.say(line, 'dim');
  }

  /** Prints a problem once, not at each retry. */
  #sayTrouble(error: unknown): void {
    const { message } = error as Error;
    if (message !== this.#saidTrouble) this.say(visible(this.#options.words.said(message)), 'yellow');
    this.#saidTrouble = message;
  }

  #announceToolProblems(news: readonly ToolNotice[]): void {
    for (const { server, says } of news) {
      this.#writeJson({ tool_server: server });
      this.say(visible(says), 'yellow');
    }
  }

  #openScreen(): void {
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
    const deps = cardDeps(access, stage);
    this.#cards = new TerminalApprovals({
      ...deps,
      words,
      color,
      server: { ...deps.server, decide: (decision) => this.#session.decide(decision) },
      isBesideRunner: () => this.#session.runner !== undefined,
      isShown: ({ project_id }) => project_id === project.project_id,
    });
  }

  #onStreamState(state: StreamState): void {
    const { access, words, host } = this.#options;
    this.#writeJson({ stream: state.status });
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
      this.#ended.resolve();
    }
    this.#draw();
  }

  #receive(event: CountersignEvent): void {
    const { terminal } = this.#options;
    this.#writeJson(event);
    // Must be first: the cards print how a request ended before the runner withdraws its card.
    this.#cards?.receive(event);
    if (event.event !== 'runner.changed') {
      for (const line of this.#activity.receive(event, terminal.screen?.columns ?? 100)) this.say(line);
    }
    this.#draw();
  }

  #press(key: Key): void {
    if (!this.#isEnding && this.#cards?.press(key)) return;
    if (key.name === 'ctrl-c') this.#requestEnd();
    else if (!this.#isEnding) this.#options.host?.onKey(key);
  }

  /** Ends gracefully the first time, at once the second time. */
  #requestEnd(): void {
    const { words } = this.#options;
    if (this.#isEnding) {
      this.#stage?.close();
      process.exit(130);
    }
    this.#isEnding = true;
    this.say(words.connect.ending, 'yellow');
    this.#draw();
    this.#ended.resolve();
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

  #writeJson(what: object): void {
    if (this.#options.json) this.#write(`${JSON.stringify(what)}\n`);
  }

  /** Ends the session if our output has no reader any more. */
  #write(text: string): void {
    this.#options.terminal.write(text).catch(() => this.#ended.resolve());
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
