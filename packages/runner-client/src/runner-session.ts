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
import { ScopedToken } from './scoped-token.ts';

/** Where the runner's cards appear. */
export interface CardPlace {
  /** As the runner drew it: not as the server says (RN-2). The same approval again is a newer version. */
  show(request: ApprovalRequest): void;
  /** Nobody decided it here, and it is not asked any more. */
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
  /** What this program is called where it runs and decides. */
  readonly device: string;
  /** How calls are executed here. */
  readonly runner: Omit<WorkspaceRunnerOptions, OwnOptions>;
  /** Undefined: nobody is asked here. */
  readonly cards: CardPlace | undefined;
  /** How often it is tried again to become the runner where another program is. */
  readonly lookAgainMs: number;
  /** Each event of the stream, before the runner gets it. */
  readonly onEvent: (event: CountersignEvent) => void;
  readonly onStream: (state: StreamState) => void;
  /** This session has become the runner; its stream is opened afterwards. */
  readonly onStarted: (runner: WorkspaceRunner) => void;
  /** An editor has got the workspace, because nothing went on here. Without it the workspace is kept (RN-10). */
  readonly onHandedOver?: (editor: string) => void;
  /** Becoming the runner later failed, or letting go. It is tried again. */
  readonly onTrouble: (error: unknown) => void;
}

/**
 * A program's place on the server for one workspace: its runner where no other program is, and otherwise a front end
 * that becomes the runner as soon as it can (RN-10). What is decided on its cards goes through the runner, which
 * remembers that it was decided on this machine (RN-2).
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

  /** The program that has the workspace instead, as far as it was tried. */
  get holder(): string | undefined {
    return this.#holder;
  }

  /** Becomes the runner, at once or when the program that is ends. Throws where it never can. */
  start(): void {
    if (!this.#startRunner()) this.#lookAgainLater();
  }

  /** Opens the stream as what this session is now, in place of the one before. */
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
      // What an older stream still says is not heard.
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

  /** What executes is stopped and reported; cards go away and nothing is decided (AP-3). */
  async dispose(): Promise<void> {
    this.#isEnded = true;
    clearTimeout(this.#lookingAgain);
    await this.#runner?.dispose();
    await this.#handingOver;
    this.#stream?.close();
    await this.#token.revoke();
  }

  /** False where another program is the runner. */
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

  /** False while somebody else has the workspace, or it cannot be had (a full disk). */
  #startsAgain(): boolean {
    const { runner, onTrouble } = this.#options;
    try {
      // The editor that we made room for comes first.
      const isWanted = !runner.takesOver && whoWantsWorkspace(runner.workspace.stateFolder) !== undefined;
      return !isWanted && this.#startRunner();
    } catch (error) {
      onTrouble(error);
      return false;
    }
  }
}

/** Cards that stay and decide through their session: a dialog's own answer never comes. */
export const cardDialogs = (cards: CardPlace): ApprovalDialogProvider => ({
  showApprovalDialog(request, signal) {
    cards.show(request);
    // A card that was answered says itself what came of it.
    const onGone = () => signal.reason !== 'answered' && cards.withdraw(request.approval_id);
    signal.addEventListener('abort', onGone, { once: true });
    return new Promise(() => {});
  },
  updateApprovalDialog: (request) => cards.show(request),
});

/** The decision as the runner sends it; undefined where the runner does not follow the approval. */
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
  // The card knows refusals as the client tells them.
  return sent?.catch((error: unknown) => {
    throw error instanceof CountersignError && error.cause instanceof ApiError ? error.cause : error;
  });
}

/** With its port, also where the address leaves it out. */
function hostOf(address: string): string {
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`;
}

export interface RunnerApiOptions {
  /** With a token that can do what a runner does, and no more. */
  readonly runner: Client;
  /** The person's, for decisions made at this machine. */
  readonly person: Client;
  readonly projectId: string;
  readonly runnerId: string;
  /** Which program of that runner it is. */
  readonly instance: string;
}

/** The runner itself tries again. */
const once = { retry: { times: 0 } };

/** What the runner says to the server, over the typed client. Refusals keep the server's code and words. */
export function runnerApiOverClient(options: RunnerApiOptions): RunnerApi {
  const { runner, person, projectId: project_id, runnerId: runner_id, instance } = options;
  const call = (tool_id: string) => ({ project_id, tool_id });
  const speaker = { runner_id, instance };

  const send = (decision: ApprovalDecision) => refusing(decide(person, decision, once));

  return {
    approveToolExecution: (approval_id, body) =>
      send({ decision: 'approved', params: { project_id, approval_id }, body }),
    rejectToolExecution: (approval_id, body) =>
      send({ decision: 'rejected', params: { project_id, approval_id }, body }),
    sendToolResult: (toolId, body) =>
      refusing(runner.submitResult({ params: call(toolId), body: { ...body, ...speaker } })),
    startToolExecution: (toolId, body) =>
      refusing(runner.startExecution({ params: call(toolId), body: { ...body, ...speaker } })),
    sendToolPreview: (approval_id, body) =>
      refusing(runner.submitPreview({ params: { project_id, approval_id }, body: { ...body, ...speaker } })),
    sendToolProgress: (toolId, body) =>
      refusing(runner.submitProgress({ params: call(toolId), body: { ...body, ...speaker } })),
    sendHeartbeat: (body) =>
      refusing(runner.heartbeat({ params: { project_id, runner_id }, body: { ...body, instance } })),

    async fetchToolParams(toolId) {
      const params = { tool_id: toolId };
      const found = runner.getExecution({ params }, once);
      const { execution, omitted } = await refusing(found);
      // What is left of them is their record, with its secrets and contents masked: that is nothing to run.
      if (omitted?.includes('tool_params')) throw new CountersignError('NOT_FOUND', { what: 'tool call' });
      return execution.tool_params;
    },
  };
}

/** The server's refusal as the runner knows refusals: by its code. */
class RefusedByServer extends CountersignError {
  constructor(error: ApiError) {
    super(error.code, {}, { cause: error });
    this.message = error.message;
  }
}

async function refusing<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (failure) {
    throw failure instanceof ApiError ? new RefusedByServer(failure) : failure;
  }
}
