import { type Client, type EventStream, openStream } from '@countersign/client';
import type { CountersignEvent } from '@countersign/protocol';
import { type OpenDocuments, personsFolders, workspaceAt } from '@countersign/tool-runner';
import { type CommandContext, usageOf } from '../command-context.ts';
import { ConnectSession } from '../connect/connect-session.ts';
import { serverAccess } from '../sign-in/server-access.ts';
import { findOrMakeProject, findProject, type Project } from '../sign-in/workspace-project.ts';
import type { Words } from '../words.ts';
import { LossNotice } from './loss-notice.ts';

const usage = usageOf('acp');
/** How long opening a folder waits for the runner, which may still connect later. */
const connectWithinMs = 5_000;

export interface WorkspaceLinkOptions extends Pick<CommandContext, 'terminal' | 'env'> {
  /** Uses the paired editor's token. */
  readonly client: Client;
  readonly address: string;
  /** The folder that the editor has open. */
  readonly folder: string;
  readonly words: Words;
  readonly onEvent: (event: CountersignEvent) => void;
  /** The editor's unsaved files. With them our runner takes over from one that cannot see them (RN-10). */
  readonly documents: OpenDocuments | undefined;
  /** Whether to make a project if the server has none for the folder. */
  readonly makesProject: boolean;
  /** Called at each retry after the connection was lost, until it resolves with true (the person was told). */
  readonly onLost: () => Promise<boolean>;
}

/** An editor's folder on the server: its project, its events, and a runner, which is started if there is none. */
export class WorkspaceLink {
  readonly project: Project;
  readonly root: string;
  readonly #options: WorkspaceLinkOptions;
  readonly #stream: EventStream;
  readonly #ending = new AbortController();
  #runner: Promise<unknown> | undefined;

  private constructor(options: WorkspaceLinkOptions, project: Project) {
    const { client, onEvent, folder } = options;
    this.#options = options;
    this.project = project;
    this.root = project.workspace ?? folder;
    const loss = new LossNotice(options.onLost);
    this.#stream = openStream({
      client,
      projectId: project.project_id,
      onEvent,
      onState: ({ status }) => {
        if (status === 'open') loss.over();
        if (status === 'waiting') void loss.retried();
      },
    });
  }

  static async open(options: WorkspaceLinkOptions): Promise<WorkspaceLink> {
    const { client, address, folder, words, env, makesProject } = options;
    const wanted = { root: folder, projectId: undefined, inside: true };
    const found = await findProject(client, wanted, words, usage);
    if (!found && !makesProject) throw usage(words.server.noProject(folder));
    const project =
      found ??
      // The editor's token may not make projects; the person's own may.
      (await findOrMakeProject(serverAccess(address, words, env).client, wanted, words, usage)).project;
    const link = new WorkspaceLink(options, project);
    try {
      await link.#requireRunner();
    } catch (error) {
      await link.close();
      throw error;
    }
    return link;
  }

  get client(): Client {
    return this.#options.client;
  }

  get address(): string {
    return this.#options.address;
  }

  get folder(): string {
    return this.#options.folder;
  }

  /** Whether the server has ended the stream. */
  get isRefused(): boolean {
    return this.#stream.state.status === 'closed';
  }

  async close(): Promise<void> {
    this.#stream.close();
    this.#ending.abort();
    await this.#runner;
  }

  /**
   * Starts the runner, because a person who opens a folder in an editor expects tools to work. The journal's lock shows
   * whether another program is the runner; the server may still list one that has just ended.
   */
  async #requireRunner(): Promise<void> {
    const { client, terminal, words } = this.#options;
    try {
      const holder = await this.#startRunner();
      const { startedRunner, waitsForRunner } = words.acp;
      const told = holder === undefined ? startedRunner(this.root) : waitsForRunner(this.root, holder);
      terminal.writeError(`${told}\n`);
    } catch (error) {
      const { runners } = await client.listRunners();
      if (runners.some(({ connected, workspace }) => connected && workspace === this.root)) return;
      terminal.writeError(`${words.acp.noRunner(this.root)} (${words.said(error as Error)})\n`);
    }
  }

  /**
   * Resolves when we are connected, with the program that is the runner for now, if it is another one. Rejects if we
   * cannot connect, or if another program is the runner and we have no reason to take over.
   */
  #startRunner(): Promise<string | undefined> {
    const { address, terminal, env, words, documents } = this.#options;
    const folders = personsFolders(env);
    return new Promise((resolve, reject) => {
      const tooLate = setTimeout(() => reject(new Error(words.acp.runnerWaits)), connectWithinMs);
      tooLate.unref();
      const onOpen = () => {
        clearTimeout(tooLate);
        resolve(session.holder);
      };
      const { screen: _, ...withoutScreen } = terminal;
      const session: ConnectSession = new ConnectSession({
        access: serverAccess(address, words, env),
        project: this.project,
        workspace: workspaceAt(this.root, { folders, ...(documents && { documents }) }),
        takesOver: documents !== undefined,
        configFolder: folders.config,
        words,
        // Standard output carries the protocol only.
        terminal: { ...withoutScreen, write: async () => {} },
        env,
        json: false,
        prompt: false,
        runUnisolated: false,
        log: {},
        host: { onOpen, onKey: () => {}, keys: '', ending: this.#ending.signal },
      });
      // The runner may end before it connects, for example because the person's sign-in has expired.
      const ended = (code: number) => reject(new Error(words.acp.runnerEnded(code)));
      this.#runner = session.run().then(ended, reject);
    });
  }
}
