import { hostname } from 'node:os';
import {
  type AgentApp,
  type AgentConnection,
  type AgentContext,
  type AuthMethod,
  agent,
  type ClientCapabilities,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type Stream,
} from '@agentclientprotocol/sdk';
import { ApiError, type Client } from '@countersign/client';
import { CountersignError, type CountersignEvent, type Session } from '@countersign/protocol';
import manifest from '../../package.json' with { type: 'json' };
import type { CommandContext } from '../command-context.ts';
import { chosenAddress } from '../sign-in/server-access.ts';
import { workspaceRoot } from '../sign-in/workspace-project.ts';
import { requireServer, serverForWorkspace, withServer } from '../sign-in/workspace-server.ts';
import type { Words } from '../words.ts';
import { EditorDocuments } from './editor-files.ts';
import { EditorSession } from './editor-session.ts';
import { pairedClient } from './pairing.ts';
import { promptText } from './prompt-text.ts';
import { WorkspaceLink } from './workspace-link.ts';

export interface AcpAgentOptions extends Pick<CommandContext, 'terminal' | 'env'> {
  readonly server: string | undefined;
  readonly words: Words;
  /** For tests: how long a question must be shown before an approval counts. */
  readonly minimumMs?: number;
}

/** Countersign's agent for one editor (UI-5): it starts conversations, shows what happens and asks for approvals. */
export class AcpAgent {
  readonly #app: AgentApp;
  #connection: AgentConnection | undefined;
  readonly #options: AcpAgentOptions;
  readonly #links = new Map<string, Promise<WorkspaceLink>>();
  readonly #sessions = new Map<string, EditorSession>();
  #editorName = 'editor';
  #capabilities: ClientCapabilities | undefined;

  constructor(options: AcpAgentOptions) {
    this.#options = options;
    const { words } = options;
    this.#app = agent({ name: 'countersign' })
      .onRequest(methods.agent.initialize, ({ params }) => {
        this.#editorName = params.clientInfo?.title ?? params.clientInfo?.name ?? 'editor';
        this.#capabilities = params.clientCapabilities;
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
          const { session } = await link.client.createSession({
            params: { project_id: link.project.project_id },
            body: {},
          });
          const opened = this.#open(session, link, client);
          // After the response: before it the editor does not know the session.
          setImmediate(() => opened.announceCommands());
          return { sessionId: session.session_id, modes: opened.modes };
        }, params.cwd),
      )
      .onRequest(methods.agent.session.load, ({ params, client }) =>
        this.#guard(async () => {
          const link = await this.#link(params.cwd);
          const { project_id } = link.project;
          const { sessions } = await link.client.listSessions({ params: { project_id } });
          // Loading it again would lose the reply to the running prompt.
          if (this.#sessions.get(params.sessionId)?.isBusy)
            throw RequestError.invalidRequest(undefined, words.acp.busy);
          const session = sessions.find(({ session_id }) => session_id === params.sessionId);
          if (!session) throw RequestError.sessionNotFound(params.sessionId);
          const opened = this.#open(session, link, client);
          await opened.replay();
          opened.announceCommands();
          return { modes: opened.modes };
        }, params.cwd),
      )
      .onRequest(methods.agent.session.list, ({ params }) =>
        this.#guard(async () => {
          if (!params.cwd) return { sessions: [] };
          const link = await this.#link(params.cwd);
          const { project_id } = link.project;
          const { sessions } = await link.client.listSessions({ params: { project_id } });
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
          if (!(await this.#session(params.sessionId).setMode(params.modeId)))
            throw RequestError.invalidParams(undefined, words.acp.noSuchMode(params.modeId));
          return {};
        }, this.#sessions.get(params.sessionId)?.folder),
      )
      .onRequest(methods.agent.session.prompt, ({ params, signal }) =>
        this.#guard(async () => {
          const session = this.#session(params.sessionId);
          const text = promptText(params.prompt);
          if (text === '') throw RequestError.invalidParams(undefined, words.acp.emptyPrompt);
          signal.addEventListener('abort', () => this.#cancelUnlessDisconnected(session), { once: true });
          return session.prompt(text);
        }, this.#sessions.get(params.sessionId)?.folder),
      )
      .onNotification(methods.agent.session.cancel, async ({ params }) => {
        await this.#sessions
          .get(params.sessionId)
          ?.cancel()
          .catch((error: Error) => options.terminal.writeError(`${words.said(error)}\n`));
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

  /** Stops the run if the editor cancelled the prompt. If the editor has disconnected, the run continues (AP-3). */
  #cancelUnlessDisconnected(session: EditorSession): void {
    setImmediate(() => {
      if (this.#connection?.signal.aborted === false) session.cancel().catch(() => {});
    });
  }

  #session(id: string): EditorSession {
    const session = this.#sessions.get(id);
    if (!session) throw RequestError.sessionNotFound(id);
    return session;
  }

  #open(session: Session, link: WorkspaceLink, editor: AgentContext): EditorSession {
    const { words, minimumMs } = this.#options;
    const { session_id } = session;
    this.#sessions.get(session_id)?.dispose();
    const opened = new EditorSession({
      session,
      folder: link.folder,
      root: link.root,
      client: link.client,
      editor,
      capabilities: this.#capabilities,
      words,
      minimumMs,
    });
    this.#sessions.delete(session_id); // set again below, so that the newest session is last
    this.#sessions.set(session_id, opened);
    return opened;
  }

  /** Opens the folder's project and events once, even for simultaneous requests. */
  async #link(cwd: string): Promise<WorkspaceLink> {
    const folder = workspaceRoot(cwd);
    const opening = this.#reuseOrOpen(folder, this.#links.get(folder));
    this.#links.set(folder, opening);
    opening.catch(() => {
      if (this.#links.get(folder) === opening) this.#links.delete(folder);
    });
    return opening;
  }

  async #reuseOrOpen(folder: string, earlier: Promise<WorkspaceLink> | undefined): Promise<WorkspaceLink> {
    const known = await earlier?.catch(() => undefined);
    if (known && !known.isRefused && !(await this.#hasMoved(known))) return known;
    await known?.close();
    return this.#openLink(folder);
  }

  /** Returns whether `up` was restarted at another address. */
  async #hasMoved({ address, folder }: WorkspaceLink): Promise<boolean> {
    const { env, words, server } = this.#options;
    const now = await serverForWorkspace(server, folder, words, env);
    return now.stoppedUp === undefined && now.address !== address;
  }

  async #openLink(folder: string): Promise<WorkspaceLink> {
    const { env, words, server } = this.#options;
    const found = await serverForWorkspace(server, folder, words, env);
    return withServer(found, async (address) => {
      await requireServer(address, words);
      const onEvent = (event: CountersignEvent) => {
        for (const session of this.#sessionsIn(folder)) session.receive(event);
      };
      return WorkspaceLink.open({
        ...this.#options,
        client: this.#paired(address),
        address,
        folder,
        documents: this.#documentsIn(folder),
        // If this folder's `up` has ended, the address is another server's: do not make the project there.
        makesProject: found.stoppedUp === undefined,
        onEvent,
        onLost: () => this.#tellIfUpEnded(folder),
      });
    });
  }

  /** The editor's unsaved files, if it can be asked for them (RN-9). */
  #documentsIn(folder: string): EditorDocuments | undefined {
    if (this.#capabilities?.fs?.readTextFile !== true) return undefined;
    return new EditorDocuments(() => this.#sessionsIn(folder).at(-1)?.files);
  }

  #sessionsIn(folder: string): EditorSession[] {
    return [...this.#sessions.values()].filter((session) => session.folder === folder);
  }

  /** If `up` has ended, tells busy sessions why no reply comes. Returns whether it has ended. */
  async #tellIfUpEnded(folder: string): Promise<boolean> {
    const missing = await this.#upNotRunning(folder);
    if (!missing) return false;
    const text = this.#options.words.said(missing);
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
    const { words, env } = this.#options;
    const device = `${this.#editorName} on ${hostname()}`.slice(0, 100);
    const client = pairedClient(address, device, words, env);
    if (!client) throw RequestError.authRequired({ how: 'countersign acp --pair' }, words.acp.howToPair);
    return client;
  }

  /** Reads the pairing again: the person may have paired this editor in a terminal meanwhile. */
  async #requirePaired(): Promise<Record<string, never>> {
    const { env, words, server } = this.#options;
    await this.#paired(chosenAddress(server, words, env)).listProjects();
    return {};
  }

  #authMethod(hasTerminal: boolean): AuthMethod {
    const { pairName: name, howToPair: description } = this.#options.words.acp;
    return hasTerminal
      ? { type: 'terminal', id: 'pair-in-terminal', name, description, args: ['--pair'] }
      : { id: 'pair', name, description };
  }

  /** Turns errors into ACP errors whose message the editor shows. */
  async #guard<T>(work: () => Promise<T>, folder?: string): Promise<T> {
    try {
      return await work();
    } catch (failure) {
      const { words } = this.#options;
      const isUnavailable = failure instanceof ApiError && failure.code === 'UNAVAILABLE';
      const missing = isUnavailable && folder !== undefined ? await this.#upNotRunning(folder) : undefined;
      const error = missing ?? failure;
      if (error instanceof ApiError && error.status === 401)
        throw RequestError.authRequired({ how: 'countersign acp --pair' }, words.acp.pairingEnded);
      if (error instanceof ApiError || error instanceof CountersignError)
        throw RequestError.internalError({ code: error.code }, words.said(error));
      throw error;
    }
  }
}
