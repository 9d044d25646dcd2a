import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { readSignInLink } from '@countersign/runner-client';
import type { Workspace } from '@countersign/tool-runner';
import { type CommandContext, usageOf } from '../command-context.ts';
import { ConnectSession, type SessionHost } from '../connect/connect-session.ts';
import type { LogWish } from '../connect/log-options.ts';
import type { Key } from '../screen/keys.ts';
import { visible } from '../screen/paragraph.ts';
import { widthOf, wrap } from '../screen/text-width.ts';
import { type ServerAccess, serverAccess } from '../sign-in/server-access.ts';
import { signIn, signOut } from '../sign-in/sign-in-command.ts';
import { findOrMakeProject, type Project } from '../sign-in/workspace-project.ts';
import { paints } from '../terminal.ts';
import type { Words } from '../words.ts';
import { KeptServer } from './kept-server.ts';
import { openInBrowser } from './open-in-browser.ts';
import { announceUp, readUpRecord } from './running-up.ts';
import { ServerNotStarted, ServerProcess } from './server-process.ts';
import type { UpWords } from './up-words.ts';

export interface UpOptions extends Pick<CommandContext, 'terminal' | 'env'> {
  readonly workspace: Workspace;
  readonly configFolder: string;
  /** Already started; the session stops it. */
  readonly server: ServerProcess;
  /** Environment for a replacement server. */
  readonly serverEnv: CommandContext['env'];
  /** In a sample workspace, the first message that the page suggests. */
  readonly firstMessage: string | undefined;
  /** From `--port`: use this port or fail. */
  readonly port: number | undefined;
  readonly open: boolean;
  readonly prompt: boolean;
  readonly runUnisolated: boolean;
  readonly log: LogWish;
  readonly json: boolean;
  readonly words: Words;
  readonly lang: string | undefined;
  readonly upWords: UpWords;
}

const usage = usageOf('up');
/** One Ctrl-C may arrive twice: from the terminal and from npm. */
const echoMs = 300;

/** Server, runner and page of one workspace, from start to stop. */
export class UpSession implements SessionHost {
  readonly #options: UpOptions;
  readonly #ending = new AbortController();
  #server: KeptServer | undefined;
  #connect: ConnectSession | undefined;
  #project: Project | undefined;
  #model: string | undefined;
  /** Why it ended by itself. */
  #problem: string | undefined;

  constructor(options: UpOptions) {
    this.#options = options;
  }

  /** Runs until the person ends it. Returns the exit code. */
  async run(): Promise<number> {
    const { workspace, words, env, terminal, upWords, json } = this.#options;
    // An interrupt before the session started, or after it was ended, exits at once.
    let notBefore = 0;
    const onSignal = (signal: NodeJS.Signals) => {
      if (!this.#connect && performance.now() > notBefore) process.exit(130);
      else if (signal === 'SIGHUP') this.#ending.abort();
      notBefore = performance.now() + echoMs;
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    for (const signal of signals) process.on(signal, onSignal);
    let unannounce = () => {};
    try {
      const server = await this.#startServer();
      this.#server = this.#keep(server);
      const { address } = server;
      unannounce = await announceUp(workspace.stateFolder, {
        address,
        signInLink: () => (this.#server as KeptServer).signInLink(),
      });
      process.once('exit', unannounce);
      const access = await this.#access(server);
      const wanted = { root: workspace.root, projectId: undefined };
      const [{ project }, { model }] = await Promise.all([
        findOrMakeProject(access.client, wanted, words, usage),
        access.client.getModel(),
      ]);
      this.#project = project;
      this.#model = model ?? undefined;
      this.#connect = this.#session(access, project);
      const status = await this.#connect.run();
      this.#connect = undefined;
      await signOut(address, words, env);
      await this.#server.stop();
      if (this.#problem !== undefined) terminal.writeError(`${this.#problem}\n`);
      else if (!json) await terminal.write(`${upWords.stopped}\n`);
      return this.#problem === undefined ? status : 1;
    } finally {
      this.#connect = undefined;
      this.#server?.kill();
      process.off('exit', unannounce);
      unannounce();
      for (const signal of signals) process.off(signal, onSignal);
    }
  }

  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  get keys(): string {
    return this.#options.upWords.keys;
  }

  onOpen(): void {
    this.#introduce().catch((error: Error) => this.#give(error.message));
  }

  onKey({ name, together }: Key): void {
    if (name === 'o' && !together)
      this.#openAgain().catch((error: Error) => this.#say(this.#options.words.said(error.message), 'yellow'));
  }

  /** Starts the server on the first preferred port that is free. */
  async #startServer(): Promise<ServerProcess> {
    const { workspace, port, words, upWords } = this.#options;
    const lastTime = readUpRecord(workspace.stateFolder).port;
    const candidates = port === undefined ? preferredPorts(workspace.root, lastTime) : [port];
    let unused: ServerProcess | undefined = this.#options.server;
    for (const candidate of candidates) {
      if (candidate !== 0 && !((await isFree(candidate)) && (await isForPages(candidate)))) continue;
      try {
        const server = await this.#start(candidate, unused ?? new ServerProcess(this.#options.serverEnv));
        const now = Number(new URL(server.address).port);
        if (lastTime !== undefined && port === undefined && now !== lastTime) {
          this.#say(upWords.portTaken(lastTime, now), 'dim');
        }
        return server;
      } catch (error) {
        if (!(error instanceof ServerNotStarted)) throw error;
        unused = undefined;
        if (error.code === 'DATABASE_IN_USE') throw error;
        // Another program took the port: try the next one.
        if (error.code !== 'EADDRINUSE')
          throw new Error(upWords.notStarted(words.said(error.message)), { cause: error });
      }
    }
    throw usage(upWords.noSuchPort(port ?? 0));
  }

  #start(port: number, server: ServerProcess): Promise<ServerProcess> {
    return server.serve({ folder: `${this.#options.workspace.stateFolder}/server`, port });
  }

  #keep(server: ServerProcess): KeptServer {
    const { upWords, serverEnv } = this.#options;
    const port = Number(new URL(server.address).port);
    return new KeptServer(server, {
      start: () => this.#start(port, new ServerProcess(serverEnv)),
      onDied: (how) => this.#say(upWords.died(how), 'yellow'),
      onBack: () => this.#say(upWords.back, 'dim'),
      onGivenUp: (why) => this.#give(upWords.givenUp(why)),
    });
  }

  /** Signs this terminal in, so that other commands know the server too. */
  async #access(server: ServerProcess): Promise<ServerAccess> {
    const { words, env } = this.#options;
    const { address } = server;
    const code = readSignInLink(await server.signInLink())?.code ?? '';
    await signIn(address, code, words, env);
    return serverAccess(address, words, { ...env, COUNTERSIGN_TOKEN: undefined });
  }

  #session(access: ServerAccess, project: Project): ConnectSession {
    const { terminal, env, workspace, configFolder, words, lang, prompt, runUnisolated, log, json } =
      this.#options;
    const { screen, ...withoutScreen } = terminal;
    // With --json, print nothing but the one line.
    const shown = json ? { ...withoutScreen, write: async () => {} } : terminal;
    return new ConnectSession({
      access,
      project,
      workspace,
      configFolder,
      words,
      lang,
      terminal: shown,
      env,
      json: false,
      prompt: prompt && !json,
      runUnisolated,
      log,
      logAsJson: json,
      host: this,
    });
  }

  async #introduce(): Promise<void> {
    const { terminal, json, workspace, firstMessage, open, env, upWords } = this.#options;
    const link = await (this.#server as KeptServer).signInLink();
    const address = new URL(link).origin;
    const readyMs = Math.round(performance.now()); // since the process began
    if (json) {
      const line = {
        ready: true,
        address,
        sign_in_link: link,
        workspace: workspace.root,
        project_id: this.#project?.project_id,
        first_message: firstMessage ?? null,
        pid: process.pid,
        ready_ms: readyMs,
      };
      await terminal.write(`${JSON.stringify(line)}\n`);
      return;
    }
    const isOpened = open && (await openInBrowser(link, env));
    const paint = paints(terminal.color);
    const isSample = firstMessage !== undefined;
    const facts: [string, string, string][] = [
      [upWords.page, paint.bold(address), ''],
      [upWords.signIn, paint.cyan(link), ''],
      ['', '', isOpened ? `${upWords.once}. ${upWords.opened}` : upWords.once],
      [upWords.workspace, visible(tilde(workspace.root, workspace.home)), isSample ? upWords.sample : ''],
      [upWords.model, this.#model ?? '', this.#model === 'manual' ? upWords.manual : ''],
    ];
    const width = Math.max(...facts.map(([name]) => name.length));
    this.#say('');
    this.#say(paint.green(upWords.ready((readyMs / 1000).toFixed(1))));
    this.#say('');
    const columns = (terminal.screen?.columns ?? Number.POSITIVE_INFINITY) - 1;
    const indent = ' '.repeat(width + 4);
    for (const [name, value, about] of facts) {
      const inBrackets = value === '' || about === '' ? about : `(${about})`;
      const isRoom = indent.length + widthOf(value) + 1 + widthOf(inBrackets) <= columns;
      const first = [value, isRoom && paint.dim(inBrackets)].filter(Boolean).join(' ');
      this.#say(`  ${paint.dim(name.padEnd(width))}  ${first}`);
      // Never break the link: people copy it.
      if (!isRoom && about !== '')
        for (const line of wrap(inBrackets, columns - indent.length))
          this.#say(`${indent}${paint.dim(line)}`);
    }
    this.#say('');
    if (firstMessage !== undefined) {
      for (const line of wrap(upWords.sayFirst, columns)) this.#say(line);
      for (const line of firstMessage.split('\n')) this.#say(`  ${paint.bold(line)}`);
      this.#say('');
    }
    for (const line of wrap(upWords.another(terminal.screen !== undefined), columns)) this.#say(line, 'dim');
  }

  async #openAgain(): Promise<void> {
    const { env, upWords } = this.#options;
    const link = await (this.#server as KeptServer).signInLink();
    this.#say(upWords.freshLink(link));
    await openInBrowser(link, env);
  }

  #say(text: string, style?: 'dim' | 'yellow'): void {
    const { terminal, json } = this.#options;
    if (json) return;
    if (this.#connect) this.#connect.say(text, style);
    else void terminal.write(`${style === undefined ? text : paints(terminal.color)[style](text)}\n`);
  }

  /** Ends the session because of a problem. */
  #give(problem: string): void {
    this.#problem = problem;
    this.#ending.abort();
  }
}

const tilde = (path: string, home: string): string =>
  home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;

/** First port for new workspaces: away from the usual ports of development servers, below the ephemeral ones. */
const firstPort = 4200;
const ports = 700;

/**
 * The ports to try, in order: the one of last time, so that the address stays and browsers stay signed in; one of the
 * workspace's own; whatever is free (0).
 */
export function preferredPorts(root: string, lastTime: number | undefined): number[] {
  const number = createHash('sha256').update(root).digest().readUInt32BE();
  const own = firstPort + (number % ports);
  return [...new Set([lastTime ?? own, own, 0])];
}

/** Whether the port is free now. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** Whether browsers accept the port: they and `fetch` refuse some, such as 6000. */
export async function isForPages(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/`);
    return true;
  } catch (error) {
    return ((error as Error).cause as Error | undefined)?.message !== 'bad port';
  }
}
