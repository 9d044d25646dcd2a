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
import { type CountersignEvent, makeVisible, messageOf } from '@countersign/protocol';
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

/** Where the folder's calls run: in this window or in another program (`holder`). Otherwise, why not here. */
export type RunsIn = 'here' | 'untrusted' | 'disabled' | { readonly holder: string };

export type FolderState =
  | { readonly status: 'connecting' }
  | { readonly status: 'open'; readonly runs: RunsIn }
  | { readonly status: 'waiting'; readonly problem: string; readonly retryInMs: number }
  | { readonly status: 'failed'; readonly problem: string };

export interface FolderRunnerOptions {
  readonly account: Account;
  /** The path that the editor uses, which may contain links. */
  readonly folder: string;
  /** Whether tools may be executed in this window, and if not, why. */
  readonly mayRun: true | 'untrusted' | 'disabled';
  readonly device: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly documents: OpenDocuments;
  readonly languageFeatures: LanguageFeatures;
  readonly ripgrep: string | undefined;
  /** The person's editor settings by name. With an invalid setting, the runner does not start. */
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
 * Connects one folder of the window to the server: as its runner if that is allowed and no other program is its runner,
 * otherwise as a front end for approvals (RN-10). Reconnects after temporary failures.
 */
export class FolderRunner {
  readonly approvals: KnownApprovals;
  readonly #options: FolderRunnerOptions;
  readonly #ended = new AbortController();
  #state: FolderState = { status: 'connecting' };
  #workspace: Workspace | undefined;
  #project: FolderProject | undefined;
  #session: RunnerSession | undefined;
  #working: Promise<void> = Promise.resolve();
  /** Aborted to end the current pause between two attempts to connect. */
  #pause = new AbortController();
  #pauseMs = firstPauseMs;

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

  /** Undefined until the server has responded. */
  get project(): FolderProject | undefined {
    return this.#project;
  }

  /** Connects the folder. A second call does nothing. */
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
      this.#enter({ status: 'failed', problem: visibleMessage(error) });
      return;
    }
    this.#working = this.#connect(this.#workspace);
  }

  /** Ends the pause before the next attempt to connect, and resets the back-off. */
  retryNow(): void {
    this.#pauseMs = firstPauseMs;
    this.#pause.abort();
    this.#session?.retryNow();
  }

  /** Stops and reports running calls. Removes the cards; their approvals stay pending (AP-3). */
  async dispose(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.#options.pending.remove(this);
    await this.#working;
    await this.#session?.dispose();
  }

  /** Sends a decision. If there is a runner, it records that the decision was made on this machine (RN-2). */
  decide(decision: ApprovalDecision): Promise<DecisionOutcome> {
    return this.#session?.decide(decision) ?? decide(this.#options.account.client, decision);
  }

  /**
   * Whether this machine's ceiling requires a decision on the card that its own runner draws (RN-2). A card from the
   * server's data does not count, because a malicious server could show anything.
   */
  wantsOwnCard({ risk_level }: ApprovalRequest): boolean {
    if (!this.#session?.runner || !this.#workspace) return false;
    const ceiling = readCeiling(personsFolders(this.#options.environment).config, this.#workspace.root);
    return ceiling.ok && ceiling.decideHere.includes(risk_level);
  }

  /** The file's text before and after the call; undefined if this window's runner would not execute it. */
  async proposedText({ tool_name, tool_params }: ApprovalRequest): Promise<ProposedText | undefined> {
    return this.#session?.runner?.handler.proposedText(tool_name, tool_params);
  }

  async #connect(workspace: Workspace): Promise<void> {
    for (;;) {
      try {
        this.#project = await this.#projectOf(workspace.root);
        break;
      } catch (error) {
        if (this.#ended.signal.aborted) return;
        if (error instanceof ApiError && error.status === 401) return this.#unauthenticated(error);
        if (!(error instanceof ApiError) || !error.isRetryable)
          return this.#enter({ status: 'failed', problem: visibleMessage(error) });
        const pauseMs = this.#pauseMs;
        this.#pauseMs = Math.min(2 * pauseMs, longestPauseMs);
        this.#pause = new AbortController();
        this.#enter({ status: 'waiting', problem: visibleMessage(error), retryInMs: pauseMs });
        const signal = AbortSignal.any([this.#pause.signal, this.#ended.signal]);
        await pause(pauseMs, undefined, { signal }).catch(() => {});
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
        onStream: (state) => this.#streamChanged(state),
        onStarted: () => this.approvals.withdrawAll(), // the runner draws the pending cards itself
        onTrouble: (error) => logger.error('The runner could not be started', { error }),
      });
      this.#session = session;
      if (mayRun === true) session.start();
      session.listen();
    } catch (error) {
      this.#enter({ status: 'failed', problem: visibleMessage(error) });
    }
  }

  get #runs(): RunsIn {
    const { mayRun } = this.#options;
    if (mayRun !== true) return mayRun;
    const holder = this.#session?.holder;
    return holder === undefined ? 'here' : { holder: makeVisible(holder) };
  }

  #receive(event: CountersignEvent): void {
    this.#options.onEvent(event); // first, because the message about a resolution needs the pending card
    this.approvals.receive(event);
  }

  #streamChanged(state: StreamState): void {
    if (state.status === 'open') {
      this.#enter({ status: 'open', runs: this.#runs });
    } else if (state.status === 'waiting') {
      const { error, retryInMs } = state;
      this.#enter({ status: 'waiting', problem: visibleMessage(error), retryInMs });
    } else if (state.status === 'connecting') {
      if (this.#state.status !== 'waiting') this.#enter({ status: 'connecting' });
    } else if (state.why === 'unauthenticated') this.#unauthenticated(state.error);
    else if (state.why === 'refused') this.#enter({ status: 'failed', problem: visibleMessage(state.error) });
  }

  #unauthenticated(error: ApiError): void {
    if (this.#ended.signal.aborted) return; // disposing revoked the token
    this.#enter({ status: 'failed', problem: visibleMessage(error) });
    this.#options.onUnauthenticated();
  }

  #enter(state: FolderState): void {
    if (this.#ended.signal.aborted) return;
    this.#state = state;
    this.#options.onState();
  }
}

const visibleMessage = (error: unknown): string => makeVisible(messageOf(error));
