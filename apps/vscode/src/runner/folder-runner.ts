import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { approvalsServer, KnownApprovals } from '@countersign/approvals';
import {
  ApiError,
  type ApprovalDecision,
  type DecisionOutcome,
  decide,
  type StreamState,
  systemClock,
} from '@countersign/client';
import { type CountersignEvent, makeVisible } from '@countersign/protocol';
import { RunnerSession } from '@countersign/runner-client';
import {
  type ApprovalRequest,
  type LanguageFeatures,
  type Logger,
  type OpenDocuments,
  type ProposedText,
  personsFolders,
  readCeiling,
  requireHandlerSettings,
  type Workspace,
  workspaceAt,
} from '@countersign/tool-runner';
import type { PendingApprovals } from '../approvals/pending-approvals.ts';
import type { Account } from '../connection/account.ts';

export interface FolderProject {
  readonly project_id: string;
  readonly name: string;
  readonly workspace: string | null;
}

/** Where the folder's calls run: in this window, in another program (`holder`), or not here, and why. */
export type RunsIn = 'here' | 'untrusted' | 'disabled' | { readonly holder: string };

export type FolderState =
  | { readonly status: 'connecting' }
  | { readonly status: 'open'; readonly runs: RunsIn }
  | { readonly status: 'waiting'; readonly problem: string; readonly retryInMs: number }
  | { readonly status: 'failed'; readonly problem: string };

export interface FolderRunnerOptions {
  readonly account: Account;
  /** As the editor names it. */
  readonly folder: string;
  /** Whether tools may be executed in this window, and if not, why. */
  readonly mayRun: true | 'untrusted' | 'disabled';
  readonly device: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly documents: OpenDocuments;
  readonly languageFeatures: LanguageFeatures;
  readonly ripgrep: string | undefined;
  /** The person's editor settings by name. An invalid one keeps the runner from starting. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly runUnisolated: boolean;
  readonly logger: Logger;
  readonly pending: PendingApprovals<FolderRunner>;
  readonly onState: () => void;
  readonly onEvent: (event: CountersignEvent) => void;
  readonly onUnauthenticated: () => void;
  /** How often to try to take over a folder that another program runs. */
  readonly takeOverMs?: number;
}

const defaultTakeOverMs = 5_000;
const firstPauseMs = 1_000;
const longestPauseMs = 20_000;

/**
 * Connects one folder of the window to the server: as its runner if that is allowed and no other program is, else as a
 * front end that shows and decides approvals (RN-10). It reconnects after every failure.
 */
export class FolderRunner {
  /** The folder's approvals. */
  readonly approvals: KnownApprovals;
  readonly #options: FolderRunnerOptions;
  readonly #ended = new AbortController();
  #state: FolderState = { status: 'connecting' };
  #workspace: Workspace | undefined;
  #project: FolderProject | undefined;
  #session: RunnerSession | undefined;
  #working: Promise<void> = Promise.resolve();

  constructor(options: FolderRunnerOptions) {
    this.#options = options;
    const { account, logger } = options;
    this.approvals = new KnownApprovals({
      clock: systemClock,
      server: { ...approvalsServer(account.client), decide: (decision) => this.decide(decision) },
      isBesideRunner: () => this.#session?.runner !== undefined,
      isShown: ({ project_id }) => project_id === this.#project?.project_id,
      onProblem: (error) => logger.error('Reading approvals failed', { error }),
    });
  }

  get folder(): string {
    return this.#options.folder;
  }

  get state(): FolderState {
    return this.#state;
  }

  /** Undefined until the server has told. */
  get project(): FolderProject | undefined {
    return this.#project;
  }

  /** The real path of the folder; undefined if it has none. */
  get root(): string | undefined {
    return this.#workspace?.root;
  }

  /** Calling it twice is harmless. */
  start(): void {
    if (this.#workspace) return;
    this.#options.pending.add(this);
    try {
      const { folder, environment, documents, ripgrep } = this.#options;
      this.#workspace = workspaceAt(folder, {
        folders: personsFolders(environment),
        documents,
        ...(ripgrep !== undefined && { ripgrep }),
      });
    } catch (error) {
      this.#enter({ status: 'failed', problem: messageOf(error) });
      return;
    }
    this.#working = this.#connect(this.#workspace);
  }

  /** Cards go away and nothing is decided; what executes is stopped and reported (AP-3). */
  async dispose(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.#options.pending.remove(this);
    await this.#working;
    await this.#session?.dispose();
  }

  /** Sends a decision. Through the runner if there is one, which records that it was made on this machine (RN-2). */
  decide(decision: ApprovalDecision): Promise<DecisionOutcome> {
    return this.#session?.decide(decision) ?? decide(this.#options.account.client, decision);
  }

  /**
   * Whether this machine's ceiling requires a decision on what its own runner shows (RN-2). A card from the server's
   * data does not count: a server that lies could draw anything.
   */
  wantsOwnCard({ risk_level }: ApprovalRequest): boolean {
    if (!this.#session?.runner || !this.#workspace) return false;
    const ceiling = readCeiling(personsFolders(this.#options.environment).config, this.#workspace.root);
    return ceiling.ok && ceiling.decideHere.includes(risk_level);
  }

  /** The file before and after, if this window's runner would change it. */
  async proposedText({ tool_name, tool_params }: ApprovalRequest): Promise<ProposedText | undefined> {
    return this.#session?.runner?.handler.proposedText(tool_name, tool_params);
  }

  async #connect(workspace: Workspace): Promise<void> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        this.#project = await this.#projectOf(workspace.root);
        break;
      } catch (error) {
        if (this.#ended.signal.aborted) return;
        if (error instanceof ApiError && error.status === 401) return this.#unauthenticated(error);
        if (!(error instanceof ApiError) || !error.isRetryable)
          return this.#enter({ status: 'failed', problem: messageOf(error) });
        this.#enter({ status: 'waiting', problem: messageOf(error), retryInMs: pauseMs });
        await pause(pauseMs, undefined, { signal: this.#ended.signal }).catch(() => {});
      }
    }
    if (this.#ended.signal.aborted) return;
    this.#attach(workspace, this.#project);
  }

  /** Finds the project of the folder by its path, or creates it. */
  async #projectOf(root: string): Promise<FolderProject> {
    const { client } = this.#options.account;
    const { signal } = this.#ended;
    const { projects } = await client.listProjects({}, { signal, retry: { times: 3 } });
    const known = projects.find(({ workspace }) => workspace === root);
    if (known) return known;
    const name = basename(root).slice(0, 200) || root;
    return (await client.createProject({ body: { name, workspace: root } }, { signal })).project;
  }

  /** Connects as the runner if possible, else as a front end. */
  #attach(workspace: Workspace, { project_id: projectId }: FolderProject): void {
    const { account: access, device, mayRun, logger, settings, environment } = this.#options;
    const { runUnisolated, languageFeatures, takeOverMs = defaultTakeOverMs } = this.#options;
    try {
      const session = new RunnerSession({
        access,
        projectId,
        device,
        runner: {
          workspace,
          configFolder: personsFolders(environment).config,
          logger,
          ...(mayRun === true && requireHandlerSettings(settings, 'countersign.runner.')),
          runUnisolated,
          languageFeatures,
          takesOver: true,
        },
        cards: {
          show: (request) => this.approvals.show({ ...request, omitted: undefined }),
          withdraw: (approvalId) => this.approvals.withdraw(approvalId),
        },
        lookAgainMs: takeOverMs,
        onEvent: (event) => this.#receive(event),
        onStream: (state) => this.#streamIs(state),
        onStarted: () => this.approvals.withdrawAll(), // the runner draws what still waits
        onTrouble: (error) => logger.error('The runner could not be started', { error }),
      });
      this.#session = session;
      if (mayRun === true) session.start();
      session.listen();
    } catch (error) {
      this.#enter({ status: 'failed', problem: messageOf(error) });
    }
  }

  get #runs(): RunsIn {
    const { mayRun } = this.#options;
    if (mayRun !== true) return mayRun;
    const holder = this.#session?.holder;
    return holder === undefined ? 'here' : { holder: makeVisible(holder) };
  }

  #receive(event: CountersignEvent): void {
    this.#options.onEvent(event); // first: the message about the outcome needs the card
    this.approvals.receive(event);
  }

  #streamIs(state: StreamState): void {
    if (state.status === 'open') {
      this.#enter({ status: 'open', runs: this.#runs });
    } else if (state.status === 'waiting') {
      const { error, retryInMs } = state;
      this.#enter({ status: 'waiting', problem: messageOf(error), retryInMs });
    } else if (state.status === 'connecting') {
      if (this.#state.status !== 'waiting') this.#enter({ status: 'connecting' });
    } else if (state.why === 'unauthenticated') this.#unauthenticated(state.error);
    else if (state.why === 'refused') this.#enter({ status: 'failed', problem: messageOf(state.error) });
  }

  #unauthenticated(error: ApiError): void {
    if (this.#ended.signal.aborted) return; // disposing revoked the token
    this.#enter({ status: 'failed', problem: messageOf(error) });
    this.#options.onUnauthenticated();
  }

  #enter(state: FolderState): void {
    if (this.#ended.signal.aborted) return;
    this.#state = state;
    this.#options.onState();
  }
}

const messageOf = (error: unknown): string =>
  makeVisible(error instanceof Error ? error.message : String(error));
