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
import { keepConflicts } from './commands/layered-command.ts';
import type { ToolServers } from './custom/tool-servers.ts';
import { ExecutionHistory, type ExecutionHistoryEntry } from './execution-history.ts';
import { ExecutionQueue } from './execution-queue.ts';
import type { Executor } from './executor.ts';
import type { SettingsInForce } from './handler-settings.ts';
import type { Journal } from './journal/journal.ts';
import { recoverJournal } from './journal/recovery.ts';
import type { LogDetails, Logger } from './logger.ts';
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
import { makeOwnView, type OwnView } from './own-view.ts';
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
import { doorRequests } from './trial/door-requests.ts';
import {
  acknowledgeTried,
  isTried,
  RequestsHere,
  type TriedLanding,
  type TriedOutcome,
  type UndoHere,
  type UndoneHere,
} from './trial/requests-here.ts';
import { removeAbandonedTries } from './trial/trial.ts';
import { FileUndo } from './undo/file-undo.ts';
import type { UndoOptions } from './undo/undo-plan.ts';

const MAX_QUEUED = 1000;
/** The most calls that one list of a heartbeat names. */
const MAX_NAMED = 2000;

/**
 * Takes a tool call from the server's signal to its acknowledged result on this machine (RN-1), and asks the person
 * here where a card can be shown. To learn the runner, start with `handleToolExecutionSignal`.
 */
export class ToolHandler {
  /** Masks secrets in every line. */
  readonly logger: Logger;
  readonly #parts: WorkspaceParts;
  readonly #journal: Journal;
  /** Undecided requests, by approval id. */
  readonly #approvals = new Map<string, OpenApproval>();
  readonly #approvalDeps: OpenApprovalDeps;
  readonly #active = new Map<string, CallExecution>();
  readonly #callDeps: CallExecutionDeps;
  readonly #executorOf: ReadonlyMap<string, Executor>;
  readonly #outbox: ResultOutbox;
  readonly #undo: FileUndo;
  readonly #here: RequestsHere;
  /** What the person has asked for at this machine and is being done. */
  readonly #asked = new Set<Promise<unknown>>();
  readonly #queue: ExecutionQueue;
  readonly #history: ExecutionHistory;
  /** Resolves when the unfinished calls of earlier processes are settled. No call starts before that. */
  readonly #recovered: Promise<void>;
  readonly #ended = new AbortController();
  #disposed: Promise<void> | undefined;

  /** Without a dialogProvider no cards are shown here. Throws JOURNAL_UNAVAILABLE when another runner has the workspace. */
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
    this.#parts = parts;
    const {
      workspace,
      configFolder,
      journal,
      clock,
      previews,
      settings,
      readableSecrets,
      custom,
      heldHosts,
      land,
      trials,
    } = parts;
    for (const { path, keptIn } of parts.planted.setAside)
      this.logger.error(`Planted file set aside: ${path}, left by a runner that was killed`, { keptIn });
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
      look: (request) => makeOwnView(request, { ...common, readableSecrets }),
      tryCall: (request, view, signal) => this.#tryCall(request, view, signal),
      dropTrial: ({ approval_id }) => trials.drop(approval_id),
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
      heldHosts,
      land,
      trials,
      executorOf: (tool) => this.#executorOf.get(tool) ?? (isCustomToolName(tool) ? custom : undefined),
      onEnd: ({ tool_id: toolId, approval_id }, report) => {
        this.#active.delete(toolId);
        if (approval_id !== null) trials.drop(approval_id);
        heldHosts.end(toolId);
        if (report) this.#outbox.add(toolId, report);
      },
      isEnding: () => this.#ended.signal.aborted,
    };
    this.#undo = new FileUndo(journal, workspace);
    this.#here = new RequestsHere({
      journal,
      workspace,
      land,
      undo: (toolIds, options) => this.undoCalls(toolIds, options),
    });
    parts.door?.answers(
      doorRequests({
        landTried: (landing) => this.landTried(landing),
        undoHere: (asked) => this.undoHere(asked),
      }),
    );
    this.#recovered = this.#recover();
  }

  /** This machine's settings, without the server's limits (TL-3). */
  get settings(): SettingsInForce {
    return this.#parts.settings;
  }

  /** The person's custom tools (RN-8). WorkspaceRunner starts them. */
  get toolServers(): ToolServers {
    return this.#parts.toolServers;
  }

  get previews(): CallPreviews {
    return this.#parts.previews;
  }

  /** Requests with an open card on this machine, by tool id. */
  get pendingApprovals(): ReadonlyMap<string, OpenApproval> {
    const asked = [...this.#approvals.values()].filter(({ isAsked }) => isAsked);
    return new Map(asked.map((approval) => [approval.request.tool_id, approval]));
  }

  /** Calls that were signalled and have not ended, including queued ones, by tool id. */
  get activeExecutions(): ReadonlyMap<string, CallExecution> {
    return this.#active;
  }

  /** True if no call is active, no card is open and no background job runs: another runner may take over. */
  get isIdle(): boolean {
    const isBusy = [...this.#executorOf.values()].some((executor) => executor.isBusy);
    return (
      !isBusy &&
      !this.#parts.trials.isBusy &&
      this.#active.size + this.#asked.size === 0 &&
      this.pendingApprovals.size === 0
    );
  }

  /** The name of the editor that asked to take over this workspace, if any (RN-10). */
  get wantedBy(): string | undefined {
    return this.#journal.wantedBy;
  }

  /** One entry per call, newest last; the oldest entries are dropped. */
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

  /** This machine's own policy decision on a call (VA-8). */
  decide(...asked: Parameters<OwnVerdict['decide']>): PolicyDecision {
    const decision = this.#parts.verdict.decide(...asked);
    const { decision: verdict, reasons } = decision.verdict;
    this.logger.debug(`Own verdict: ${asked[0]} is ${verdict}`, { reasons });
    return decision;
  }

  /** The whole text of a file before and after a call, for an editor's own diff. Undefined for other calls. */
  async proposedText(tool: string, params: Record<string, JsonValue>): Promise<ProposedText | undefined> {
    const own = this.decide(tool, params);
    if (!own.call || own.verdict.decision === 'REJECT') return undefined;
    return isCustomCall(own.call) ? undefined : this.#parts.builtIn.proposedText(own.call, own);
  }

  /**
   * Previews the call if this machine would execute it, shows a card and sends the person's decision. Throws
   * ToolTypeError for an unknown tool.
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
    // Open it even for an unknown tool: the failed preview ends the call at the server (AP-7).
    const approval = this.#openApproval(event);
    if (!findTool(tool_name) && !isCustomToolName(tool_name)) throw new ToolTypeError(tool_name);
    this.#history.asked(event);
    const decided = await approval.ask();
    if (decided === undefined) return;
    this.#history.resolved({ tool_id, status: decided, approved_by: 'user' });
    this.logger.info(`Tool ${decided}: ${tool_id}`, { call: tool_id });
  }

  /** Withdraws the card of a request that was decided, expired or cancelled (AP-2). */
  handleApprovalResolved(event: EventPayload<'approval.resolved'>): void {
    const { tool_id, approval_id, status, device } = event;
    const details = { call: tool_id, approval: approval_id, status, device };
    this.logger.info(`Approval resolved: ${tool_id}, ${status}`, details);
    this.#history.resolved(event);
    if (status === 'approved') this.#parts.trials.approved(approval_id);
    else {
      this.#forgetApproval(event);
      this.#parts.heldHosts.end(tool_id);
    }
    this.#closeApproval(approval_id, status);
  }

  /** Takes a changed preview or edited parameters: previews the call again and updates the open card. */
  handleApprovalUpdated(event: EventPayload<'approval.updated'>): void {
    this.#approvals.get(event.approval_id)?.update(event);
  }

  /** Tries the call of an open approval in a layer, and shows what came of it (RN-13). */
  async handleToolTry({ approval_id, tool_id, revision }: EventPayload<'tool.try'>): Promise<void> {
    this.logger.info(`Tool trial received: ${tool_id}`, { call: tool_id, approval: approval_id });
    await this.#approvals.get(approval_id)?.try(revision);
  }

  /** Whether commands can be tried on this machine. */
  get canTry(): boolean {
    return this.#parts.trials.isAvailable;
  }

  async #tryCall(request: ApprovalRequest, view: OwnView, signal: AbortSignal): Promise<OwnView> {
    const { trials } = this.#parts;
    if ('refused' in view || !view.decision.call) return view;
    const asked = { call: view.decision.call, own: view.decision, plain: view };
    return { ...view, ...(await trials.try(request.approval_id, asked, signal)) };
  }

  /** Sends a decision made on this machine. Returns undefined if the approval is not open here. */
  sendDecision(approvalId: string, decision: DialogDecision): Promise<DecisionAnswer> | undefined {
    return this.#approvals.get(approvalId)?.decide(decision);
  }

  /** Withdraws all cards without a decision (AP-3). */
  withdrawApprovals(): void {
    for (const approval of this.#approvals.values()) approval.close();
    this.#approvals.clear();
  }

  /**
   * Executes the call and queues its result for the server. Resolves when the call has ended on this machine. A repeated
   * signal gets the result of the running or journalled attempt: nothing runs twice (EX-6).
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
    const { api, clock, logger } = this.#callDeps;
    const retrying = { clock, logger, signal: this.#ended.signal };
    const event = { ...given, tool_params: await callParams(given, api, retrying) };
    this.logger.debug(`Tool arguments: ${tool_id}`, { call: tool_id, arguments: event.tool_params });
    await this.#recovered;
    // No await between the last check of #active and `#active.set`, so two signals cannot start the same call.
    for (let running = this.#active.get(tool_id); running; running = this.#active.get(tool_id)) {
      if (running.signal.attempt === attempt) return running.done;
      if (running.signal.attempt > attempt) break; // an old signal, repeated: the newer attempt continues
      running.abort.abort(); // the server has given up the older attempt
      await running.done;
    }
    const resultOf = (report: ResultReport) => executionResult(event, report, clock.now());
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

  /** Drops the result of the named attempt only, because the stream may repeat old acknowledgements (EX-6). */
  handleToolResultAck({ tool_id, status, attempt, error, audit_head }: ResultAck): void {
    this.logger.info(`Tool result ack received: ${tool_id}, ${status}`, { call: tool_id, status, attempt });
    if (status === 'rejected')
      this.logger.error(`Tool result rejected: ${tool_id}`, { call: tool_id, error });
    this.#history.acknowledged(tool_id, attempt, status === 'rejected' ? (error ?? status) : undefined);
    if (attempt === undefined) this.#outbox.resendReportsOf(tool_id);
    else this.#outbox.acknowledge(tool_id, { audit_head }, attempt);
  }

  /** Cancels a queued call at once; an executing call ends as its executor reports (EX-8). */
  handleToolCancel({ tool_id }: { readonly tool_id: string }): void {
    this.logger.info(`Tool cancel received: ${tool_id}`, { call: tool_id });
    this.#active.get(tool_id)?.abort.abort();
  }

  /** Ends what a deleted conversation has running here (RN-5). */
  async handleSessionChanged({ session, deleted }: EventPayload<'session.changed'>): Promise<void> {
    if (deleted) await this.#parts.builtIn.endConversation(session.session_id);
  }

  /**
   * Restores the files that calls changed and reports the outcome with the undo's id (RN-3). If the ceiling requires
   * decisions on this machine, the server cannot force an undo over later changes (RN-2).
   */
  async handleToolUndo({ tool_id, tool_ids, undo_id, force }: EventPayload<'tool.undo'>): Promise<void> {
    const { configFolder, workspace } = this.#parts;
    const ceiling = readCeiling(configFolder, workspace.root);
    const mayForce = ceiling.ok && ceiling.decideHere.length === 0;
    const whyNotForced = 'replacing that is decided here: countersign undo --offline --force';
    await this.undoCalls(tool_ids ?? [tool_id], {
      undoId: undo_id,
      skipUndone: true,
      force: force && mayForce,
      ...(force && !mayForce && { whyNotForced }),
    });
  }

  /** Restores the files that these calls changed, as one undo, newest change first. Reports it once, for all of them. */
  async undoCalls(
    toolIds: readonly string[],
    { undoId = randomUUID(), ...options }: UndoOptions & { readonly undoId?: string },
  ): Promise<ResultReport> {
    this.logger.info(`Tool undo received: ${toolIds.join(', ')}`, { undo: undoId });
    await this.#recovered;
    const report = await this.#undo.undo(undoId, toolIds, options);
    const { status, error } = report;
    this.logger.info(`Tool undo ${status}: ${toolIds.join(', ')}`, { undo: undoId, status, error });
    this.#reportUndo(toolIds, report);
    return report;
  }

  /** Lands what the person has tried at this machine (RN-13). */
  landTried(landing: TriedLanding): Promise<TriedOutcome> {
    return this.#askedHere(() => this.#here.landTried(landing));
  }

  /** Undoes what the person names at this machine, without a server. */
  undoHere(undo: UndoHere): Promise<UndoneHere> {
    return this.#askedHere(() => this.#here.undoHere(undo));
  }

  #askedHere<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#recovered.then(() => {
      if (this.#disposed) throw new ExecutionCancelled();
      return work();
    });
    this.#asked.add(done);
    return done.finally(() => this.#asked.delete(done));
  }

  #reportUndo([first, ...others]: readonly string[], report: ResultReport): void {
    if (first === undefined) return;
    if ([first, ...others].every((id) => isTried(id, this.#journal))) {
      this.#acknowledged(first, report);
      return;
    }
    const all = others.length > 0 && { undo_tool_ids: [first, ...others] };
    this.#outbox.add(first, { ...report, ...all });
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

  /** Sends unacknowledged results now. Call when the server is reachable again. */
  resendResults(): void {
    this.#outbox.resend();
  }

  /** Deletes old journal entries. */
  pruneJournal(): void {
    this.#tryJournal('Journal not pruned', {}, () => this.#journal.prune());
  }

  /**
   * Withdraws every card without a decision, cancels all calls and waits until they have ended. The next process reports
   * unacknowledged results from the journal. Calling it twice is harmless.
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
    await Promise.allSettled(this.#asked);
    await this.#undo.idle();
    await this.#outbox.close();
    await this.#parts.dispose();
  }

  /** Opens an approval or updates it to this request. Closes any other approval of the same call. */
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
      const { workspace, layers } = this.#parts;
      await recoverJournal(this.#journal, workspace, this.logger, (landing, { conflicts }) =>
        keepConflicts(workspace, landing, conflicts),
      );
      await this.#undo.recover();
      acknowledgeTried(this.#journal);
      const needed = this.#journal.landings.pending().flatMap(({ layer }) => layer ?? []);
      layers.dropAbandoned((id) => needed.some((layer) => layer.id === id));
      const uppers = needed.map(({ upper }) => upper);
      await removeAbandonedTries(workspace.stateFolder, uppers);
      for (const { toolId, report } of this.#journal.unacknowledged()) this.#outbox.add(toolId, report);
      for (const { toolIds, report } of this.#journal.unacknowledgedUndos())
        this.#reportUndo(toolIds, report);
    } catch (error) {
      // No call above LOW can start now, because it must be journalled first.
      this.logger.error('Journal recovery failed', { error });
    }
  }

  /** The journalled report of this attempt; undefined if it never started here. */
  #journalled({ tool_id, attempt }: ExecutionSignal): ResultReport | undefined {
    // If the journal is not readable, LOW calls continue. All others must write to it first, and fail there.
    const known = this.#tryJournal(`Journal not readable: ${tool_id}`, { call: tool_id }, () =>
      this.#journal.attempt(tool_id, attempt),
    );
    return known && (known.report ?? failedReport(new CountersignError('RUNNER_LOST'), attempt));
  }

  /** True if a newer attempt is active or journalled: then this signal is an old one, repeated. */
  #hasNewerAttempt({ tool_id, attempt }: ExecutionSignal): boolean {
    if (this.#active.has(tool_id)) return true;
    try {
      return (this.#journal.newestAttempt(tool_id) ?? 0) > attempt;
    } catch {
      return false; // no call above LOW starts without the journal
    }
  }

  /** Records an approval made on this machine, with the digest of the card that this machine drew (RN-2). */
  #rememberApproval({ approval_id: approvalId, tool_id: toolId }: ApprovalRequest, digest: string): void {
    this.#tryJournal(`Decision of this machine not recorded: ${toolId}`, { call: toolId }, () =>
      this.#journal.recordDecision({ approvalId, toolId, digest }),
    );
  }

  /** Deletes the recorded approval of a request that was rejected, expired or cancelled. */
  #forgetApproval({ approval_id, tool_id }: Pick<ApprovalRequest, 'approval_id' | 'tool_id'>): void {
    this.#tryJournal(`Decision of this machine not forgotten: ${tool_id}`, { call: tool_id }, () =>
      this.#journal.forgetDecision(approval_id),
    );
  }

  #acknowledged(toolId: string, { attempt, undo_id }: ResultReport, refused?: string): void {
    if (undo_id === undefined) this.#history.acknowledged(toolId, attempt, refused);
    this.#tryJournal(`Acknowledgement not journalled: ${toolId}`, { call: toolId }, () => {
      if (undo_id === undefined) this.#journal.acknowledge(toolId, attempt);
      else this.#journal.acknowledgeUndo(undo_id);
    });
  }

  /** Compares the head of the server's audit log with the one seen before, and keeps it (DA-4). */
  #witness(head: string | undefined): void {
    if (head === undefined) return;
    this.#tryJournal('Audit head not recorded', {}, () => {
      if (this.#journal.witness(head)) return;
      const seen = this.#journal.auditHead;
      this.logger.error("Server's audit log was cut or rewritten", { head, seen });
    });
  }

  /** Logs a failure of the journal instead of throwing it. */
  #tryJournal<T>(failing: string, details: LogDetails, use: () => T): T | undefined {
    try {
      return use();
    } catch (error) {
      this.logger.error(failing, { ...details, error });
      return undefined;
    }
  }
}
