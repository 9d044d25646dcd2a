import { ApiError, type Client, type EventStream, openStream } from '@countersign/client';
import type { CountersignEvent } from '@countersign/protocol';
import { personsFolders, workspaceAt } from '@countersign/tool-runner';
import { type CommandContext, usageOf } from '../command-context.ts';
import { ConnectSession } from '../connect/connect-session.ts';
import { type ServerAccess, serverAccess } from '../sign-in/server-access.ts';
import { findOrMakeProject, findProject, type Project } from '../sign-in/workspace-project.ts';
import type { Words } from '../words.ts';
import type { AcpWords } from './acp-words.ts';

const usage = usageOf('acp');
/** An editor waits no longer than this for a runner; it may still connect later. */
const connectWithinMs = 5_000;

export interface WorkspaceLinkOptions extends Pick<CommandContext, 'terminal' | 'env'> {
  /** Of the paired editor. */
  readonly client: Client;
  readonly address: string;
  /** The folder that the editor has open. */
  readonly folder: string;
  readonly words: Words;
  readonly acpWords: AcpWords;
  readonly onEvent: (event: CountersignEvent) => void;
  /** Whether a project may be made where the server has none for the folder. */
  readonly makesProject: boolean;
  /** Called after the connection was lost, at each retry until it resolves with true: the person was told. */
  readonly onLost: () => Promise<boolean>;
}

/** An editor's folder at the server: its project, its events, and a runner, which is started where there is none. */
export class WorkspaceLink {
  readonly project: Project;
  readonly root: string;
  readonly #options: WorkspaceLinkOptions;
  readonly #stream: EventStream;
  readonly #ending = new AbortController();
  #runner: Promise<unknown> | undefined;
  #isLossTold = false;

  private constructor(options: WorkspaceLinkOptions, project: Project) {
    const { client, onEvent, folder } = options;
    this.#options = options;
    this.project = project;
    this.root = project.workspace ?? folder;
    this.#stream = openStream({
      client,
      projectId: project.project_id,
      onEvent,
      onState: ({ status }) => {
        if (status === 'open') this.#isLossTold = false;
        if (status === 'waiting') void this.#tellLoss();
      },
    });
  }

  static async open(options: WorkspaceLinkOptions): Promise<WorkspaceLink> {
    const { client, folder, words, makesProject } = options;
    const wanted = { root: folder, projectId: undefined, inside: true };
    const found = await findProject(client, wanted, words, usage);
    if (!found && !makesProject) throw usage(words.server.noProject(folder));
    const project =
      found ??
      // An editor may not make projects; the person at this machine may.
      (await findOrMakeProject(personsAccess(options).client, wanted, words, usage)).project;
    const link = new WorkspaceLink(options, project);
    try {
      await link.#requireRunner();
    } catch (error) {
      await link.close();
      throw error;
    }
    return link;
  }

  get address(): string {
    return this.#options.address;
  }

  /** As the editor has it open. */
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

  async #tellLoss(): Promise<void> {
    if (this.#isLossTold) return;
    this.#isLossTold = true;
    this.#isLossTold = await this.#options.onLost().catch(() => false);
  }

  /**
   * Starts the runner, because a person who opens a folder in an editor expects tools to work. The journal's lock shows
   * whether another program is the runner; the server may still list one that has just ended.
   */
  async #requireRunner(): Promise<void> {
    const { client, terminal, words, acpWords } = this.#options;
    try {
      await this.#startRunner();
      terminal.writeError(`${acpWords.startedRunner(this.root)}\n`);
    } catch (error) {
      const { runners } = await client.listRunners();
      if (runners.some(({ connected, workspace }) => connected && workspace === this.root)) return;
      terminal.writeError(`${acpWords.noRunner(this.root)} (${words.said((error as Error).message)})\n`);
    }
  }

  /** Resolves when it is connected; rejects when it cannot be, or another program is the runner already. */
  #startRunner(): Promise<void> {
    const { terminal, env, words } = this.#options;
    const folders = personsFolders(env);
    return new Promise((resolve, reject) => {
      const { runnerEnded, runnerWaits } = this.#options.acpWords;
      const tooLate = setTimeout(() => reject(new Error(runnerWaits)), connectWithinMs);
      tooLate.unref();
      const onOpen = () => {
        clearTimeout(tooLate);
        resolve();
      };
      const { screen: _, ...withoutScreen } = terminal;
      const session = new ConnectSession({
        access: personsAccess(this.#options),
        project: this.project,
        workspace: workspaceAt(this.root, { folders }),
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
      // It may also end before it was connected, for example because the person's sign-in has expired.
      const ended = (code: number) => reject(new Error(runnerEnded(code)));
      this.#runner = session.run().then(ended, reject);
    });
  }
}

/** The person's own access, where they are signed in on this machine. */
function personsAccess({ address, words, env }: WorkspaceLinkOptions): ServerAccess {
  return serverAccess(address, words, env);
}

/** Whether a request failed because the pairing was ended. */
export const isUnpaired = (error: unknown): boolean => error instanceof ApiError && error.status === 401;
