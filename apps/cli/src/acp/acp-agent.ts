import { hostname } from 'node:os';
import {
  type AgentApp,
  type AgentConnection,
  type AgentContext,
  type AuthMethod,
  agent,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type Stream,
} from '@agentclientprotocol/sdk';
import { ApiError, type Client } from '@countersign/client';
import { CountersignError, type CountersignEvent } from '@countersign/protocol';
import manifest from '../../package.json' with { type: 'json' };
import type { CommandContext } from '../command-context.ts';
import { chosenAddress } from '../sign-in/server-access.ts';
import { workspaceRoot } from '../sign-in/workspace-project.ts';
import { requireServer, serverForWorkspace, withServer } from '../sign-in/workspace-server.ts';
import type { Words } from '../words.ts';
import type { AcpWords } from './acp-words.ts';
import { EditorSession } from './editor-session.ts';
import { pairedClient } from './pairing.ts';
import { promptText } from './prompt-text.ts';
import { isUnpaired, WorkspaceLink } from './workspace-link.ts';

export interface AcpAgentOptions extends Pick<CommandContext, 'terminal' | 'env'> {
  readonly server: string | undefined;
  readonly words: Words;
  readonly acpWords: AcpWords;
  /** For tests: the least time between question and answer. */
  readonly minimumMs?: number;
}

/** Countersign's agent for one editor (UI-5): it starts conversations, shows what happens and asks for approvals. */
export class AcpAgent {
  readonly #app: AgentApp;
  #connection: AgentConnection | undefined;
  readonly #options: AcpAgentOptions;
  readonly #links = new Map<string, Promise<WorkspaceLink>>();
  readonly #sessions = new Map<string, EditorSession>();
  /** The folder that a session was opened in, whose events it gets. */
  readonly #folders = new WeakMap<EditorSession, string>();
  #editorName = 'editor';

  constructor(options: AcpAgentOptions) {
    this.#options = options;
    this.#app = agent({ name: 'countersign' })
      .onRequest(methods.agent.initialize, ({ params }) => {
        this.#editorName = params.clientInfo?.title ?? params.clientInfo?.name ?? 'editor';
        return {
          protocolVersion: PROTOCOL_VERSION,
          agentInfo: { name: 'countersign', title: 'Countersign', version: manifest.version },
          agentCapabilities: {
            loadSession: true,
            promptCapabilities: { embeddedContext: true },
            sessionCapabilities: { list: {} },
          },
          authMethods: [this.#authMethod(params.clientCapabilities?.auth?.terminal === true)],
        };
      })
      .onRequest(methods.agent.authenticate, () => this.#guard(() => this.#requirePaired()))
      .onRequest(methods.agent.session.new, ({ params, client }) =>
        this.#guard(async () => {
          const link = await this.#link(params.cwd);
          const { session } = await this.#client(link).createSession({
            params: { project_id: link.project.project_id },
            body: {},
          });
          const opened = this.#open(session.session_id, link, client);
          return { sessionId: session.session_id, modes: opened.modes };
        }, params.cwd),
      )
      .onRequest(methods.agent.session.load, ({ params, client }) =>
        this.#guard(async () => {
          const { acpWords } = this.#options;
          const link = await this.#link(params.cwd);
          const { project_id } = link.project;
          const { sessions } = await this.#client(link).listSessions({ params: { project_id } });
          // Opening it again would lose the answer to the running prompt.
          if (this.#sessions.get(params.sessionId)?.isBusy)
            throw RequestError.invalidRequest(undefined, acpWords.busy);
          if (!sessions.some(({ session_id }) => session_id === params.sessionId)) {
            throw RequestError.sessionNotFound(params.sessionId);
          }
          const opened = this.#open(params.sessionId, link, client);
          await opened.replay();
          return { modes: opened.modes };
        }, params.cwd),
      )
      .onRequest(methods.agent.session.list, ({ params }) =>
        this.#guard(async () => {
          if (!params.cwd) return { sessions: [] };
          const link = await this.#link(params.cwd);
          const { project_id } = link.project;
          const { sessions } = await this.#client(link).listSessions({ params: { project_id } });
          return {
            sessions: sessions.map(({ session_id, title, created_at, last_message_at }) => ({
              sessionId: session_id,
              cwd: link.root,
              title: title === '' ? null : title,
              updatedAt: last_message_at ?? created_at,
            })),
          };
        }, params.cwd ?? undefined),
      )
      .onRequest(methods.agent.session.setMode, ({ params }) =>
        this.#guard(async () => {
          const { acpWords } = this.#options;
          if (!(await this.#session(params.sessionId).setMode(params.modeId)))
            throw RequestError.invalidParams(undefined, acpWords.noSuchMode(params.modeId));
          return {};
        }, this.#folderOf(params.sessionId)),
      )
      .onRequest(methods.agent.session.prompt, ({ params, signal }) =>
        this.#guard(async () => {
          const { acpWords } = this.#options;
          const session = this.#session(params.sessionId);
          if (session.isBusy) throw RequestError.invalidRequest(undefined, acpWords.busy);
          const text = promptText(params.prompt);
          if (text === '') throw RequestError.invalidParams(undefined, acpWords.emptyPrompt);
          signal.addEventListener('abort', () => this.#cancelUnlessGone(session), { once: true });
          return session.prompt(text);
        }, this.#folderOf(params.sessionId)),
      )
      .onNotification(methods.agent.session.cancel, async ({ params }) => {
        await this.#sessions
          .get(params.sessionId)
          ?.cancel()
          .catch((error: Error) =>
            this.#options.terminal.writeError(`${this.#options.words.said(error.message)}\n`),
          );
      });
  }

  connect(stream: Stream): AgentConnection {
    this.#connection = this.#app.connect(stream);
    return this.#connection;
  }

  /** Withdraws every question without a decision, and ends a runner that was started here. */
  async close(): Promise<void> {
    for (const session of this.#sessions.values()) session.dispose();
    const links = await Promise.allSettled(this.#links.values());
    await Promise.all(links.map((link) => (link.status === 'fulfilled' ? link.value.close() : undefined)));
  }

  /** Cancelling a prompt stops its run. An editor that disconnects sends nothing (AP-3), and the run goes on. */
  #cancelUnlessGone(session: EditorSession): void {
    setImmediate(() => {
      if (this.#connection?.signal.aborted === false) session.cancel().catch(() => {});
    });
  }

  readonly #clients = new WeakMap<WorkspaceLink, Client>();

  #client(link: WorkspaceLink): Client {
    return this.#clients.get(link) as Client;
  }

  #session(id: string): EditorSession {
    const session = this.#sessions.get(id);
    if (!session) throw RequestError.sessionNotFound(id);
    return session;
  }

  #open(sessionId: string, link: WorkspaceLink, editor: AgentContext): EditorSession {
    const { words, acpWords, minimumMs } = this.#options;
    this.#sessions.get(sessionId)?.dispose();
    const session = new EditorSession({
      sessionId,
      projectId: link.project.project_id,
      root: link.root,
      client: this.#client(link),
      editor,
      words,
      acpWords,
      minimumMs,
    });
    this.#sessions.set(sessionId, session);
    this.#folders.set(session, link.folder);
    return session;
  }

  /** Opens the folder's project and events once, also for simultaneous requests. */
  async #link(cwd: string): Promise<WorkspaceLink> {
    const folder = workspaceRoot(cwd);
    const opening = this.#openedAnew(folder, this.#links.get(folder));
    this.#links.set(folder, opening);
    opening.catch(() => {
      if (this.#links.get(folder) === opening) this.#links.delete(folder);
    });
    return opening;
  }

  async #openedAnew(folder: string, before: Promise<WorkspaceLink> | undefined): Promise<WorkspaceLink> {
    const known = await before?.catch(() => undefined);
    if (known && !known.isRefused && !(await this.#hasMoved(known))) return known;
    await known?.close();
    return this.#openLink(folder);
  }

  /** `up` was restarted at another address. */
  async #hasMoved({ address, folder }: WorkspaceLink): Promise<boolean> {
    const { env, words, server } = this.#options;
    const now = await serverForWorkspace(server, folder, words, env);
    return now.stoppedUp === undefined && now.address !== address;
  }

  async #openLink(folder: string): Promise<WorkspaceLink> {
    const { env, terminal, words, acpWords, server } = this.#options;
    const found = await serverForWorkspace(server, folder, words, env);
    return withServer(found, async (address) => {
      await requireServer(address, words);
      const client = this.#paired(address);
      const onEvent = (event: CountersignEvent) => {
        for (const session of this.#sessionsIn(folder)) session.receive(event);
      };
      const link = await WorkspaceLink.open({
        client,
        address,
        folder,
        // Sessions of another server are not those of this folder's `up`.
        makesProject: found.stoppedUp === undefined,
        terminal,
        env,
        words,
        acpWords,
        onEvent,
        onLost: () => this.#tellWhatIsMissing(folder),
      });
      this.#clients.set(link, client);
      return link;
    });
  }

  #folderOf(sessionId: string): string | undefined {
    const session = this.#sessions.get(sessionId);
    return session && this.#folders.get(session);
  }

  #sessionsIn(folder: string): EditorSession[] {
    return [...this.#sessions.values()].filter((session) => this.#folders.get(session) === folder);
  }

  /** `up` ended while the agent was at work: tells the caller why there is no answer. */
  async #tellWhatIsMissing(folder: string): Promise<boolean> {
    const missing = await this.#upNotRunning(folder);
    if (!missing) return false;
    const text = this.#options.words.said(missing.message);
    for (const session of this.#sessionsIn(folder)) session.tellWhileBusy(text);
    return true;
  }

  async #upNotRunning(folder: string): Promise<CountersignError | undefined> {
    const { env, words, server } = this.#options;
    const { stoppedUp } = await serverForWorkspace(server, workspaceRoot(folder), words, env);
    return stoppedUp === undefined
      ? undefined
      : new CountersignError('UP_NOT_RUNNING', { workspace: stoppedUp });
  }

  #paired(address: string): Client {
    const { words, env, acpWords } = this.#options;
    const device = `${this.#editorName} on ${hostname()}`.slice(0, 100);
    const client = pairedClient(address, device, words, env);
    if (!client) throw RequestError.authRequired({ how: 'countersign acp --pair' }, acpWords.howToPair);
    return client;
  }

  /** Read the pairing again: the person may have paired this editor in a terminal meanwhile. */
  async #requirePaired(): Promise<Record<string, never>> {
    const { env, words, server } = this.#options;
    await this.#paired(chosenAddress(server, words, env)).listProjects();
    return {};
  }

  #authMethod(hasTerminal: boolean): AuthMethod {
    const { pairName: name, howToPair: description } = this.#options.acpWords;
    return hasTerminal
      ? { type: 'terminal', id: 'pair-in-terminal', name, description, args: ['--pair'] }
      : { id: 'pair', name, description };
  }

  /** Turns an error into one whose message the editor shows: what happened and what to do. */
  async #guard<T>(work: () => Promise<T>, folder?: string): Promise<T> {
    try {
      return await work();
    } catch (failure) {
      const { acpWords, words } = this.#options;
      const isNoAnswer = failure instanceof ApiError && failure.code === 'UNAVAILABLE';
      const missing = isNoAnswer && folder !== undefined ? await this.#upNotRunning(folder) : undefined;
      const error = missing ?? failure;
      if (isUnpaired(error))
        throw RequestError.authRequired({ how: 'countersign acp --pair' }, acpWords.pairingEnded);
      if (error instanceof ApiError || error instanceof CountersignError)
        throw RequestError.internalError({ code: error.code }, words.said(error.message));
      throw error;
    }
  }
}
