import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { readSignInLink } from '@countersign/runner-client';
import type { Workspace } from '@countersign/tool-runner';
import { type CommandContext, usageOf } from '../command-context.ts';
import { ConnectSession, type SessionHost } from '../connect/connect-session.ts';
import type { LogOptions } from '../connect/log-options.ts';
import type { Key } from '../screen/keys.ts';
import { visible } from '../screen/paragraph.ts';
import { widthOf, wrap } from '../screen/text-width.ts';
import { type ServerAccess, serverAccess } from '../sign-in/server-access.ts';
import { signIn, signOut } from '../sign-in/sign-in-command.ts';
import { findOrMakeProject, type Project } from '../sign-in/workspace-project.ts';
import { paints } from '../terminal.ts';
import type { Words } from '../words.ts';
import { openInBrowser } from './open-in-browser.ts';
import { RestartingServer } from './restarting-server.ts';
import { announceUp, readUpRecord } from './running-up.ts';
import { ServerNotStarted, ServerProcess } from './server-process.ts';

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
  readonly log: LogOptions;
  readonly json: boolean;
  readonly words: Words;
}

const usage = usageOf('up');
/** One Ctrl-C may arrive twice: from the terminal and from npm. */
const repeatedSignalMs = 300;

/** One run of `countersign up`: the server, runner and page of a workspace, from start to stop. */
export class UpSession implements SessionHost {
  readonly #options: UpOptions;
  readonly #ending = new AbortController();
  #server: RestartingServer | undefined;
  #connect: ConnectSession | undefined;
  #project: Project | undefined;
  #model: string | undefined;
  /** Why the session ended by itself. */
  #problem: string | undefined;

  constructor(options: UpOptions) {
    this.#options = options;
  }

  /** Runs until the person ends it. Returns the exit code. */
  async run(): Promise<number> {
    const { workspace, words, env, terminal, json } = this.#options;
    // Before and after the ConnectSession, which handles signals itself, an interrupt exits at once.
    let notBefore = 0;
    const onSignal = (signal: NodeJS.Signals) => {
      if (!this.#connect && performance.now() > notBefore) process.exit(130);
      else if (signal === 'SIGHUP') this.#ending.abort();
      notBefore = performance.now() + repeatedSignalMs;
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
        signInLink: () => (this.#server as RestartingServer).signInLink(),
      });
      process.once('exit', unannounce);
      const access = await this.#signInHere(server);
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
      else if (!json) await terminal.write(`${words.up.stopped}\n`);
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
    return this.#options.words.up.keys;
  }

  onOpen(): void {
    this.#printIntroduction().catch((error: Error) => this.#endWithProblem(error.message));
  }

  onKey({ name, together }: Key): void {
    if (name === 'o' && !together)
      this.#openAgain().catch((error: Error) => this.#say(this.#options.words.said(error), 'yellow'));
  }

  /** Starts the server on the first preferred port that is free. */
  async #startServer(): Promise<ServerProcess> {
    const { workspace, port, words } = this.#options;
    const lastTime = readUpRecord(workspace.stateFolder).port;
    const candidates = port === undefined ? preferredPorts(workspace.root, lastTime) : [port];
    let unused: ServerProcess | undefined = this.#options.server;
    for (const candidate of candidates) {
      if (candidate !== 0 && !((await isFree(candidate)) && (await isForPages(candidate)))) continue;
      try {
        const server = await this.#start(candidate, unused ?? new ServerProcess(this.#options.serverEnv));
        const now = Number(new URL(server.address).port);
        if (lastTime !== undefined && port === undefined && now !== lastTime) {
          this.#say(words.up.portTaken(lastTime, now), 'dim');
        }
        return server;
      } catch (error) {
        if (!(error instanceof ServerNotStarted)) throw error;
        unused = undefined;
        if (error.code === 'DATABASE_IN_USE') throw error;
        // Another program took the port: try the next one.
        if (error.code !== 'EADDRINUSE')
          throw new Error(words.up.notStarted(words.said(error)), { cause: error });
      }
    }
    throw usage(words.up.noSuchPort(port ?? 0));
  }

  #start(port: number, server: ServerProcess): Promise<ServerProcess> {
    const { workspace, configFolder } = this.#options;
    const policyFile = join(configFolder, 'policy.json');
    return server.serve({ folder: join(workspace.stateFolder, 'server'), port, policyFile });
  }

  #keep(server: ServerProcess): RestartingServer {
    const { serverEnv, words } = this.#options;
    const port = Number(new URL(server.address).port);
    return new RestartingServer(server, {
      start: () => this.#start(port, new ServerProcess(serverEnv)),
      onDied: (how) => this.#say(words.up.died(how), 'yellow'),
      onBack: () => this.#say(words.up.back, 'dim'),
      onGivenUp: (why) => this.#endWithProblem(words.up.givenUp(why)),
    });
  }

  /** Signs this terminal in, so that other commands know the server too. */
  async #signInHere(server: ServerProcess): Promise<ServerAccess> {
    const { words, env } = this.#options;
    const { address } = server;
    const code = readSignInLink(await server.signInLink())?.code ?? '';
    await signIn(address, code, words, env);
    return serverAccess(address, words, { ...env, COUNTERSIGN_TOKEN: undefined });
  }

  #session(access: ServerAccess, project: Project): ConnectSession {
    const { terminal, prompt, json } = this.#options;
    const { screen, ...withoutScreen } = terminal;
    return new ConnectSession({
      ...this.#options,
      access,
      project,
      // With --json, only `up` itself prints, and only one line.
      terminal: json ? { ...withoutScreen, write: async () => {} } : terminal,
      json: false,
      prompt: prompt && !json,
      logAsJson: json,
      host: this,
    });
  }

  async #printIntroduction(): Promise<void> {
    const { terminal, json, workspace, firstMessage, open, env, words } = this.#options;
    const link = await (this.#server as RestartingServer).signInLink();
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
      [words.up.page, paint.bold(address), ''],
      [words.up.signIn, paint.cyan(link), ''],
      ['', '', isOpened ? `${words.up.once}. ${words.up.opened}` : words.up.once],
      [words.up.workspace, visible(tilde(workspace.root, workspace.home)), isSample ? words.up.sample : ''],
      [words.up.model, this.#model ?? '', this.#model === 'manual' ? words.up.manual : ''],
    ];
    const width = Math.max(...facts.map(([name]) => name.length));
    this.#say('');
    this.#say(paint.green(words.up.ready((readyMs / 1000).toFixed(1))));
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
      for (const line of wrap(words.up.sayFirst, columns)) this.#say(line);
      for (const line of firstMessage.split('\n')) this.#say(`  ${paint.bold(line)}`);
      this.#say('');
    }
    for (const line of wrap(words.up.another(terminal.screen !== undefined), columns)) this.#say(line, 'dim');
  }

  async #openAgain(): Promise<void> {
    const { env, words } = this.#options;
    const link = await (this.#server as RestartingServer).signInLink();
    this.#say(words.up.freshLink(link));
    await openInBrowser(link, env);
  }

  #say(text: string, style?: 'dim' | 'yellow'): void {
    const { terminal, json } = this.#options;
    if (json) return;
    if (this.#connect) this.#connect.say(text, style);
    else void terminal.write(`${style === undefined ? text : paints(terminal.color)[style](text)}\n`);
  }

  /** Ends the session because of a problem. */
  #endWithProblem(problem: string): void {
    this.#problem = problem;
    this.#ending.abort();
  }
}

const tilde = (path: string, home: string): string =>
  home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;

/** Ports for new workspaces: apart from the usual ports of development servers, below the ephemeral ones. */
const firstPort = 4200;
const ports = 700;

/**
 * The ports to try, in order: that of the last start, because browsers stay signed in at the same address; one derived
 * from the workspace's path; any free port (0).
 */
export function preferredPorts(root: string, lastTime: number | undefined): number[] {
  const number = createHash('sha256').update(root).digest().readUInt32BE();
  const own = firstPort + (number % ports);
  return [...new Set([lastTime ?? own, own, 0])];
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** Whether browsers accept the port. They refuse some, such as 6000, and so does `fetch`. */
export async function isForPages(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/`);
    return true;
  } catch (error) {
    return ((error as Error).cause as Error | undefined)?.message !== 'bad port';
  }
}
