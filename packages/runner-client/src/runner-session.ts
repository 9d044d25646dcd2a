import {
  ApiError,
  type ApprovalDecision,
  type Client,
  type DecisionOutcome,
  decide,
  type EventStream,
  openStream,
  type StreamState,
} from '@countersign/client';
import { CountersignError, type CountersignEvent } from '@countersign/protocol';
import {
  type ApprovalDialogProvider,
  type ApprovalRequest,
  announcedCapabilities,
  JournalHeld,
  type RunnerApi,
  runnerIdOf,
  runnerInstanceOf,
  WorkspaceRunner,
  type WorkspaceRunnerOptions,
  whoWantsWorkspace,
} from '@countersign/tool-runner';
import { runnerApiOverClient } from './runner-api-over-client.ts';
import { ScopedToken } from './scoped-token.ts';

/** Where the runner's cards appear. */
export interface CardPlace {
  /** The card as the runner drew it, not as the server sent it (RN-2). Called again with a newer version of it. */
  show(request: ApprovalRequest): void;
  /** It is not asked any more, and was not decided here. */
  withdraw(approvalId: string): void;
}

type OwnOptions =
  | 'runnerId'
  | 'projectId'
  | 'api'
  | 'dialogProvider'
  | 'program'
  | 'refusedHosts'
  | 'onWanted';

export interface RunnerSessionOptions {
  /** The person's access to the server. */
  readonly access: { readonly client: Client };
  readonly projectId: string;
  /** The name of this program, as people see it. */
  readonly device: string;
  /** How calls are executed here. */
  readonly runner: Omit<WorkspaceRunnerOptions, OwnOptions>;
  /** Undefined: no cards are shown here. */
  readonly cards: CardPlace | undefined;
  /** If another program is the runner: how often to try to become it. */
  readonly lookAgainMs: number;
  /** Each event of the stream, before the runner gets it. */
  readonly onEvent: (event: CountersignEvent) => void;
  readonly onStream: (state: StreamState) => void;
  /** This session has become the runner; its stream is opened afterwards. */
  readonly onStarted: (runner: WorkspaceRunner) => void;
  /** The workspace was given to an editor, because this runner was idle. If undefined, it is never given away (RN-10). */
  readonly onHandedOver?: (editor: string) => void;
  /** Becoming the runner later, or handing over, failed. It is tried again. */
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Connects a program to the server for one workspace: as its runner, or, if another program is the runner, as a front
 * end that becomes the runner as soon as it can (RN-10). Decisions on its cards go through the runner, which remembers
 * that they were made on this machine (RN-2).
 */
export class RunnerSession {
  readonly runnerId: string;
  readonly #options: RunnerSessionOptions;
  readonly #instance: string;
  readonly #token: ScopedToken;
  readonly #api: RunnerApi;
  #runner: WorkspaceRunner | undefined;
  #holder: string | undefined;
  #stream: EventStream | undefined;
  #lookingAgain: NodeJS.Timeout | undefined;
  #handingOver: Promise<void> | undefined;
  #isEnded = false;

  constructor(options: RunnerSessionOptions) {
    const { access, projectId, device, runner } = options;
    const { root, stateFolder } = runner.workspace;
    this.#options = options;
    this.runnerId = runnerIdOf(stateFolder);
    this.#instance = runnerInstanceOf(stateFolder);
    this.#token = new ScopedToken(access, { name: `runner of ${root} (${device})`, scope: 'runner' });
    this.#api = runnerApiOverClient({
      runner: this.#token.client,
      person: access.client,
      projectId,
      runnerId: this.runnerId,
      instance: this.#instance,
    });
  }

  /** Undefined while this session is a front end only. */
  get runner(): WorkspaceRunner | undefined {
    return this.#runner;
  }

  /** The program that was the runner when this session last tried to become it. */
  get holder(): string | undefined {
    return this.#holder;
  }

  /** Becomes the runner, now or when the other runner ends. Throws if it never can. */
  start(): void {
    if (!this.#startRunner()) this.#lookAgainLater();
  }

  /** Opens the stream, as runner or front end, and closes the one before. */
  listen(): void {
    const { access, projectId, runner, onEvent, onStream } = this.#options;
    const before = this.#stream;
    const stream = openStream({
      ...(this.#runner
        ? {
            client: this.#token.client,
            runner: {
              id: this.runnerId,
              workspace: runner.workspace.root,
              capabilities: announcedCapabilities,
              instance: this.#instance,
            },
          }
        : { client: access.client }),
      projectId,
      // Ignore events of an older stream.
      onEvent: (event) => {
        if (stream !== this.#stream) return;
        try {
          onEvent(event);
        } finally {
          this.#runner?.receive(event);
        }
      },
      onState: (state) => {
        if (stream !== this.#stream) return;
        if (state.status === 'open') this.#runner?.connected();
        onStream(state);
      },
    });
    this.#stream = stream;
    before?.close();
  }

  /** Sends what a card decided. Throws an ApiError for anything but a decision that stands. */
  decide(decision: ApprovalDecision): Promise<DecisionOutcome> {
    const sent = this.#runner && decideThrough(this.#runner, decision);
    return sent ?? decide(this.#options.access.client, decision);
  }

  /** Stops and reports running calls; withdraws cards without a decision (AP-3). */
  async dispose(): Promise<void> {
    this.#isEnded = true;
    clearTimeout(this.#lookingAgain);
    await this.#runner?.dispose();
    await this.#handingOver;
    this.#stream?.close();
    await this.#token.revoke();
  }

  /** False if another program is the runner. */
  #startRunner(): boolean {
    const { access, projectId, device, runner, cards, onStarted, onHandedOver } = this.#options;
    try {
      this.#runner = new WorkspaceRunner({
        ...runner,
        runnerId: this.runnerId,
        projectId,
        api: this.#api,
        dialogProvider: cards && cardDialogs(cards),
        program: device,
        refusedHosts: [hostOf(access.client.connection.baseUrl)],
        ...(onHandedOver && { onWanted: (editor: string) => this.#handOver(editor, onHandedOver) }),
      });
    } catch (error) {
      if (!(error instanceof JournalHeld)) throw error;
      this.#holder = error.holder;
      return false;
    }
    this.#holder = undefined;
    onStarted(this.#runner);
    return true;
  }

  #handOver(editor: string, onHandedOver: (editor: string) => void): void {
    const runner = this.#runner;
    this.#runner = undefined;
    this.#holder = editor;
    onHandedOver(editor);
    this.#handingOver = this.#letGo(runner);
  }

  async #letGo(runner: WorkspaceRunner | undefined): Promise<void> {
    try {
      await runner?.dispose();
    } catch (error) {
      this.#options.onTrouble(error);
    }
    if (this.#isEnded) return;
    this.listen();
    this.#lookAgainLater();
  }

  #lookAgainLater(): void {
    this.#lookingAgain = setTimeout(() => {
      if (this.#startsAgain()) this.listen();
      else this.#lookAgainLater();
    }, this.#options.lookAgainMs);
  }

  /** False while another program is the runner, or starting fails (a full disk). */
  #startsAgain(): boolean {
    const { runner, onTrouble } = this.#options;
    try {
      // An editor that waits for the workspace comes first.
      const isWanted = !runner.takesOver && whoWantsWorkspace(runner.workspace.stateFolder) !== undefined;
      return !isWanted && this.#startRunner();
    } catch (error) {
      onTrouble(error);
      return false;
    }
  }
}

/** Dialogs for cards that decide through their session: the dialog's own promise never resolves. */
export const cardDialogs = (cards: CardPlace): ApprovalDialogProvider => ({
  showApprovalDialog(request, signal) {
    cards.show(request);
    // An answered card shows the outcome itself.
    const onGone = () => signal.reason !== 'answered' && cards.withdraw(request.approval_id);
    signal.addEventListener('abort', onGone, { once: true });
    return new Promise(() => {});
  },
  updateApprovalDialog: (request) => cards.show(request),
});

/** Sends the decision through the runner; undefined if the runner does not know the approval. */
export function decideThrough(
  { handler }: WorkspaceRunner,
  { params, ...made }: ApprovalDecision,
): Promise<DecisionOutcome> | undefined {
  const sent = handler.sendDecision(
    params.approval_id,
    made.decision === 'approved'
      ? { ...made.body, decision: 'approved' }
      : { ...made.body, decision: 'rejected' },
  );
  // Cards expect the client's own error.
  return sent?.catch((error: unknown) => {
    throw error instanceof CountersignError && error.cause instanceof ApiError ? error.cause : error;
  });
}

/** `host:port`, with the default port if the address has none. */
function hostOf(address: string): string {
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
}
