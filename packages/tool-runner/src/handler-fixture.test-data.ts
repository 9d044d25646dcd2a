import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { defaultLimits } from '@countersign/protocol';
import { ManualClock, type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import type { Logger } from './logger.ts';
import type { ApprovalDialogProvider, DialogAnswer } from './open-approval.ts';
import type {
  ApprovalRequest,
  DecisionAnswer,
  Heartbeat,
  HeartbeatAnswer,
  PreviewReport,
  ResultReport,
  RunnerApi,
} from './runner-api.ts';
import type { Workspace } from './workspace.ts';

export const recorded: DecisionAnswer = {
  outcome: 'recorded',
  response: { success: true, approval_id: 'approval-1', status: 'approved' },
};

/** A server in memory: it keeps what it is told, and fails or answers as a test says. */
export class RecordedApi implements RunnerApi {
  readonly sent: { readonly what: string; readonly id: string; readonly data: unknown }[] = [];
  /** Errors to throw, by method: each call of the method throws the next one. */
  readonly failures: Partial<Record<string, unknown[]>> = {};
  decision: DecisionAnswer = recorded;
  resultAnswer: Awaited<ReturnType<RunnerApi['sendToolResult']>> = {};
  heartbeatAnswer: HeartbeatAnswer = { calls: {} };
  /** Parameters that events left out. */
  params: Record<string, never> | Record<string, string> = {};

  of<T = unknown>(what: string): T[] {
    return this.sent.filter((sent) => sent.what === what).map(({ data }) => data as T);
  }

  /** The reports that arrived, in order. */
  get reports(): ResultReport[] {
    return this.of<ResultReport>('result');
  }

  async approveToolExecution(approvalId: string, decision: unknown) {
    this.#take('approve', approvalId, decision);
    return this.decision;
  }

  async rejectToolExecution(approvalId: string, decision: unknown) {
    this.#take('reject', approvalId, decision);
    return this.decision;
  }

  async sendToolResult(toolId: string, report: unknown) {
    this.#take('result', toolId, report);
    return this.resultAnswer;
  }

  async startToolExecution(toolId: string, claim: unknown) {
    this.#take('claim', toolId, claim);
  }

  async sendToolPreview(approvalId: string, preview: PreviewReport) {
    this.#take('preview', approvalId, preview);
  }

  async sendToolProgress(toolId: string, progress: unknown) {
    this.#take('progress', toolId, progress);
  }

  async sendHeartbeat(beat: Heartbeat) {
    this.#take('heartbeat', '', beat);
    return this.heartbeatAnswer;
  }

  async fetchToolParams(toolId: string) {
    this.#take('params', toolId, undefined);
    return this.params;
  }

  #take(what: string, id: string, data: unknown): void {
    const failure = this.failures[what]?.shift();
    this.sent.push({ what: failure ? `failed ${what}` : what, id, data });
    if (failure) throw failure;
  }
}

/** A card on a screen that a test answers. */
export class ScriptedDialogs implements ApprovalDialogProvider {
  readonly shown: { readonly request: ApprovalRequest; readonly signal: AbortSignal }[] = [];
  readonly #answers: ((answer: DialogAnswer) => void)[] = [];

  showApprovalDialog(request: ApprovalRequest, signal: AbortSignal): Promise<DialogAnswer> {
    this.shown.push({ request, signal });
    return new Promise((resolve) => this.#answers.push(resolve));
  }

  /** Answers the newest card. */
  answer(answer: DialogAnswer): void {
    this.#answers.at(-1)?.(answer);
  }
}

export class RecordedLogger implements Logger {
  readonly lines: { readonly level: string; readonly message: string; readonly details: unknown }[] = [];
  debug = (message: string, details?: unknown) => this.#add('debug', message, details);
  info = (message: string, details?: unknown) => this.#add('info', message, details);
  error = (message: string, details?: unknown) => this.#add('error', message, details);

  messages(level: string): string[] {
    return this.lines.filter((line) => line.level === level).map(({ message }) => message);
  }

  #add(level: string, message: string, details: unknown): void {
    this.lines.push({ level, message, details });
  }
}

export interface RunnerFixture {
  readonly api: RecordedApi;
  readonly dialogs: ScriptedDialogs;
  readonly logger: RecordedLogger;
  readonly clock: ManualClock;
  readonly files: TemporaryWorkspace;
  readonly workspace: Workspace;
  /** The person's configuration folder, empty. */
  readonly configFolder: string;
  remove(): void;
}

export function runnerFixture(): RunnerFixture {
  const files = temporaryWorkspace();
  const own = join(files.root, '..', 'own');
  const configFolder = join(own, 'config');
  mkdirSync(configFolder, { recursive: true, mode: 0o700 });
  const workspace: Workspace = {
    root: files.root,
    stateFolder: join(own, 'state'),
    limits: defaultLimits,
    home: own,
    addedEnvironment: [],
  };
  return {
    api: new RecordedApi(),
    dialogs: new ScriptedDialogs(),
    logger: new RecordedLogger(),
    clock: new ManualClock(),
    files,
    workspace,
    configFolder,
    remove: () => files.remove(),
  };
}
