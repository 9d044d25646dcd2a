import { join } from 'node:path';
import {
  CountersignError,
  type CountersignEvent,
  runnerCapabilities,
  sentLimits,
  timing,
} from '@countersign/protocol';
import { announcedCapabilities } from './built-in-tools.ts';
import { type RunnerClock, systemClock } from './clock.ts';
import type { Logger } from './logger.ts';
import { readMachinePolicy } from './machine-policy.ts';
import type { ApprovalDialogProvider } from './open-approval.ts';
import { personsFolders } from './open-workspace.ts';
import { PersonsPolicyFile } from './policy-file.ts';
import type { ApprovalRequest, Heartbeat, RunnerApi } from './runner-api.ts';
import { ToolHandler } from './tool-handler.ts';
import type { ToolHandlerConfig } from './tool-handler-config.ts';
import type { Workspace } from './workspace.ts';

export interface WorkspaceRunnerOptions extends Omit<ToolHandlerConfig, 'workspace' | 'clock'> {
  readonly runnerId: string;
  readonly workspace: Workspace;
  readonly api: RunnerApi;
  /** Undefined: no cards are shown on this machine. */
  readonly dialogProvider: ApprovalDialogProvider | undefined;
  readonly logger: Logger;
  readonly clock?: RunnerClock;
  /** The project of this workspace. Requests of other projects on the same stream are not previewed here. */
  readonly projectId?: string;
  /**
   * Called when an editor wants to take over the workspace and nothing is running here (RN-10). To hand it over, dispose
   * of this runner within the call, so that nothing starts in between.
   */
  readonly onWanted?: (program: string) => void;
}

const HEARTBEAT_MS = timing.runnerHeartbeatSeconds * 1000;
/** About once an hour. */
const BEATS_BETWEEN_PRUNING = 360;
/** How often to check whether an editor asks for the workspace, and whether the person's policy file has changed. */
const LOOK_MS = 1000;

/**
 * The runner of one workspace: handles the events of the stream and sends heartbeats (RN-1, RN-10). It survives every
 * failure of the API. The constructor throws JOURNAL_UNAVAILABLE when another runner has the workspace.
 */
export class WorkspaceRunner {
  readonly handler: ToolHandler;
  readonly #options: WorkspaceRunnerOptions;
  readonly #clock: RunnerClock;
  readonly #logger: Logger;
  readonly #ended = new AbortController();
  #cancelHeartbeat = () => {};
  #cancelLook = () => {};
  #isBeating = false;
  #isHeartbeatLost = false;
  /** The server may not know our current custom tools: the next heartbeat lists them. */
  #toolsDirty = true;
  #limitsDirty = true;
  readonly #configFolder: string;
  readonly #policyFile: PersonsPolicyFile;
  /** The stamp of the policy file that the server was told of; undefined if it may not know any. */
  #reportedPolicy: string | undefined;
  #areToolsUp = false;
  #heartbeatQueued = false;
  #beats = 0;

  constructor(options: WorkspaceRunnerOptions) {
    const { api, dialogProvider, clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    this.handler = new ToolHandler(api, dialogProvider, options.logger, {
      ...options,
      clock,
      executes: (request) => this.#isOurs(request),
    });
    this.#logger = this.handler.logger;
    this.#scheduleHeartbeat();
    this.#configFolder = options.configFolder ?? personsFolders().config;
    this.#policyFile = new PersonsPolicyFile(join(this.#configFolder, 'policy.json'));
    this.#look();
  }

  /** Handles one event of the stream in the background. Never throws, never waits. */
  receive(event: CountersignEvent): void {
    if (this.#ended.signal.aborted) return;
    this.#route(event).catch((error: unknown) => {
      this.#logger.error(`Event could not be handled: ${event.event}`, { error });
    });
  }

  /** Call when the stream is open, for the first time or again: sends unacknowledged results and a heartbeat. */
  connected(): void {
    this.handler.resendResults();
    this.#limitsDirty = true;
    this.#reportedPolicy = undefined;
    void this.#startTools();
    void this.#beat();
  }

  /** What this runner can, for the opening of its stream. */
  get capabilities(): readonly string[] {
    return [...announcedCapabilities, ...(this.handler.canTry ? [runnerCapabilities.trials] : [])];
  }

  /** Leaves no process, timer or file behind. Harmless twice. */
  async dispose(): Promise<void> {
    this.#ended.abort();
    this.#cancelHeartbeat();
    this.#cancelLook();
    await this.handler.dispose();
  }

  async #route({ event, data }: CountersignEvent): Promise<void> {
    switch (event) {
      case 'tool.approval_request':
        return this.handler.handleToolApprovalRequest(data);
      case 'approval.updated':
        return this.handler.handleApprovalUpdated(data);
      case 'approval.resolved':
        return this.handler.handleApprovalResolved(data);
      case 'tool.execution_signal':
        if (data.runner_id === this.#options.runnerId) await this.handler.handleToolExecutionSignal(data);
        return;
      case 'tool.cancel':
        return this.handler.handleToolCancel(data);
      case 'tool.result_ack':
        return this.handler.handleToolResultAck(data);
      case 'tool.undo':
        if (data.runner_id === this.#options.runnerId) await this.handler.handleToolUndo(data);
        return;
      case 'tool.try':
        if (data.runner_id === this.#options.runnerId) await this.handler.handleToolTry(data);
        return;
      case 'session.changed':
        return this.handler.handleSessionChanged(data);
      case 'stream.reset':
        // The pending requests follow. The others were decided while we were disconnected.
        return this.handler.withdrawApprovals();
      default:
        return; // events for front ends only
    }
  }

  /** Whether this runner would execute the call: it belongs to this project, and no other runner has it. */
  #isOurs({ runner_id, project_id }: ApprovalRequest): boolean {
    const { runnerId, projectId } = this.#options;
    if (runner_id !== null && runner_id !== runnerId) return false;
    return projectId === undefined || project_id === projectId;
  }

  #scheduleHeartbeat(): void {
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT_MS, () => {
      this.#scheduleHeartbeat();
      this.#beats += 1;
      if (this.#beats % BEATS_BETWEEN_PRUNING === 0) this.handler.pruneJournal();
      void this.#beat();
    });
  }

  #look(): void {
    const { onWanted } = this.#options;
    this.#cancelLook = this.#clock.after(LOOK_MS, () => {
      this.#look();
      if (this.#reportedPolicy !== undefined && this.#policyFile.stamp() !== this.#reportedPolicy)
        this.#beatSoon();
      const { wantedBy, isIdle } = this.handler;
      if (wantedBy !== undefined && isIdle) onWanted?.(wantedBy);
    });
  }

  /** Starts the custom tool servers. Until they are up, heartbeats do not list tools, and the server keeps its old list. */
  async #startTools(): Promise<void> {
    const { toolServers } = this.handler;
    this.#toolsDirty = true;
    await toolServers.start();
    if (this.#areToolsUp) return;
    this.#areToolsUp = true;
    toolServers.onChange(() => this.#reportTools());
    // An empty list is reported with the next heartbeat.
    if (toolServers.tools.length > 0) this.#reportTools();
  }

  #reportTools(): void {
    this.#toolsDirty = true;
    this.#beatSoon();
  }

  #beatSoon(): void {
    this.#heartbeatQueued = this.#isBeating;
    void this.#beat();
  }

  /** Sends one heartbeat at a time, so that a slow server does not get a second one. */
  async #beat(): Promise<void> {
    const { api } = this.#options;
    if (this.#isBeating || this.#ended.signal.aborted) return;
    this.#isBeating = true;
    try {
      const answer = await api.sendHeartbeat?.(this.#heartbeat());
      this.#isHeartbeatLost = false;
      if (answer && !this.#ended.signal.aborted) this.handler.applyHeartbeatAnswer(answer);
    } catch (error) {
      this.#toolsDirty = true;
      this.#limitsDirty = true;
      this.#reportedPolicy = undefined;
      // The server registers a new runner a moment after its stream has opened: the next heartbeat succeeds.
      const isTooSoon = error instanceof CountersignError && error.code === 'NOT_FOUND';
      // Log one error while the server is away; the stream logs when it is back.
      this.#logger[isTooSoon || this.#isHeartbeatLost ? 'debug' : 'error']('Heartbeat failed', { error });
      this.#isHeartbeatLost ||= !isTooSoon;
    } finally {
      this.#isBeating = false;
    }
    if (!this.#heartbeatQueued) return;
    this.#heartbeatQueued = false;
    void this.#beat();
  }

  #heartbeat(): Heartbeat {
    const { settings, toolServers } = this.handler;
    const limits = this.#limitsDirty && { limits: sentLimits(settings.limits) };
    const tools = this.#areToolsUp && this.#toolsDirty && { custom_tools: [...toolServers.tools] };
    this.#limitsDirty = false;
    if (tools) this.#toolsDirty = false;
    return { ...this.handler.heartbeat(), ...limits, ...tools, ...this.#policyReport() };
  }
  /** The person's policy file, if it changed since the server was told of it. */
  #policyReport(): Pick<Heartbeat, 'policy'> {
    const stamp = this.#policyFile.stamp();
    if (stamp === this.#reportedPolicy) return {};
    this.#reportedPolicy = stamp;
    return { policy: readMachinePolicy(this.#configFolder, this.#options.workspace.root) };
  }
}
