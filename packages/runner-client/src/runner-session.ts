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
  editorWaitingFor,
  JournalHeld,
  RefusedByServer,
  type RunnerApi,
  runnerIdOf,
  runnerInstanceOf,
  WorkspaceRunner,
  type WorkspaceRunnerOptions,
} from '@countersign/tool-runner';
import { ScopedToken } from './scoped-token.ts';

export interface CardPlace {
  /** Shows a card that the runner itself drew (RN-2), or updates the card of the same approval. */
  show(request: ApprovalRequest): void;
  /** Removes the card of an approval that is no longer pending and was not decided here. */
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
  /** The name of this program, shown as the device of its decisions. */
  readonly device: string;
  /** Options of the runner that executes calls here. */
  readonly runner: Omit<WorkspaceRunnerOptions, OwnOptions>;
  /** Undefined: no cards are shown here. */
  readonly cards: CardPlace | undefined;
  /** How often to try to become the runner while another program is. */
  readonly lookAgainMs: number;
  /** Each event of the stream, before the runner gets it. */
  readonly onEvent: (event: CountersignEvent) => void;
  readonly onStream: (state: StreamState) => void;
  /** Called when this session becomes the runner, before its stream is opened. */
  readonly onStarted: (runner: WorkspaceRunner) => void;
  /** Called when an idle session hands the workspace to an editor. Without it the workspace is kept (RN-10). */
  readonly onHandedOver?: (editor: string) => void;
  /** Called when taking or releasing the workspace in the background failed. It is tried again. */
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Connects a program to the server for one workspace: as its runner or, while another program is the runner, as a front
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
  #retryTimer: NodeJS.Timeout | undefined;
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

  /** Undefined while this session is only a front end. */
  get runner(): WorkspaceRunner | undefined {
    return this.#runner;
  }

  /** The program that has the workspace instead; undefined if not known. */
  get holder(): string | undefined {
    return this.#holder;
  }

  /** Becomes the runner, now or when the current one ends. Throws if it never can. */
  start(): void {
    if (!this.#startRunner()) this.#retryLater();
  }

  /** Opens a stream as runner or front end, whichever this session is now, and closes the previous stream. */
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
              capabilities: this.#runner.capabilities,
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

  /** Ends the stream's pause before its next attempt, and resets its back-off. */
  retryNow(): void {
    this.#stream?.retryNow();
  }

  /** Sends a card's decision. Throws an ApiError unless a decision stands afterwards. */
  decide(decision: ApprovalDecision): Promise<DecisionOutcome> {
    const sent = this.#runner && decideThrough(this.#runner, decision);
    return sent ?? decide(this.#options.access.client, decision);
  }

  /** Cancels and reports executing calls, and withdraws the cards without deciding them (AP-3). */
  async dispose(): Promise<void> {
    this.#isEnded = true;
    clearTimeout(this.#retryTimer);
    await this.#runner?.dispose();
    await this.#handingOver;
    this.#stream?.close();
    await this.#token.revoke();
  }

  /** Returns false if another program is the runner. */
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
    this.#retryLater();
  }

  #retryLater(): void {
    this.#retryTimer = setTimeout(() => {
      if (this.#tryToStart()) this.listen();
      else this.#retryLater();
    }, this.#options.lookAgainMs);
  }

  /** Returns false while another program has the workspace, or if starting fails (a full disk). */
  #tryToStart(): boolean {
    const { runner, onTrouble } = this.#options;
    try {
      // Leave the workspace to the editor that asked for it.
      const isWanted = !runner.takesOver && editorWaitingFor(runner.workspace.stateFolder) !== undefined;
      return !isWanted && this.#startRunner();
    } catch (error) {
      onTrouble(error);
      return false;
    }
  }
}

/** Shows cards instead of dialogs. A card decides through its session, so the dialog's promise never resolves. */
export const cardDialogs = (cards: CardPlace): ApprovalDialogProvider => ({
  showApprovalDialog(request, signal) {
    cards.show(request);
    // A card that was decided here shows the result itself.
    const onGone = () => signal.reason !== 'answered' && cards.withdraw(request.approval_id);
    signal.addEventListener('abort', onGone, { once: true });
    return new Promise(() => {});
  },
  updateApprovalDialog: (request) => cards.show(request),
});

/** Sends a decision through the runner; undefined if the runner does not know the approval. */
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
  // Cards expect the client's ApiError.
  return sent?.catch((error: unknown) => {
    throw error instanceof CountersignError && error.cause instanceof ApiError ? error.cause : error;
  });
}

/** Host and port, even if the address leaves the port out. */
function hostOf(address: string): string {
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
}

export interface RunnerApiOptions {
  /** With a token of scope runner. */
  readonly runner: Client;
  /** The person's client, for decisions made on this machine. */
  readonly person: Client;
  readonly projectId: string;
  readonly runnerId: string;
  /** Distinguishes copies of the runner (runnerInstanceOf). */
  readonly instance: string;
}

/** The runner has its own retries. */
const noRetry = { retry: { times: 0 } };

/** The runner's API over the typed client. Refusals keep the server's code and message. */
export function runnerApiOverClient(options: RunnerApiOptions): RunnerApi {
  const { runner, person, projectId: project_id, runnerId: runner_id, instance } = options;
  const call = (tool_id: string) => ({ project_id, tool_id });
  const identity = { runner_id, instance };

  const send = (decision: ApprovalDecision) => withRunnerErrors(decide(person, decision, noRetry));

  return {
    approveToolExecution: (approval_id, body) =>
      send({ decision: 'approved', params: { project_id, approval_id }, body }),
    rejectToolExecution: (approval_id, body) =>
      send({ decision: 'rejected', params: { project_id, approval_id }, body }),
    sendToolResult: (toolId, body) =>
      withRunnerErrors(runner.submitResult({ params: call(toolId), body: { ...body, ...identity } })),
    startToolExecution: (toolId, body) =>
      withRunnerErrors(runner.startExecution({ params: call(toolId), body: { ...body, ...identity } })),
    sendToolPreview: (approval_id, body) =>
      withRunnerErrors(
        runner.submitPreview({ params: { project_id, approval_id }, body: { ...body, ...identity } }),
      ),
    sendToolProgress: (toolId, body) =>
      withRunnerErrors(runner.submitProgress({ params: call(toolId), body: { ...body, ...identity } })),
    askForHost: (toolId, body) =>
      withRunnerErrors(runner.askForHost({ params: call(toolId), body: { ...body, ...identity } })),
    sendHeartbeat: (body) =>
      withRunnerErrors(runner.heartbeat({ params: { project_id, runner_id }, body: { ...body, instance } })),

    async fetchToolParams(toolId) {
      const found = runner.getExecution({ params: { tool_id: toolId } }, noRetry);
      const { execution, omitted } = await withRunnerErrors(found);
      // The parameters were purged; only their masked record is left, which must not run.
      if (omitted?.includes('tool_params')) throw new CountersignError('NOT_FOUND', { what: 'tool call' });
      return execution.tool_params;
    },
  };
}

/** Turns an ApiError into the RefusedByServer that the runner expects. */
async function withRunnerErrors<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (failure) {
    if (!(failure instanceof ApiError)) throw failure;
    const { code, message, status, hasUnknownCode, isRetryable } = failure;
    // An unknown code is final, unless a proxy may have sent the error: then a retry may help.
    const isFinal = hasUnknownCode && !isRetryable && status !== 401;
    throw new RefusedByServer(code, message, isFinal, { cause: failure });
  }
}
