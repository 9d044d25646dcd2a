import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { type PolicyDecision, SecretMasker } from '@countersign/policy';
import {
  CountersignError,
  type EventPayload,
  findTool,
  isCustomCall,
  isCustomToolName,
  type JsonValue,
} from '@countersign/protocol';
import {
  CallExecution,
  type CallExecutionDeps,
  executionResult,
  type ToolExecutionResult,
} from './call-execution.ts';
import { readCeiling } from './call-permission.ts';
import type { RunnerClock } from './clock.ts';
import type { ToolServers } from './custom/tool-servers.ts';
import { ExecutionHistory, type ExecutionHistoryEntry } from './execution-history.ts';
import { ExecutionQueue } from './execution-queue.ts';
import type { Executor } from './executor.ts';
import type { SettingsInForce } from './handler-settings.ts';
import type { Journal } from './journal/journal.ts';
import { recoverJournal } from './journal/recovery.ts';
import type { Logger } from './logger.ts';
import { maskedLogger } from './masked-logger.ts';
import {
  type ApprovalDialogProvider,
  callParams,
  type DialogDecision,
  OpenApproval,
  type OpenApprovalDeps,
} from './open-approval.ts';
import { openWorkspace, type WorkspaceParts } from './open-workspace.ts';
import type { OwnVerdict } from './own-verdict.ts';
import { lookAt } from './own-view.ts';
import { failedReport, ResultOutbox } from './result-outbox.ts';
import type {
  ApprovalRequest,
  DecisionAnswer,
  ExecutionSignal,
  Heartbeat,
  HeartbeatAnswer,
  ResultAck,
  ResultReport,
  RunnerApi,
} from './runner-api.ts';
import { ExecutionCancelled, ToolTypeError } from './runner-errors.ts';
import type { CallPreviews, ToolHandlerConfig } from './tool-handler-config.ts';
import type { ProposedText } from './tool-module.ts';
import { FileUndo } from './undo/file-undo.ts';
import type { UndoOptions } from './undo/undo-plan.ts';

const MAX_QUEUED = 1000;
/** Calls of one kind that one heartbeat names; the others are named by a later one. */
const MAX_NAMED = 2000;
/**
 * Takes a tool call from the server's signal to its acknowledged result on this machine (RN-1), and asks the person
 * here where a card can be shown. To learn the runner, start with `handleToolExecutionSignal`.
 */
export class ToolHandler {
  readonly #api: RunnerApi;
  /** Masks secrets before a line is written. */
  readonly logger: Logger;
  readonly #clock: RunnerClock;
  readonly #parts: WorkspaceParts;
  readonly #journal: Journal;
  /** Requests that nobody has decided, by approval id. */
  readonly #approvals = new Map<string, OpenApproval>();
  readonly #approvalDeps: OpenApprovalDeps;
  readonly #active = new Map<string, CallExecution>();
  readonly #callDeps: CallExecutionDeps;
  readonly #executorOf: ReadonlyMap<string, Executor>;
  readonly #outbox: ResultOutbox;
  readonly #undo: FileUndo;
  readonly #queue: ExecutionQueue;
  readonly #history: ExecutionHistory;
  /** Resolves when calls of an earlier runner are settled. Nothing starts before. */
  readonly #recovered: Promise<void>;
  readonly #ended = new AbortController();
  #disposed: Promise<void> | undefined;

  /** Without a dialogProvider nobody is asked here. Throws JOURNAL_UNAVAILABLE when another runner has the workspace. */
  constructor(
    api: RunnerApi,
    dialogProvider: ApprovalDialogProvider | undefined,
    logger: Logger,
    config: ToolHandlerConfig = {},
  ) {
    const key = randomBytes(32);
    const masker = new SecretMasker({
      known: config.secrets ?? [],
      digest: (text) => createHmac('sha256', key).update(text).digest('hex').slice(0, 16),
    });
    this.logger = maskedLogger(logger, masker);
    const parts = openWorkspace(config, this.logger);
    this.#api = api;
    this.#parts = parts;
    const { workspace, configFolder, journal, clock, previews, settings, readableSecrets, custom } = parts;
    for (const { path, keptIn } of parts.planted.setAside)
      this.logger.error(`Planted file set aside: ${path}, left by a runner that was killed`, { keptIn });
    this.#clock = clock;
    this.#journal = journal;
    this.#executorOf = new Map(
      parts.executors.flatMap((executor) => executor.tools.map((tool) => [tool, executor])),
    );
    this.#history = new ExecutionHistory(() => clock.now());
    this.#queue = new ExecutionQueue({ limit: settings.concurrencyLimit, maxWaiting: MAX_QUEUED });
    this.#outbox = new ResultOutbox({
      api,
      clock,
      logger: this.logger,
      onDelivered: (toolId, report, { audit_head, refused }) => {
        if (refused !== undefined)
          this.logger.error(`Tool result refused: ${toolId}`, { call: toolId, refused });
        this.#acknowledged(toolId, report, refused);
        this.#witness(audit_head);
      },
    });
    const common = {
      api,
      clock,
      logger: this.logger,
      decide: (...asked: Parameters<OwnVerdict['decide']>) => this.decide(...asked),
      previews,
    };
    this.#approvalDeps = {
      ...common,
      dialogs: dialogProvider,
      defaultTimeoutMs: settings.approvalTimeoutMs,
      executes: config.executes ?? (() => true),
      look: (request) => lookAt(request, { ...common, readableSecrets }),
      onApproving: (request, digest) => this.#rememberApproval(request, digest),
      onRejecting: (request) => this.#forgetApproval(request),
    };
    this.#callDeps = {
      ...common,
      workspace,
      configFolder,
      journal,
      history: this.#history,
      queue: this.#queue,
      executorOf: (tool) => this.#executorOf.get(tool) ?? (isCustomToolName(tool) ? custom : undefined),
      onEnd: (toolId, report) => {
        this.#active.delete(toolId);
        if (report) this.#outbox.add(toolId, report);
      },
      isEnding: () => this.#ended.signal.aborted,
    };
    this.#undo = new FileUndo(journal, workspace);
    this.#recovered = this.#recover();
  }

  /** Of this machine, without what the server told (TL-3). */
  get settings(): SettingsInForce {
    return this.#parts.settings;
  }

  /** The person's own tools (RN-8). The owner of the event stream starts them. */
  get toolServers(): ToolServers {
    return this.#parts.toolServers;
  }

  get previews(): CallPreviews {
    return this.#parts.previews;
  }

  /** Cards that are open here, by tool id. */
  get pendingApprovals(): ReadonlyMap<string, OpenApproval> {
    const asked = [...this.#approvals.values()].filter(({ isAsked }) => isAsked);
    return new Map(asked.map((approval) => [approval.request.tool_id, approval]));
  }

  /** Calls that were signalled and have not ended, queued ones too, by tool id. */
  get activeExecutions(): ReadonlyMap<string, CallExecution> {
    return this.#active;
  }

  /** Whether nothing is queued, executing, asked here or running in the background: another runner may take over. */
  get isIdle(): boolean {
    const isBusy = [...this.#executorOf.values()].some((executor) => executor.isBusy);
    return !isBusy && this.#active.size === 0 && this.pendingApprovals.size === 0;
  }

  /** The editor that asks to be given this workspace, if one does (RN-10). */
  get wantedBy(): string | undefined {
    return this.#journal.wantedBy;
  }

  /** One entry for each call, the newest call last; the oldest are forgotten. */
  get executionHistory(): readonly ExecutionHistoryEntry[] {
    return this.#history.entries;
  }

  get concurrentCount(): number {
    return this.#queue.running;
  }

  /** Tool ids, the next one first. */
  get concurrentQueue(): readonly string[] {
    return this.#queue.waiting;
  }

  /** This machine's own decision on a call, and its preview: what a card shows (VA-8, AP-7). */
  decide(...asked: Parameters<OwnVerdict['decide']>): PolicyDecision {
    const decision = this.#parts.verdict.decide(...asked);
    const { decision: verdict, reasons } = decision.verdict;
    this.logger.debug(`Own verdict: ${asked[0]} is ${verdict}`, { reasons });
    return decision;
  }

  /** The whole text of a file before and after a call, for an editor's own diff; undefined where there is none. */
  async proposedText(tool: string, params: Record<string, JsonValue>): Promise<ProposedText | undefined> {
    const own = this.decide(tool, params);
    if (!own.call || own.verdict.decision === 'REJECT') return undefined;
    return isCustomCall(own.call) ? undefined : this.#parts.builtIn.proposedText(own.call, own);
  }

  /**
   * Previews the call where this machine would execute it, asks the person here and sends what they decide. Throws
   * ToolTypeError for a tool that nobody knows.
   */
  async handleToolApprovalRequest(event: ApprovalRequest): Promise<void> {
    const { approval_id, tool_id, tool_name, risk_level } = event;
    this.logger.info(`Tool approval request received: ${tool_id}, ${tool_name}, risk_level=${risk_level}`, {
      call: tool_id,
      tool: tool_name,
      risk: risk_level,
      approval: approval_id,
    });
    this.logger.debug(`Tool arguments: ${tool_id}`, { call: tool_id, arguments: event.tool_params });
    if (this.#disposed) return;
    // The preview says it too where nobody knows the tool: that ends the call (AP-7).
    const approval = this.#openApproval(event);
    if (!findTool(tool_name) && !isCustomToolName(tool_name)) throw new ToolTypeError(tool_name);
    this.#history.asked(event);
    const decided = await approval.ask();
    if (decided === undefined) return;
    this.#history.decided(tool_id, decided);
    this.logger.info(`Tool ${decided}: ${tool_id}`, { call: tool_id });
  }

  /** Decided, expired or cancelled: the card goes (AP-2). */
  handleApprovalResolved(event: EventPayload<'approval.resolved'>): void {
    const { tool_id, approval_id, status, device } = event;
    const details = { call: tool_id, approval: approval_id, status, device };
    this.logger.info(`Approval resolved: ${tool_id}, ${status}`, details);
    this.#history.resolved(event);
    if (status !== 'approved') this.#forgetApproval(event);
    this.#closeApproval(approval_id, status);
  }

  /** Takes a changed preview or edited parameters: previews the call again and updates the open card. */
  handleApprovalUpdated(event: EventPayload<'approval.updated'>): void {
    this.#approvals.get(event.approval_id)?.update(event);
  }

  /** Sends what a card of this machine decided; undefined for an approval that is not followed here. */
  sendDecision(approvalId: string, decision: DialogDecision): Promise<DecisionAnswer> | undefined {
    return this.#approvals.get(approvalId)?.decide(decision);
  }

  /** Withdraws all cards without a decision (AP-3). */
  withdrawApprovals(): void {
    for (const approval of this.#approvals.values()) approval.close();
    this.#approvals.clear();
  }

  /**
   * Executes the call and sees to it that its result gets to the server. Resolves when it has ended here. The same
   * signal again answers from what is running or from the journal: nothing runs twice (EX-6).
   */
  async handleToolExecutionSignal(given: ExecutionSignal): Promise<ToolExecutionResult> {
    const { tool_id, tool_name, attempt, risk_level: risk, approved_by } = given;
    this.logger.info(`Tool execution signal received: ${tool_id}, ${tool_name}`, {
      call: tool_id,
      tool: tool_name,
      risk,
      attempt,
      approved_by,
    });
    const event = {
      ...given,
      tool_params: await callParams(given, this.#api, {
        clock: this.#clock,
        logger: this.logger,
        signal: this.#ended.signal,
      }),
    };
    this.logger.debug(`Tool arguments: ${tool_id}`, { call: tool_id, arguments: event.tool_params });
    await this.#recovered;
    // Everything from the last look at what runs to the entry of this call happens in one turn: no second one starts.
    for (let running = this.#active.get(tool_id); running; running = this.#active.get(tool_id)) {
      if (running.signal.attempt === attempt) return running.done;
      if (running.signal.attempt > attempt) break; // an old signal, repeated: what runs goes on
      running.abort.abort(); // the server has given up the attempt before this one
      await running.done;
    }
    const resultOf = (report: ResultReport) => executionResult(event, report, this.#clock.now());
    const unreported = () => resultOf(failedReport(new ExecutionCancelled(), attempt, 0));
    if (this.#disposed) return unreported();
    const known = this.#journalled(event);
    if (known) {
      this.#outbox.add(tool_id, known);
      return resultOf(known);
    }
    if (this.#hasNewerAttempt(event)) return unreported();
    const execution = new CallExecution(event, this.#callDeps);
    this.#active.set(tool_id, execution);
    return execution.done;
  }

  /** An old one that the stream repeats must not drop the result of another attempt: the attempt decides (EX-6). */
  handleToolResultAck({ tool_id, status, attempt, error, audit_head }: ResultAck): void {
    this.logger.info(`Tool result ack received: ${tool_id}, ${status}`, { call: tool_id, status, attempt });
    if (status === 'rejected')
      this.logger.error(`Tool result rejected: ${tool_id}`, { call: tool_id, error });
    this.#history.acknowledged(tool_id, attempt, status === 'rejected' ? (error ?? status) : undefined);
    if (attempt === undefined) this.#outbox.resendReportsOf(tool_id);
    else this.#outbox.acknowledge(tool_id, { audit_head }, attempt);
  }

  /** EX-8: in the queue at once; while executing, what the executor makes of it is reported. */
  handleToolCancel({ tool_id }: { readonly tool_id: string }): void {
    this.logger.info(`Tool cancel received: ${tool_id}`, { call: tool_id });
    this.#active.get(tool_id)?.abort.abort();
  }

  /**
   * Restores what a call changed and reports that with the undo's id (RN-3). Where some decisions must be made on this
   * machine, the server's word alone does not replace what was changed here after the call (RN-2).
   */
  async handleToolUndo({ tool_id, undo_id, force }: EventPayload<'tool.undo'>): Promise<void> {
    const { configFolder, workspace } = this.#parts;
    const ceiling = readCeiling(configFolder, workspace.root);
    const mayForce = ceiling.ok && ceiling.decideHere.length === 0;
    const whyNotForced = 'replacing that is decided here: countersign undo --offline --force';
    await this.undoCalls([tool_id], {
      undoId: undo_id,
      force: force && mayForce,
      ...(force && !mayForce && { whyNotForced }),
    });
  }

  /** Restores what some calls changed, as one, the newest change first; the server learns of each. */
  async undoCalls(
    toolIds: readonly string[],
    { undoId = randomUUID(), ...options }: UndoOptions & { readonly undoId?: string },
  ): Promise<ResultReport> {
    this.logger.info(`Tool undo received: ${toolIds.join(', ')}`, { undo: undoId });
    await this.#recovered;
    const report = await this.#undo.undo(undoId, toolIds, options);
    const { status, error } = report;
    this.logger.info(`Tool undo ${status}: ${toolIds.join(', ')}`, { undo: undoId, status, error });
    for (const toolId of toolIds) this.#outbox.add(toolId, report);
    return report;
  }

  /** Calls that are queued, executing or unacknowledged, for the server (EX-7). */
  heartbeat(): Heartbeat {
    const queued = new Set(this.#queue.waiting);
    const executing = [...this.#active.keys()].filter((id) => !queued.has(id));
    const unacknowledged = this.#outbox.unacknowledged.slice(0, MAX_NAMED);
    return { queued: [...queued], executing: executing.slice(0, MAX_NAMED), unacknowledged };
  }

  applyHeartbeatAnswer({ calls, audit_head, limits }: HeartbeatAnswer): void {
    if (limits) this.#parts.joinLimits(limits);
    for (const [toolId, word] of Object.entries(calls)) {
      if (word === 'cancel') this.#active.get(toolId)?.abort.abort();
      if (word === 'acknowledged') this.#outbox.acknowledge(toolId, {});
    }
    this.#witness(audit_head);
  }

  /** The server is back: results that it has not acknowledged are sent now. */
  resendResults(): void {
    this.#outbox.resend();
  }

  /** Deletes old entries of the journal. Call it once in a while. */
  pruneJournal(): void {
    try {
      this.#journal.prune();
    } catch (error) {
      this.logger.error('Journal not pruned', { error });
    }
  }

  /**
   * Withdraws every card without a decision, cancels what runs and waits until nothing of it is left. What had
   * started is in the journal, and the next process reports it. Calling it twice is harmless.
   */
  dispose(): Promise<void> {
    this.#disposed ??= this.#disposeOnce();
    return this.#disposed;
  }

  async #disposeOnce(): Promise<void> {
    this.#ended.abort();
    this.withdrawApprovals();
    const running = [...this.#active.values()];
    for (const { abort } of running) abort.abort();
    await Promise.allSettled(running.map(({ done }) => done));
    await this.#recovered;
    await this.#undo.idle();
    await this.#outbox.close();
    await this.#parts.dispose();
  }

  /** The approval with this version of its request. It takes the place of another one for the same call. */
  #openApproval(request: ApprovalRequest): OpenApproval {
    const { approval_id, tool_id } = request;
    for (const [id, other] of this.#approvals)
      if (id !== approval_id && other.request.tool_id === tool_id) this.#closeApproval(id);
    const approval = this.#approvals.get(approval_id) ?? new OpenApproval(request, this.#approvalDeps);
    this.#approvals.set(approval_id, approval);
    approval.take(request);
    return approval;
  }

  #closeApproval(approvalId: string, status?: EventPayload<'approval.resolved'>['status']): void {
    this.#approvals.get(approvalId)?.close(status);
    this.#approvals.delete(approvalId);
  }

  async #recover(): Promise<void> {
    try {
      await recoverJournal(this.#journal, this.#parts.workspace, this.logger);
      await this.#undo.recover();
      for (const { toolId, report } of this.#journal.unacknowledged()) this.#outbox.add(toolId, report);
      for (const { toolIds, report } of this.#journal.unacknowledgedUndos())
        for (const toolId of toolIds) this.#outbox.add(toolId, report);
    } catch (error) {
      // Then nothing can be journalled either, and so nothing that needs it will run.
      this.logger.error('Journal recovery failed', { error });
    }
  }

  /** The report of an attempt that has been here before. */
  #journalled({ tool_id, attempt }: ExecutionSignal): ResultReport | undefined {
    try {
      const known = this.#journal.attempt(tool_id, attempt);
      return known && (known.report ?? failedReport(new CountersignError('RUNNER_LOST'), attempt));
    } catch (error) {
      // Calls that only read may continue. All others must write to the journal first, and fail there.
      this.logger.error(`Journal not readable: ${tool_id}`, { call: tool_id, error });
      return undefined;
    }
  }

  /** Whether the server has started a newer attempt: then a repeated signal starts nothing. */
  #hasNewerAttempt({ tool_id, attempt }: ExecutionSignal): boolean {
    if (this.#active.has(tool_id)) return true;
    try {
      return (this.#journal.newestAttempt(tool_id) ?? 0) > attempt;
    } catch {
      return false; // then nothing that needs the journal starts either
    }
  }

  /** Records the decision for the ceiling, by the digest of the card that this machine drew. */
  #rememberApproval({ approval_id, tool_id }: ApprovalRequest, digest: string): void {
    try {
      this.#journal.recordDecision({ approvalId: approval_id, toolId: tool_id, digest });
    } catch (error) {
      this.logger.error(`Decision of this machine not recorded: ${tool_id}`, { call: tool_id, error });
    }
  }

  /** It was rejected, expired or cancelled since. */
  #forgetApproval({ approval_id, tool_id }: Pick<ApprovalRequest, 'approval_id' | 'tool_id'>): void {
    try {
      this.#journal.forgetDecision(approval_id);
    } catch (error) {
      this.logger.error(`Decision of this machine not forgotten: ${tool_id}`, { call: tool_id, error });
    }
  }

  #acknowledged(toolId: string, { attempt, undo_id }: ResultReport, refused?: string): void {
    if (undo_id === undefined) this.#history.acknowledged(toolId, attempt, refused);
    try {
      if (undo_id === undefined) this.#journal.acknowledge(toolId, attempt);
      else this.#journal.acknowledgeUndo(undo_id);
    } catch (error) {
      this.logger.error(`Acknowledgement not journalled: ${toolId}`, { call: toolId, error });
    }
  }

  #witness(head: string | undefined): void {
    try {
      if (head !== undefined && !this.#journal.witness(head))
        this.logger.error("Server's audit log was cut or rewritten", {
          head,
          seen: this.#journal.auditHead,
        });
    } catch (error) {
      this.logger.error('Audit head not recorded', { error });
    }
  }
}
