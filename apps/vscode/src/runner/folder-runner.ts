import {
  ApiError,
  type ApprovalDecision,
  type DecisionOutcome,
  decide,
  type EventStream,
  openStream,
  type StreamState,
} from '@countersign/client';
import { type CountersignEvent, makeVisible } from '@countersign/protocol';
import { RunnerDialogs, runnerApiOverClient, ScopedToken } from '@countersign/runner-client';
import {
  type ApprovalRequest,
  announcedCapabilities,
  JournalHeld,
  type LanguageFeatures,
  type Logger,
  type OpenDocuments,
  type ProposedText,
  personsFolders,
  readCeiling,
  requireHandlerSettings,
  runnerIdOf,
  runnerInstanceOf,
  type Workspace,
  WorkspaceRunner,
  workspaceAt,
} from '@countersign/tool-runner';
import type { PendingApprovals } from '../approvals/pending-approvals.ts';
import type { Account } from '../connection/account.ts';
import { type FolderProject, projectOfFolder } from './folder-project.ts';

/** Who executes the folder's calls: this window, another program, or nobody here and why. */
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
  /** As the person wrote them in the editor's settings, by name; a bad one keeps the runner from starting. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly runUnisolated: boolean;
  readonly logger: Logger;
  readonly pending: PendingApprovals<FolderRunner>;
  readonly onState: () => void;
  readonly onEvent: (event: CountersignEvent) => void;
  readonly onUnauthenticated: () => void;
  /** How often a folder that another program runs is tried again. */
  readonly takeOverMs?: number;
}

const defaultTakeOverMs = 5_000;
const firstPauseMs = 1_000;
const longestPauseMs = 20_000;

/**
 * One folder of the window on the server: its runner where it may run here and nobody else has it, and otherwise a
 * front end that shows what waits and decides (RN-10). It outlives every failure of the server.
 */
export class FolderRunner {
  readonly #options: FolderRunnerOptions;
  readonly #token: ScopedToken;
  readonly #dialogs: RunnerDialogs;
  readonly #ended = new AbortController();
  #state: FolderState = { status: 'connecting' };
  #workspace: Workspace | undefined;
  #project: FolderProject | undefined;
  #runner: WorkspaceRunner | undefined;
  #runs: RunsIn = 'disabled';
  #stream: EventStream | undefined;
  #takeOver: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();

  constructor(options: FolderRunnerOptions) {
    const { account, folder, device, pending } = options;
    this.#options = options;
    this.#token = new ScopedToken(account, { name: `runner of ${folder} (${device})`, scope: 'runner' });
    this.#dialogs = new RunnerDialogs((decision) => decide(account.client, decision), {
      show: (request) => pending.show(this, request),
      withdraw: (approvalId) => pending.withdraw(approvalId),
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

  /** The real path that tools work in; undefined where there is none. */
  get root(): string | undefined {
    return this.#workspace?.root;
  }

  /** Harmless twice. */
  start(): void {
    if (this.#workspace) return;
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
    clearTimeout(this.#takeOver);
    this.#options.pending.withdrawAll(this);
    await this.#working;
    await this.#runner?.dispose();
    this.#stream?.close();
    await this.#token.revoke();
  }

  /** Beside a runner it goes through that, which remembers that it was decided on this machine (RN-2). */
  decide(decision: ApprovalDecision): Promise<DecisionOutcome> {
    return this.#dialogs.decide(decision);
  }

  /**
   * Whether this machine's ceiling wants the call to be decided by what its own runner shows (RN-2). A card that is drawn
   * from what the server says is not that, wherever it stands: a server that lies would draw it as it likes.
   */
  wantsOwnCard({ risk_level }: ApprovalRequest): boolean {
    if (!this.#runner || !this.#workspace) return false;
    const ceiling = readCeiling(personsFolders(this.#options.environment).config, this.#workspace.root);
    return ceiling.ok && ceiling.decideHere.includes(risk_level);
  }

  /** The file before and after, where this window's runner would change it. */
  async proposedText({ tool_name, tool_params }: ApprovalRequest): Promise<ProposedText | undefined> {
    return this.#runner?.handler.proposedText(tool_name, tool_params);
  }

  async #connect(workspace: Workspace): Promise<void> {
    const { account } = this.#options;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        this.#project = await projectOfFolder(account.client, workspace.root, this.#ended.signal);
        break;
      } catch (error) {
        if (this.#ended.signal.aborted) return;
        if (error instanceof ApiError && error.status === 401) return this.#unauthenticated(error);
        if (!(error instanceof ApiError) || !error.isRetryable)
          return this.#enter({ status: 'failed', problem: messageOf(error) });
        this.#enter({ status: 'waiting', problem: messageOf(error), retryInMs: pauseMs });
        await new Promise((resolve) => {
          const timer = setTimeout(resolve, pauseMs);
          this.#ended.signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
        });
      }
    }
    if (this.#ended.signal.aborted) return;
    this.#attach(workspace, this.#project);
  }

  /** As the runner where that is possible, else as a front end. */
  #attach(workspace: Workspace, project: FolderProject): void {
    const { mayRun } = this.#options;
    try {
      this.#runs = mayRun === true ? this.#startRunner(workspace, project) : mayRun;
    } catch (error) {
      this.#enter({ status: 'failed', problem: messageOf(error) });
      return;
    }
    if (typeof this.#runs === 'object') this.#tryLater(workspace, project);
    this.#listen(workspace, project);
  }

  #startRunner(workspace: Workspace, { project_id }: FolderProject): RunsIn {
    const { account, device, logger, settings, runUnisolated, languageFeatures, environment } = this.#options;
    const runnerId = runnerIdOf(workspace.stateFolder);
    const api = runnerApiOverClient({
      runner: this.#token.client,
      person: account.client,
      projectId: project_id,
      runnerId,
      instance: runnerInstanceOf(workspace.stateFolder),
      onDecided: (approvalId, sent) => this.#dialogs.decided(approvalId, sent),
    });
    try {
      this.#runner = new WorkspaceRunner({
        runnerId,
        projectId: project_id,
        workspace,
        configFolder: personsFolders(environment).config,
        api,
        dialogProvider: this.#dialogs,
        logger,
        ...requireHandlerSettings(settings, 'countersign.runner.'),
        runUnisolated,
        languageFeatures,
        program: device,
        takesOver: true,
        refusedHosts: [hostOf(account.server)],
      });
      return 'here';
    } catch (error) {
      if (error instanceof JournalHeld) return { holder: makeVisible(error.holder) };
      throw error;
    }
  }

  #listen(workspace: Workspace, { project_id }: FolderProject): void {
    const { account, pending } = this.#options;
    const runner = this.#runner && {
      id: runnerIdOf(workspace.stateFolder),
      workspace: workspace.root,
      capabilities: announcedCapabilities,
      instance: runnerInstanceOf(workspace.stateFolder),
    };
    pending.withdrawAll(this); // what still waits comes with the stream
    const stream = openStream({
      client: runner ? this.#token.client : account.client,
      ...(runner && { runner }),
      projectId: project_id,
      onEvent: (event) => {
        if (stream === this.#stream) this.#receive(event);
      },
      onState: (state) => {
        if (stream === this.#stream) this.#streamIs(state);
      },
    });
    this.#stream = stream;
  }

  /** The other program ends some day, or is idle and lets go: then this window is the runner (RN-10). */
  #tryLater(workspace: Workspace, project: FolderProject): void {
    this.#takeOver = setTimeout(() => {
      try {
        this.#runs = this.#startRunner(workspace, project);
      } catch (error) {
        this.#options.logger.error('The runner could not be started', { error });
      }
      if (this.#runs !== 'here') return this.#tryLater(workspace, project);
      this.#stream?.close();
      this.#listen(workspace, project);
    }, this.#options.takeOverMs ?? defaultTakeOverMs);
  }

  #receive(event: CountersignEvent): void {
    const { pending, onEvent } = this.#options;
    onEvent(event);
    if (event.event === 'approval.resolved') pending.withdraw(event.data.approval_id);
    if (this.#runner) this.#runner.receive(event);
    else this.#showAsFrontEnd(event);
  }

  #showAsFrontEnd({ event, data }: CountersignEvent): void {
    const { pending } = this.#options;
    if (event === 'tool.approval_request') void this.#showWhole(data);
    else if (event === 'approval.updated') {
      const known = pending.find(data.approval_id)?.request;
      if (known) {
        const { omitted: _, unfit: _unfit, ...before } = known;
        void this.#showWhole({ ...before, ...data });
      }
    } else if (event === 'stream.reset') void this.#readAnew();
  }

  async #showWhole(request: ApprovalRequest): Promise<void> {
    const { pending, account, logger } = this.#options;
    if ((request.omitted?.length ?? 0) === 0) return pending.show(this, request);
    try {
      const params = { approval_id: request.approval_id };
      const { approval } = await account.client.getApproval({ params }, { retry: { times: 3 } });
      const { created_at: timestamp, status, ...whole } = approval;
      if (status === 'pending' && !this.#ended.signal.aborted) pending.show(this, { ...whole, timestamp });
    } catch (error) {
      logger.error(`An approval could not be read: ${request.approval_id}`, { error });
    }
  }

  async #readAnew(): Promise<void> {
    const { pending, account, logger } = this.#options;
    pending.withdrawAll(this);
    try {
      const { approvals } = await account.client.listApprovals({}, { retry: { times: 3 } });
      for (const { created_at: timestamp, status: _, ...approval } of approvals)
        if (approval.project_id === this.#project?.project_id)
          await this.#showWhole({ ...approval, timestamp }); // a list leaves out what is large
    } catch (error) {
      logger.error('What waits could not be read again', { error });
    }
  }

  #streamIs(state: StreamState): void {
    if (state.status === 'open') {
      this.#runner?.connected();
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
    if (this.#ended.signal.aborted) return; // our own end has ended its token
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

/** With its port, also where the address leaves it out. */
function hostOf(address: string): string {
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
}
