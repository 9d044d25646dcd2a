import type { ChildProcess } from 'node:child_process';
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { type PolicyDecision, type Refused, SecretMasker } from '@countersign/policy';
import {
  CountersignError,
  type EventPayload,
  findTool,
  higherRisk,
  isCustomToolName,
  type JsonValue,
  type PolicyRule,
  type RiskLevel,
  type ToolCall,
} from '@countersign/protocol';
import {
  ApprovalDesk,
  type ApprovalDialogProvider,
  type OwnRequest,
  type PendingApproval,
} from './approval-desk.ts';
import { permissionFor } from './call-permission.ts';
import { readCeiling } from './ceiling.ts';
import type { RunnerClock } from './clock.ts';
import type { ToolServers } from './custom/tool-servers.ts';
import { ExecutionHistory, type ExecutionHistoryEntry } from './execution-history.ts';
import { ExecutionQueue } from './execution-queue.ts';
import type { Executor, RunningProcess, ToolResult } from './executor.ts';
import { failedReport, reportOf } from './failure-report.ts';
import type { SettingsInForce } from './handler-settings.ts';
import type { Journal } from './journal/journal.ts';
import { recoverJournal } from './journal/recovery.ts';
import type { Logger } from './logger.ts';
import { maskedLogger } from './masked-logger.ts';
import { openWorkspace, type WorkspaceParts } from './open-workspace.ts';
import { type OwnVerdict, ownRisk } from './own-verdict.ts';
import { OwnViews } from './own-views.ts';
import { type ProposedText, proposedText } from './preview/proposed-text.ts';
import { shownView } from './preview/shown-view.ts';
import { ProgressSender } from './progress-sender.ts';
import { ResultOutbox } from './result-outbox.ts';
import { retry } from './retry.ts';
import type {
  ApprovalRequest,
  ExecutionSignal,
  Heartbeat,
  HeartbeatAnswer,
  ResultAck,
  ResultReport,
  RunnerApi,
} from './runner-api.ts';
import { ExecutionCancelled, isCancellation, RefusedHere, ToolTypeError } from './runner-errors.ts';
import { Stopwatch } from './stopwatch.ts';
import type { CallPreviews, ToolHandlerConfig } from './tool-handler-config.ts';
import { FileUndo } from './undo/file-undo.ts';
import type { UndoOptions } from './undo/undo-plan.ts';
import type { Workspace } from './workspace.ts';

/** How a call ended, for whoever called the handler; the server gets a ResultReport. */
export interface ToolExecutionResult {
  readonly tool_id: string;
  readonly tool_type: string;
  readonly status: 'success' | 'error' | 'timeout' | 'cancelled';
  readonly output?: JsonValue;
  readonly error?: { readonly message: string; readonly code: string; readonly details?: JsonValue };
  readonly duration_ms: number;
  readonly timestamp: string;
}

export interface ActiveExecution {
  readonly signal: ExecutionSignal;
  readonly startTime: Date;
  /** The program that executes it now; undefined for a call that waits, or that needs no program of its own. */
  process?: ChildProcess;
  /** Stops that program when its time is over. */
  timeout?: NodeJS.Timeout;
  /** Aborting it cancels the call, in the queue and while it executes. */
  readonly abort: AbortController;
  readonly done: Promise<ToolExecutionResult>;
}

const MAX_QUEUED = 1000;
/** Calls of one kind that one heartbeat names; the others are named by a later one. */
const MAX_NAMED = 2000;
/** These concern jobs, or return at once (EX-4). */
const withoutSlot: ReadonlySet<string> = new Set(['shell_output', 'shell_kill', 'shell_background']);
/** The server knows already why this call may not start: there is nothing to report. */
const settledByServer: ReadonlySet<string> = new Set([
  'CLAIM_REFUSED',
  'APPROVAL_STALE',
  'GRANT_REVOKED',
  'NOT_FOUND',
]);

/**
 * Takes a tool call from the server's signal to its acknowledged result on this machine (RN-1), and asks the person
 * here where a card can be shown. To learn the runner, start with `handleToolExecutionSignal`.
 */
export class ToolHandler {
  readonly #api: RunnerApi;
  /** Masks secrets before a line is written. */
  readonly logger: Logger;
  readonly #clock: RunnerClock;
  readonly #workspace: Workspace;
  readonly #configFolder: string;
  readonly #verdict: OwnVerdict;
  readonly #previews: CallPreviews;
  readonly #journal: Journal;
  readonly #disposeParts: () => Promise<void>;
  readonly #joinLimits: WorkspaceParts['joinLimits'];
  /** Of this machine, without what the server told (TL-3). */
  readonly settings: SettingsInForce;
  readonly #executorOf: ReadonlyMap<string, Executor>;
  readonly #custom: Executor;
  /** The person's own tools (RN-8); whoever holds the stream starts them. */
  readonly toolServers: ToolServers;
  /** What this machine finds of the calls that are asked about. */
  readonly views: OwnViews;
  readonly #desk: ApprovalDesk;
  readonly #outbox: ResultOutbox;
  readonly #undo: FileUndo;
  readonly #queue: ExecutionQueue;
  readonly #active = new Map<string, ActiveExecution>();
  readonly #history: ExecutionHistory;
  /** What a runner before this one left is settled: nothing starts before. */
  readonly #recovered: Promise<void>;
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
    for (const { path, keptIn } of parts.planted.setAside)
      this.logger.error(`Planted file set aside: ${path}, left by a runner that was killed`, { keptIn });
    this.#clock = parts.clock;
    this.#workspace = parts.workspace;
    this.#configFolder = parts.configFolder;
    this.#verdict = parts.verdict;
    this.#previews = parts.previews;
    this.#journal = parts.journal;
    this.#disposeParts = () => parts.dispose();
    this.#joinLimits = (told) => parts.joinLimits(told);
    this.settings = parts.settings;
    this.#executorOf = new Map(
      parts.executors.flatMap((executor) => executor.tools.map((tool) => [tool, executor])),
    );
    this.#custom = parts.custom;
    this.toolServers = parts.toolServers;
    this.#history = new ExecutionHistory(() => this.#clock.now());
    this.#queue = new ExecutionQueue({ limit: parts.settings.concurrencyLimit, maxWaiting: MAX_QUEUED });
    const { executes = () => true } = config;
    this.views = new OwnViews({
      decide: (tool, params, rules) => this.decide(tool, params, rules),
      previews: this.#previews,
      readableSecrets: parts.readableSecrets,
      logger: this.logger,
    });
    this.#desk = new ApprovalDesk({
      api,
      dialogs: dialogProvider,
      clock: this.#clock,
      logger: this.logger,
      defaultTimeoutMs: parts.settings.approvalTimeoutMs,
      draw: async (request) => (executes(request) ? this.views.card(request) : undefined),
      onApproving: (request) => this.#rememberDecision(request),
    });
    this.#outbox = new ResultOutbox({
      api,
      clock: this.#clock,
      logger: this.logger,
      onDelivered: (toolId, report, { audit_head, refused }) => {
        if (refused !== undefined)
          this.logger.error(`Tool result refused: ${toolId}`, { call: toolId, refused });
        this.#acknowledged(toolId, report, refused);
        this.#witness(audit_head);
      },
    });
    this.#undo = new FileUndo(this.#journal, this.#workspace);
    this.#recovered = this.#recover();
  }

  /** Cards that are open here, by tool id. */
  get pendingApprovals(): ReadonlyMap<string, PendingApproval> {
    return this.#desk.pending;
  }

  /** Calls that were signalled and have not ended, queued ones too, by tool id. */
  get activeExecutions(): ReadonlyMap<string, ActiveExecution> {
    return this.#active;
  }

  /** Whether nothing is queued, executing, asked here or running in the background: another runner may take over. */
  get isIdle(): boolean {
    const isBusy = [...this.#executorOf.values()].some((executor) => executor.isBusy);
    return !isBusy && this.#active.size === 0 && this.#desk.pending.size === 0;
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
  decide(tool: string, params: Record<string, JsonValue>, rules?: readonly PolicyRule[]) {
    const decision = this.#verdict.decide(tool, params, rules);
    this.logger.debug(`Own verdict: ${tool} is ${decision.verdict.decision}`, {
      reasons: decision.verdict.reasons,
    });
    return decision;
  }

  get previews(): CallPreviews {
    return this.#previews;
  }

  /** The whole text of a file before and after a call, for an editor's own diff; undefined where there is none. */
  async proposedText(tool: string, params: Record<string, JsonValue>): Promise<ProposedText | undefined> {
    const own = this.decide(tool, params);
    if (!own.call || own.verdict.decision === 'REJECT') return undefined;
    return proposedText(own.call, own, this.#workspace);
  }

  /** Asks the person here, and sends what they decide. Throws ToolTypeError for a tool that nobody knows. */
  async handleToolApprovalRequest(event: ApprovalRequest): Promise<void> {
    const { tool_id, tool_name, risk_level } = event;
    this.logger.info(`Tool approval request received: ${tool_id}, ${tool_name}, risk_level=${risk_level}`, {
      call: tool_id,
      tool: tool_name,
      risk: risk_level,
      approval: event.approval_id,
    });
    this.logger.debug(`Tool arguments: ${tool_id}`, { call: tool_id, arguments: event.tool_params });
    if (!findTool(tool_name) && !isCustomToolName(tool_name)) throw new ToolTypeError(tool_name);
    if (this.#disposed) return;
    this.#history.asked(event);
    const decided = await this.#desk.ask(event);
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
    this.#desk.resolved(event);
    this.views.forget(approval_id);
  }

  /** A preview or an edit: the open card shows it. */
  handleApprovalUpdated(event: EventPayload<'approval.updated'>): void {
    this.#desk.updated(event);
  }

  /** Every card goes, without a decision (AP-3). */
  withdrawApprovals(): void {
    this.#desk.close();
    this.views.clear();
  }

  /**
   * Executes the call and sees to it that its result gets to the server. Resolves when it has ended here. The same
   * signal again answers from what is running or from the journal: nothing runs twice (EX-6).
   */
  async handleToolExecutionSignal(event: ExecutionSignal): Promise<ToolExecutionResult> {
    const { tool_id, tool_name, attempt } = event;
    const { risk_level: risk, approved_by } = event;
    this.logger.info(`Tool execution signal received: ${tool_id}, ${tool_name}`, {
      call: tool_id,
      tool: tool_name,
      risk,
      attempt,
      approved_by,
    });
    this.logger.debug(`Tool arguments: ${tool_id}`, { call: tool_id, arguments: event.tool_params });
    await this.#recovered;
    // Everything from the last look at what runs to the entry of this call happens in one turn: no second one starts.
    for (let running = this.#active.get(tool_id); running; running = this.#active.get(tool_id)) {
      if (running.signal.attempt === attempt) return running.done;
      if (running.signal.attempt > attempt) break; // an old signal, repeated: what runs goes on
      running.abort.abort(); // the server has given up the attempt before this one
      await running.done;
    }
    const unreported = () => this.#ended(event, failedReport(new ExecutionCancelled(), attempt, 0));
    if (this.#disposed) return unreported();
    const known = this.#journalled(event);
    if (known) {
      this.#outbox.add(tool_id, known);
      return this.#ended(event, known);
    }
    if (this.#hasNewerAttempt(event)) return unreported();
    const abort = new AbortController();
    const done = this.#executeAndReport(event, abort.signal);
    this.#active.set(tool_id, { signal: event, startTime: new Date(this.#clock.now()), abort, done });
    return done;
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
    const ceiling = readCeiling(this.#configFolder, this.#workspace.root);
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

  /** What is going on, for the server (EX-7). */
  heartbeat(): Heartbeat {
    const queued = new Set(this.#queue.waiting);
    const executing = [...this.#active.keys()].filter((id) => !queued.has(id));
    const unacknowledged = this.#outbox.unacknowledged.slice(0, MAX_NAMED);
    return { queued: [...queued], executing: executing.slice(0, MAX_NAMED), unacknowledged };
  }

  applyHeartbeatAnswer({ calls, audit_head, limits }: HeartbeatAnswer): void {
    if (limits) this.#joinLimits(limits);
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

  /** Forgets what is old enough; once in a while is enough. */
  pruneJournal(): void {
    try {
      this.#journal.prune();
    } catch (error) {
      this.logger.error('Journal not pruned', { error });
    }
  }

  /**
   * Withdraws every card without a decision, cancels what runs and waits until nothing of it is left. What had
   * started is in the journal, and is reported by the next life. Harmless twice.
   */
  dispose(): Promise<void> {
    this.#disposed ??= this.#disposeOnce();
    return this.#disposed;
  }

  async #disposeOnce(): Promise<void> {
    this.withdrawApprovals();
    const running = [...this.#active.values()];
    for (const { abort } of running) abort.abort();
    await Promise.allSettled(running.map(({ done }) => done));
    await this.#recovered;
    await this.#undo.idle();
    await this.#outbox.close();
    await this.#disposeParts();
  }

  async #recover(): Promise<void> {
    try {
      await recoverJournal(this.#journal, this.#workspace, this.logger);
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
      // What only reads may go on; everything else has to be written there first, and fails.
      this.logger.error(`Journal not readable: ${tool_id}`, { call: tool_id, error });
      return undefined;
    }
  }

  /** The server has gone on since: whoever repeats this signal, nothing starts by it. */
  #hasNewerAttempt({ tool_id, attempt }: ExecutionSignal): boolean {
    if (this.#active.has(tool_id)) return true;
    try {
      return (this.#journal.newestAttempt(tool_id) ?? 0) > attempt;
    } catch {
      return false; // then nothing that needs the journal starts either
    }
  }

  async #executeAndReport(event: ExecutionSignal, signal: AbortSignal): Promise<ToolExecutionResult> {
    const { tool_id, tool_name, attempt } = event;
    this.#history.started(event);
    const watch = new Stopwatch(this.#clock);
    let report: ResultReport;
    let isReported = true;
    try {
      const execute = () => {
        watch.endStage('queued_ms');
        return this.#execute(event, signal, watch);
      };
      report = await (withoutSlot.has(tool_name) ? execute() : this.#queue.run(tool_id, signal, execute));
    } catch (error) {
      report = failedReport(error, attempt, watch.elapsed());
      // A call that never began and that nobody cancelled but our own end: the server gives it to somebody else.
      const isCancelled = isCancellation(error);
      isReported = !(error instanceof ClaimRefused) && !(this.#disposed && isCancelled);
      if (!isCancelled) this.#logError(event, error);
    }
    this.#active.delete(tool_id);
    this.#history.ended(tool_id, report, watch.elapsed());
    this.#logEnd(event, report, watch);
    if (isReported) this.#outbox.add(tool_id, report);
    return this.#ended(event, report);
  }

  #logError({ tool_id: call, tool_name: tool, attempt }: ExecutionSignal, error: unknown): void {
    this.logger.error(`Tool error: ${call}`, { call, tool, attempt, error });
  }

  #logEnd({ tool_id: call, tool_name: tool }: ExecutionSignal, report: ResultReport, watch: Stopwatch): void {
    const { status, error } = report;
    const total_ms = watch.elapsed();
    this.logger.info(`Tool execution ${status}: ${call}`, {
      call,
      tool,
      ms: total_ms,
      ...(error && { code: error.code }),
    });
    if (error?.code === 'COMMAND_TIMEOUT')
      this.logger.error(`Tool timeout: ${call}`, { call, tool, problem: error.message });
    this.logger.debug(`Tool timing: ${call}`, { call, tool, ...watch.stages, total_ms });
  }

  /** Verdict, permission, digest, claim, journal, work, journal: each step that must survive a crash is flushed. */
  async #execute(event: ExecutionSignal, signal: AbortSignal, watch: Stopwatch): Promise<ResultReport> {
    const { tool_id, tool_name, attempt } = event;
    if (signal.aborted) throw new ExecutionCancelled();
    const executor =
      this.#executorOf.get(tool_name) ?? (isCustomToolName(tool_name) ? this.#custom : undefined);
    if (!executor) throw new ToolTypeError(tool_name);
    const own = this.decide(tool_name, event.tool_params, event.path_rules);
    watch.endStage('verdict_ms');
    const { verdict, call } = own;
    // Only a refused call cannot be read; the types do not say so.
    if (verdict.decision === 'REJECT' || !call) throw new RefusedHere(verdict as Refused);
    const risk = higherRisk(event.risk_level, ownRisk(own));
    if (risk === 'LOW') {
      const result = await this.#work(executor, call, event, { risk, network: false, signal, watch });
      return reportOf(result, attempt, watch.elapsed());
    }
    const { base, digest } = await this.#digestNow(call, own, event);
    const permission = permissionFor({
      signal: event,
      own,
      risk,
      digest,
      workspaceRoot: this.#workspace.root,
      now: this.#clock.now(),
      ceiling: readCeiling(this.#configFolder, this.#workspace.root),
      decidedHere: this.#decidedHere(event),
    });
    if (!permission.ok) throw new CountersignError(permission.code, permission.values);
    await this.#claim(event, digest, signal);
    await this.#lookAgain(event, digest);
    if (signal.aborted) throw new ExecutionCancelled();
    this.#journal.start(tool_id, attempt, tool_name, {
      approvalId: event.approval_id,
      isDecisionNeeded: permission.needsDecisionHere,
    });
    const network = event.network && verdict.network;
    watch.endStage('permission_ms');
    let report: ResultReport;
    try {
      const result = await this.#work(executor, call, event, { risk, network, signal, watch, base });
      report = reportOf(result, attempt, watch.elapsed());
    } catch (error) {
      if (!isCancellation(error)) this.#logError(event, error);
      report = failedReport(error, attempt, watch.elapsed());
    }
    try {
      this.#journal.end(tool_id, attempt, report);
    } catch (error) {
      // It has happened: the server hears of it now, and after a crash the journal says "unknown".
      this.logger.error(`Result not journalled: ${tool_id}`, { call: tool_id, error });
    }
    return report;
  }

  async #work(
    executor: Executor,
    call: ToolCall,
    event: ExecutionSignal,
    how: { risk: RiskLevel; network: boolean; signal: AbortSignal; watch: Stopwatch; base?: string },
  ): Promise<ToolResult> {
    const { tool_id: toolId, tool_name, attempt, session_id: sessionId } = event;
    this.logger.info(`Tool execution started: ${toolId}, ${tool_name}`, { call: toolId, tool: tool_name });
    const progress = new ProgressSender(this.#api, toolId, this.logger);
    try {
      const result = await executor.execute(call, {
        toolId,
        attempt,
        sessionId,
        riskLevel: how.risk,
        network: how.network,
        ...(how.base !== undefined && { digest: how.base }),
        signal: how.signal,
        onProgress: (made) => progress.report(made),
        onProcess: (running) => this.#runningProcess(event, running),
        changes: {
          begin: (changes) => {
            if (how.base === undefined)
              throw new CountersignError('JOURNAL_UNAVAILABLE', {
                problem: `${tool_name} was started as harmless`,
              });
            this.#journal.recordChanges(toolId, attempt, changes);
          },
        },
      });
      this.logger.debug(`Tool result: ${toolId}`, { call: toolId, result });
      return result;
    } finally {
      how.watch.endStage('execution_ms');
      progress.close();
    }
  }

  #runningProcess({ tool_id, attempt }: ExecutionSignal, { process, timeout }: RunningProcess): void {
    const active = this.#active.get(tool_id);
    if (active?.signal.attempt !== attempt) return;
    active.process = process;
    active.timeout = timeout;
  }

  #decidedHere({ approval_id, tool_id }: ExecutionSignal): string | undefined {
    return approval_id === null ? undefined : this.#journal.decidedHere(approval_id, tool_id);
  }

  /**
   * The digest by which the call may start: of the whole card, drawn again from the disk, where a person approved it; of
   * call, place and files alone where a grant or a rule did, and nobody saw a card (0005). What was approved and cannot
   * even be planned any more has changed as well (AP-8).
   */
  async #digestNow(
    call: ToolCall,
    own: PolicyDecision,
    event: ExecutionSignal,
  ): Promise<{ readonly base: string; readonly digest: string }> {
    try {
      if (event.approved_by !== 'user') {
        const base = await this.#previews.base(call, own);
        return { base, digest: base };
      }
      const { digest_base: base, digest } = shownView(event, own, await this.#previews.preview(call, own));
      return { base, digest };
    } catch (error) {
      if (event.digest === null || !(error instanceof CountersignError)) throw error;
      throw new CountersignError('APPROVAL_STALE', { problem: error.message }, { cause: error });
    }
  }

  /** EX-6. An answer that was lost on the way is asked for again; only the server's own word refuses. */
  async #claim(event: ExecutionSignal, digest: string, signal: AbortSignal): Promise<void> {
    const { tool_id, attempt } = event;
    const claim = this.#api.startToolExecution?.bind(this.#api);
    if (!claim) throw new CountersignError('CLAIM_REFUSED', { problem: 'this runner can only read' });
    if (signal.aborted) throw new ExecutionCancelled();
    try {
      await retry(() => claim(tool_id, { digest, attempt }), {
        clock: this.#clock,
        logger: this.logger,
        failing: `Claiming failed: ${tool_id}`,
        details: { call: tool_id },
        signal,
      });
    } catch (error) {
      if (error instanceof CountersignError && settledByServer.has(error.code)) throw new ClaimRefused(error);
      throw signal.aborted ? new ExecutionCancelled() : error;
    }
    this.logger.debug(`Claimed: ${tool_id}, attempt ${attempt}`, { call: tool_id, attempt });
  }

  /**
   * Claiming takes as long as the server likes, and a script can change meanwhile (AP-8). File tools need no second
   * look: they compare the digest with what they are about to do.
   */
  async #lookAgain(event: ExecutionSignal, digest: string): Promise<void> {
    if (findTool(event.tool_name)?.category === 'filesystem') return;
    const own = this.decide(event.tool_name, event.tool_params, event.path_rules);
    if (own.verdict.decision === 'REJECT') throw new RefusedHere(own.verdict);
    if (own.call && (await this.#digestNow(own.call, own, event)).digest === digest) return;
    throw new CountersignError('APPROVAL_STALE', { problem: 'something changed while it was being claimed' });
  }

  /** So that the ceiling knows it later: by the digest of what this machine drew, and nobody else. */
  #rememberDecision({ approval_id, tool_id, digest }: OwnRequest): void {
    try {
      this.#journal.recordDecision({ approvalId: approval_id, toolId: tool_id, digest });
    } catch (error) {
      this.logger.error(`Decision of this machine not recorded: ${tool_id}`, { call: tool_id, error });
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

  #ended({ tool_id, tool_name }: ExecutionSignal, report: ResultReport): ToolExecutionResult {
    const { status, result, error, error_details: details, execution_time_ms } = report;
    const failed = error?.code === 'COMMAND_TIMEOUT' ? 'timeout' : 'error';
    return {
      tool_id,
      tool_type: tool_name,
      status: status === 'completed' ? 'success' : status === 'cancelled' ? 'cancelled' : failed,
      ...(result !== undefined && { output: result }),
      ...(error && {
        error: {
          message: error.message,
          code: error.code,
          ...(details !== undefined && { details }),
        },
      }),
      duration_ms: execution_time_ms ?? 0,
      timestamp: new Date(this.#clock.now()).toISOString(),
    };
  }
}

/** The server refused the claim: it knows why, so there is nothing to report. */
class ClaimRefused extends CountersignError {
  constructor(cause: CountersignError) {
    super(cause.code, {}, { cause });
    this.message = cause.message;
  }
}
