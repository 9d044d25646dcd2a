import type { ChildProcess } from 'node:child_process';
import type { PolicyDecision, Refused } from '@countersign/policy';
import {
  CountersignError,
  type ErrorCode,
  findTool,
  higherRisk,
  type JsonValue,
  type RiskLevel,
  type ToolCall,
  waitsForCommand,
} from '@countersign/protocol';
import { permissionFor, readCeiling } from './call-permission.ts';
import type { RunnerClock } from './clock.ts';
import type { ExecutionHistory } from './execution-history.ts';
import type { ExecutionQueue } from './execution-queue.ts';
import type { CallLanding, Executor, ToolResult } from './executor.ts';
import type { FileChange } from './files/file-snapshot.ts';
import type { Journal } from './journal/journal.ts';
import type { Land } from './layers/landing.ts';
import type { Logger } from './logger.ts';
import { readMachinePolicy } from './machine-policy.ts';
import type { HeldHosts } from './network/held-hosts.ts';
import { type OwnVerdict, ownRisk } from './own-verdict.ts';
import { shownView } from './preview/call-digest.ts';
import { failedReport, reportOf } from './result-outbox.ts';
import { isRefusal, retry } from './retry.ts';
import type { ExecutionSignal, ResultReport, RunnerApi } from './runner-api.ts';
import { ExecutionCancelled, isCancellation, RefusedHere, ToolTypeError } from './runner-errors.ts';
import type { CallPreviews } from './tool-handler-config.ts';
import type { Trials } from './trial/trials.ts';
import { landedChanges, runChanges } from './undo/run-changes.ts';
import { ProgressSender } from './work-progress.ts';
import type { Workspace } from './workspace.ts';

/** How a call ended, for the handler's caller; the server gets a ResultReport. */
export interface ToolExecutionResult {
  readonly tool_id: string;
  readonly tool_type: string;
  readonly status: 'success' | 'error' | 'timeout' | 'cancelled';
  readonly output?: JsonValue;
  readonly error?: { readonly message: string; readonly code: string; readonly details?: JsonValue };
  readonly duration_ms: number;
  readonly timestamp: string;
}

export interface CallExecutionDeps {
  readonly api: RunnerApi;
  readonly clock: RunnerClock;
  readonly logger: Logger;
  readonly workspace: Workspace;
  /** The person's configuration folder, which may contain `ceiling.json`. */
  readonly configFolder: string;
  readonly journal: Journal;
  readonly history: ExecutionHistory;
  readonly queue: ExecutionQueue;
  readonly previews: CallPreviews;
  readonly heldHosts: HeldHosts;
  readonly land: Land;
  readonly trials: Trials;
  readonly decide: OwnVerdict['decide'];
  readonly executorOf: (tool: string) => Executor | undefined;
  /** Called when the call has ended; `report` is undefined if nothing is reported to the server. */
  readonly onEnd: (signal: ExecutionSignal, report: ResultReport | undefined) => void;
  /** True while the runner shuts down. */
  readonly isEnding: () => boolean;
}

/** Calls that concern background jobs, or what a running command waits for, return at once and need no slot (EX-4). */
const needsSlot = (tool: string): boolean =>
  tool !== 'reach_host' && (findTool(tool)?.category !== 'shell' || waitsForCommand(tool));
/** Refusals of a claim after which nothing is reported, because the server has settled the call itself. */
const settledByServer: ReadonlySet<ErrorCode> = new Set([
  'CLAIM_REFUSED',
  'APPROVAL_STALE',
  'GRANT_REVOKED',
  'NOT_FOUND',
]);
const isSettledByServer = (error: unknown): error is CountersignError =>
  error instanceof CountersignError && settledByServer.has(error.code);

/** One attempt of one call on this machine, from the server's signal to the report of its end. */
export class CallExecution {
  readonly signal: ExecutionSignal;
  readonly startTime: Date;
  /** The process that executes the call; undefined while the call is queued, or if it needs none. */
  process?: ChildProcess;
  /** The timer that stops `process` at its timeout. */
  timeout?: NodeJS.Timeout;
  /** Abort it to cancel the call, queued or executing. */
  readonly abort = new AbortController();
  readonly done: Promise<ToolExecutionResult>;
  readonly #deps: CallExecutionDeps;
  readonly #watch: Stopwatch;
  /** The changes of files that the call has begun to make. */
  #made: readonly FileChange[] = [];

  constructor(signal: ExecutionSignal, deps: CallExecutionDeps) {
    this.signal = signal;
    this.#deps = deps;
    this.startTime = new Date(deps.clock.now());
    this.#watch = new Stopwatch(deps.clock);
    deps.history.started(signal);
    this.done = this.#run();
  }

  async #run(): Promise<ToolExecutionResult> {
    const { history, queue, clock, onEnd, isEnding } = this.#deps;
    const { tool_id, tool_name, attempt } = this.signal;
    let report: ResultReport;
    let isReported = true;
    try {
      const execute = () => {
        this.#watch.endStage('queued_ms');
        return this.#execute();
      };
      const { signal } = this.abort;
      report = await (needsSlot(tool_name) ? queue.run(tool_id, signal, execute) : execute());
    } catch (error) {
      report = failedReport(error, attempt, this.#watch.elapsed());
      // A call that our shutdown cancelled before it started is not reported: the server gives it to another runner.
      const isCancelled = isCancellation(error);
      isReported = !(error instanceof ClaimRefused) && !(isEnding() && isCancelled);
      if (!isCancelled) this.#logError(error);
    }
    history.ended(tool_id, report, this.#watch.elapsed());
    this.#logEnd(report);
    onEnd(this.signal, isReported ? report : undefined);
    return executionResult(this.signal, report, clock.now());
  }

  /** Verdict, digest, permission, claim, journal, work, journal. Journal entries are flushed, to survive a crash. */
  async #execute(): Promise<ResultReport> {
    const { decide, executorOf, workspace, configFolder, clock, journal, logger } = this.#deps;
    const event = this.signal;
    const { tool_id, tool_name, attempt, approval_id } = event;
    this.#stopIfCancelled();
    const executor = executorOf(tool_name);
    if (!executor) throw new ToolTypeError(tool_name);
    const own = decide(tool_name, event.tool_params, event.path_rules);
    this.#watch.endStage('verdict_ms');
    const { verdict, call } = own;
    // `call` is undefined only if the verdict is REJECT; the types do not say so.
    if (verdict.decision === 'REJECT' || !call) throw new RefusedHere(verdict as Refused);
    const risk = higherRisk(event.risk_level, ownRisk(own));
    if (risk === 'LOW') {
      const result = await this.#work(executor, call, { risk, network: false, details: own.details });
      return reportOf(result, attempt, this.#watch.elapsed());
    }
    const { base, digest, plainBase } = await this.#digestNow(call, own);
    const permission = permissionFor({
      signal: event,
      own,
      risk,
      digest,
      workspaceRoot: workspace.root,
      now: clock.now(),
      ceiling: readCeiling(configFolder, workspace.root),
      rulesHere: readMachinePolicy(configFolder, workspace.root).policy?.rules ?? [],
      decidedHere: approval_id === null ? undefined : journal.decidedHere(approval_id, tool_id),
    });
    if (!permission.ok) throw new CountersignError(permission.code, permission.values);
    await this.#claim(digest);
    // What lands is compared with the digest once more by itself.
    if (plainBase === undefined) await this.#recheckDigest(digest);
    this.#stopIfCancelled();
    journal.start(tool_id, attempt, tool_name, {
      approvalId: approval_id,
      isDecisionNeeded: permission.needsDecisionHere,
    });
    const network = event.network && verdict.network;
    this.#watch.endStage('permission_ms');
    let report: ResultReport;
    try {
      const result =
        plainBase === undefined || approval_id === null
          ? await this.#work(executor, call, { risk, network, base, details: own.details })
          : await this.#landTrial(approval_id, { plainBase, base });
      report = await this.#withRunChanges(reportOf(result, attempt, this.#watch.elapsed()));
    } catch (error) {
      if (!isCancellation(error)) this.#logError(error);
      report = failedReport(error, attempt, this.#watch.elapsed());
    }
    try {
      journal.end(tool_id, attempt, report);
    } catch (error) {
      // The call has run: report it now. After a crash, the journal says that its outcome is unknown.
      logger.error(`Result not journalled: ${tool_id}`, { call: tool_id, error });
    }
    return report;
  }

  /** Adds the changes of the whole run to the report. If they cannot be computed, the report is sent without them. */
  async #withRunChanges(report: ResultReport): Promise<ResultReport> {
    const { journal, workspace, logger } = this.#deps;
    const { run_id, tool_id, attempt, tool_name } = this.signal;
    if (report.status !== 'completed' || !run_id) return report;
    try {
      const made = waitsForCommand(tool_name)
        ? await landedChanges(journal, workspace.root, tool_id, attempt)
        : this.#made;
      if (made.length === 0) return report;
      return { ...report, run_changes: await runChanges(journal, run_id, made) };
    } catch (error) {
      logger.error(`Changes of the run not computed: ${tool_id}`, { call: tool_id, error });
      return report;
    }
  }

  /** Lands what the person saw and approved: the call has run already (RN-13). */
  async #landTrial(
    approvalId: string,
    digests: { readonly plainBase: string; readonly base: string },
  ): Promise<ToolResult> {
    const { logger, trials } = this.#deps;
    const { tool_id, tool_name } = this.signal;
    logger.info(`Tool trial landing: ${tool_id}, ${tool_name}`, { call: tool_id, tool: tool_name });
    try {
      // The cast ignores optional fields that are undefined, because JSON leaves them out.
      return (await trials.land(approvalId, { ...digests, landing: this.#landing() })) as ToolResult;
    } finally {
      this.#watch.endStage('execution_ms');
    }
  }

  #landing(): CallLanding {
    const { journal, land } = this.#deps;
    const { tool_id: toolId, attempt, run_id } = this.signal;
    return {
      begin: (layer) => journal.recordLayer(toolId, attempt, layer),
      land: (landing) => land({ toolId, attempt, runId: run_id ?? undefined, ...landing }),
    };
  }

  async #work(
    executor: Executor,
    call: ToolCall,
    how: { risk: RiskLevel; network: boolean; base?: string; details: PolicyDecision['details'] },
  ): Promise<ToolResult> {
    const { api, logger, journal } = this.#deps;
    const { tool_id: toolId, tool_name, attempt, session_id: sessionId, run_id } = this.signal;
    logger.info(`Tool execution started: ${toolId}, ${tool_name}`, { call: toolId, tool: tool_name });
    const progress = new ProgressSender(api, toolId, logger);
    const ask = api.askForHost?.bind(api);
    try {
      const result = await executor.execute(call, {
        toolId,
        attempt,
        sessionId,
        riskLevel: how.risk,
        network: how.network,
        details: how.details,
        askForHost: ask && ((host) => this.#deps.heldHosts.ask(toolId, host, () => ask(toolId, { host }))),
        ...(how.base !== undefined && { digest: how.base }),
        signal: this.abort.signal,
        onProgress: (made) => progress.report(made),
        onProcess: ({ process, timeout }) => {
          this.process = process;
          this.timeout = timeout;
        },
        changes: {
          begin: (changes) => {
            if (how.base === undefined)
              throw new CountersignError('JOURNAL_UNAVAILABLE', {
                problem: `${tool_name} was started as harmless`,
              });
            journal.recordChanges(toolId, attempt, changes, run_id ?? undefined);
            this.#made = changes;
          },
        },
        ...(how.base !== undefined && { landing: this.#landing() }),
      });
      logger.debug(`Tool result: ${toolId}`, { call: toolId, result });
      return result;
    } finally {
      this.#watch.endStage('execution_ms');
      progress.close();
    }
  }

  /**
   * Recomputes the digest from the disk. If a person approved the call, the digest covers the whole card, drawn again; if
   * a grant or a rule did, there was no card, and it covers the call, its place and its files (docs/decisions/0005).
   * `plainBase` is set if the person approved a trial that is kept here: then its layer lands, and nothing runs.
   * Throws APPROVAL_STALE if an approved call can no longer be previewed (AP-8).
   */
  async #digestNow(
    call: ToolCall,
    own: PolicyDecision,
  ): Promise<{ readonly base: string; readonly digest: string; readonly plainBase?: string }> {
    const { previews, trials } = this.#deps;
    const event = this.signal;
    try {
      if (event.approved_by !== 'user') {
        const base = await previews.base(call, own);
        return { base, digest: base };
      }
      const plain = await previews.preview(call, own);
      const { digest_base: base, digest } = shownView(event, own, plain);
      // While it was being tried, the person may have approved it as it was shown before.
      if (event.approval_id === null || digest === event.digest) return { base, digest };
      const tried = await trials.viewOf(event.approval_id, plain);
      if (tried === plain) return { base, digest };
      const shown = shownView(event, own, tried);
      return {
        base: shown.digest_base,
        digest: shown.digest,
        ...(trials.lands(event.approval_id) && { plainBase: plain.base }),
      };
    } catch (error) {
      if (event.digest === null || !(error instanceof CountersignError)) throw error;
      throw new CountersignError('APPROVAL_STALE', { problem: error.message }, { cause: error });
    }
  }

  /** Claims the call (EX-6). Repeats the request if the response was lost; only a refusal by the server is final. */
  async #claim(digest: string): Promise<void> {
    const { api, clock, logger } = this.#deps;
    const { tool_id, attempt } = this.signal;
    const claim = api.startToolExecution?.bind(api);
    if (!claim) throw new CountersignError('CLAIM_REFUSED', { problem: 'this runner can only read' });
    this.#stopIfCancelled();
    try {
      await retry(() => claim(tool_id, { digest, attempt }), {
        clock,
        logger,
        failureMessage: `Claiming failed: ${tool_id}`,
        details: { call: tool_id },
        signal: this.abort.signal,
        isFinal: (error) => isRefusal(error) || isSettledByServer(error),
      });
    } catch (error) {
      if (isSettledByServer(error)) throw new ClaimRefused(error);
      this.#stopIfCancelled();
      throw error;
    }
    logger.debug(`Claimed: ${tool_id}, attempt ${attempt}`, { call: tool_id, attempt });
  }

  /**
   * Compares the digest again after the claim, because a script can change while the server handles the claim (AP-8).
   * File tools need no second check: they compare the digest with what they are about to do.
   */
  async #recheckDigest(digest: string): Promise<void> {
    const { tool_name, tool_params, path_rules } = this.signal;
    if (findTool(tool_name)?.category === 'filesystem') return;
    const own = this.#deps.decide(tool_name, tool_params, path_rules);
    if (own.verdict.decision === 'REJECT') throw new RefusedHere(own.verdict);
    if (own.call && (await this.#digestNow(own.call, own)).digest === digest) return;
    throw new CountersignError('APPROVAL_STALE', { problem: 'something changed while it was being claimed' });
  }

  #stopIfCancelled(): void {
    if (this.abort.signal.aborted) throw new ExecutionCancelled();
  }

  #logError(error: unknown): void {
    const { tool_id: call, tool_name: tool, attempt } = this.signal;
    this.#deps.logger.error(`Tool error: ${call}`, { call, tool, attempt, error });
  }

  #logEnd({ status, error }: ResultReport): void {
    const { logger } = this.#deps;
    const { tool_id: call, tool_name: tool } = this.signal;
    const total_ms = this.#watch.elapsed();
    const code = error && { code: error.code };
    logger.info(`Tool execution ${status}: ${call}`, { call, tool, ms: total_ms, ...code });
    if (error?.code === 'COMMAND_TIMEOUT')
      logger.error(`Tool timeout: ${call}`, { call, tool, problem: error.message });
    logger.debug(`Tool timing: ${call}`, { call, tool, ...this.#watch.stages, total_ms });
  }
}

export function executionResult(
  { tool_id, tool_name }: ExecutionSignal,
  report: ResultReport,
  now: number,
): ToolExecutionResult {
  const { status, result, error, error_details: details, execution_time_ms } = report;
  const failed = error?.code === 'COMMAND_TIMEOUT' ? 'timeout' : 'error';
  return {
    tool_id,
    tool_type: tool_name,
    status: status === 'completed' ? 'success' : status === 'cancelled' ? 'cancelled' : failed,
    ...(result !== undefined && { output: result }),
    ...(error && {
      error: { message: error.message, code: error.code, ...(details !== undefined && { details }) },
    }),
    duration_ms: execution_time_ms ?? 0,
    timestamp: new Date(now).toISOString(),
  };
}

/** The server refused the claim and has settled the call itself, so nothing is reported. */
class ClaimRefused extends CountersignError {
  constructor(cause: CountersignError) {
    super(cause.code, {}, { cause });
    this.message = cause.message;
  }
}

/** Measures one call, in whole milliseconds: all of it, and stage by stage for the log. */
class Stopwatch {
  readonly stages: Record<string, number> = {};
  readonly #clock: RunnerClock;
  readonly #startedAt: number;
  #stageBegan: number;

  constructor(clock: RunnerClock) {
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#stageBegan = this.#startedAt;
  }

  elapsed(): number {
    return milliseconds(this.#startedAt, this.#clock.monotonic());
  }

  /** Ends a stage, which began when the previous one ended. */
  endStage(name: string): void {
    const now = this.#clock.monotonic();
    this.stages[name] = milliseconds(this.#stageBegan, now);
    this.#stageBegan = now;
  }
}

const milliseconds = (from: number, to: number): number => Math.max(0, Math.round(to - from));
