import type { SecretMasker } from '@countersign/policy';
import { defaultLimits, type Limits } from '@countersign/protocol';
import { ApprovalManager } from './approve/approval-manager.ts';
import { PendingDecisions } from './approve/pending-decisions.ts';
import type { KeptPolicyFile } from './approve/policy-file.ts';
import { SessionModes } from './approve/session-modes.ts';
import { StoredPolicies } from './approve/stored-policies.ts';
import { CallAssignments } from './dispatch/call-assignments.ts';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { HostRequests } from './dispatch/host-requests.ts';
import { type ConnectedRunner, RunnerRegistry } from './dispatch/runners.ts';
import { Signals } from './dispatch/signals.ts';
import type { Edges, EngineParts } from './engine-parts.ts';
import { EventLoopTurns } from './event-loop-turns.ts';
import { newId } from './ids.ts';
import { NodeMembership } from './nodes/node-membership.ts';
import { RunnerPresence } from './nodes/runner-presence.ts';
import { Refusal } from './refusal.ts';
import type { RunnerRow } from './rows.ts';
import { Outcomes } from './settle/outcomes.ts';
import type { Hint } from './store.ts';
import { StreamManager, type StreamOptions, type StreamSink } from './streams/stream-manager.ts';
import { ToolExecutor } from './tool-executor.ts';

export interface EngineDeps extends Edges {
  readonly masker: SecretMasker;
  /** The operator's limits (TL-3); the specification's by default. */
  readonly limits?: Limits;
  /** Where the rules of the person on whose machine we run are kept; by default, everybody's are in the database. */
  readonly policyFile?: KeptPolicyFile | undefined;
  /** Machine and process, for people who read the database. */
  readonly nodeName?: string | undefined;
  /** A keyed hash that proves which secret this server signs with: all nodes on one database must share it. */
  readonly keyCheck?: string | undefined;
}

/** How often waiters and streams look again, in case a hint was lost. */
const TICK_MS = 5_000;
/** If a task is this long overdue, its node died or is late: the first node that looks does it. */
const OVERDUE_MS = 1_000;
/** Maximum number of tasks of each kind in one sweep; the rest wait for the next tick. */
const SWEPT_AT_ONCE = 500;

/** The parts of the engine, wired together. */
export class Engine {
  readonly executor: ToolExecutor;
  readonly approvals: ApprovalManager;
  readonly modes: SessionModes;
  readonly decisions: PendingDecisions;
  readonly assignments: CallAssignments;
  readonly dispatcher: Dispatcher;
  readonly hostRequests: HostRequests;
  readonly streams: StreamManager;
  readonly runners: RunnerRegistry;
  readonly policies: StoredPolicies;
  readonly outcomes: Outcomes;
  readonly presence: RunnerPresence;
  /** The id of this process among those that share the database. */
  readonly node = newId();
  readonly #deps: EngineDeps;
  readonly #membership: NodeMembership;
  readonly #unsubscribe: () => void;
  /** Runners whose streams are being opened. Their ids count as taken, although `streams` does not have them yet. */
  readonly #opening = new Set<ConnectedRunner>();
  /** True once we know whether other servers were running when we started; until then their work is left alone. */
  #knowsOthers = false;
  #stopTick: (() => void) | undefined;
  #closed = false;

  constructor(deps: EngineDeps) {
    const { store, bus, clock, masker, onError, reached, limits = defaultLimits } = deps;
    const edges: Edges = { store, bus, clock, onError, reached };
    const { node } = this;
    this.#deps = deps;
    this.policies = new StoredPolicies(store, masker, limits, deps.policyFile);
    this.outcomes = new Outcomes(store, bus, onError);
    const turns = new EventLoopTurns();
    this.streams = new StreamManager(store, bus, onError, turns);
    this.runners = new RunnerRegistry(clock, (runner) => {
      this.#takeCallsFrom(runner).catch(onError);
    });
    this.presence = new RunnerPresence({ ...edges, runners: this.runners, node });
    const { nodeName: name = '', keyCheck = '' } = deps;
    this.#membership = new NodeMembership({ ...edges, node, name, keyCheck });
    const { policies, outcomes, presence, runners } = this;
    const signals = new Signals({
      store,
      presence,
      policies,
      hasPlainListener: (userId, projectId) => this.streams.hasPlainListener(userId, projectId),
    });
    this.decisions = new PendingDecisions({ ...edges, outcomes });
    const { decisions } = this;
    const base = { ...edges, policies, outcomes, runners, presence, signals, decisions };
    this.assignments = new CallAssignments(base);
    const parts: EngineParts = { ...base, assignments: this.assignments };
    this.dispatcher = new Dispatcher(parts);
    this.approvals = new ApprovalManager(parts, turns);
    this.modes = new SessionModes(parts);
    this.executor = new ToolExecutor(parts, this.approvals);
    this.hostRequests = new HostRequests(parts, this.executor, this.dispatcher);
    this.#unsubscribe = bus.subscribe((hint) => this.#hinted(hint));
  }

  /**
   * Rebuilds from the store what an earlier process was waiting for (AP-10). Call it before the first request. If other
   * nodes are running, they already wait for those calls and decisions.
   */
  async start(): Promise<void> {
    await this.#membership.join();
    await this.#findOthers();
    this.#scheduleTick();
  }

  /** Tells the other nodes that this one stops. Call it before `close`, while the store is open. */
  leave(): Promise<void> {
    return this.#membership.leave();
  }

  close(): void {
    this.#closed = true;
    this.#stopTick?.();
    this.#membership.stop();
    this.#unsubscribe();
    this.streams.close();
    this.decisions.close();
    this.assignments.close();
    this.dispatcher.close();
    this.runners.close();
    this.outcomes.close();
  }

  /** Opens a stream for a person's client, or for a runner (EV-2, EV-3). Returns a function that closes it. */
  async openStream(
    options: StreamOptions & { readonly runner?: ConnectedRunner },
    sink: StreamSink,
  ): Promise<() => void> {
    const { runner } = options;
    if (!runner) return this.streams.open(options, sink);
    this.#requireFreeHere(runner);
    this.#opening.add(runner);
    try {
      return await this.#openRunnerStream(options, runner, sink);
    } finally {
      this.#opening.delete(runner);
    }
  }

  async #openRunnerStream(
    options: StreamOptions,
    runner: ConnectedRunner,
    sink: StreamSink,
  ): Promise<() => void> {
    const streamId = newId();
    await this.presence.connected(runner, streamId);
    this.runners.connect(runner);
    let close = () => {};
    const end = () => {
      close();
      if (!this.#closed) this.presence.streamEnded(runner, streamId).catch(this.#deps.onError);
    };
    try {
      await this.assignments.prepare(runner);
      const { instance, workspace } = runner;
      close = await this.streams.open({ ...options, instance, workspace, streamId }, sink);
      await this.assignments.connected(runner);
    } catch (error) {
      end();
      throw error;
    }
    return end;
  }

  /**
   * Refuses a second program with the id of a connected runner, because both would execute. The same program may connect
   * again at any time; its older stream ends (EX-6).
   */
  async requireFree(runner: ConnectedRunner): Promise<void> {
    this.#requireFreeHere(runner);
    await this.presence.requireFree(runner);
  }

  #requireFreeHere({ userId, id, instance }: ConnectedRunner): void {
    const isOpening = [...this.#opening].some(
      (other) => other.userId === userId && other.id === id && other.instance !== instance,
    );
    if (isOpening || this.streams.isTaken(userId, id, instance))
      throw new Refusal('RUNNER_CONNECTED', { runner: id });
  }

  async #takeCallsFrom(runner: ConnectedRunner): Promise<void> {
    const leftMs = await this.presence.giveUp(runner);
    // Another node still hears the runner: check again when its lease ends.
    if (leftMs !== undefined) return this.runners.expect(runner, leftMs);
    // End its stream: a runner that was only asleep still believes that the stream is open.
    this.streams.endRunner(runner.userId, runner.id);
    await this.assignments.lost(runner);
  }

  #hinted(hint: Hint): void {
    if (hint.kind === 'unassigned' && this.streams.hasPlainListener(hint.userId, hint.projectId))
      this.dispatcher.offer(hint.toolId).catch(this.#deps.onError);
    if (hint.kind !== 'runner') return;
    // Another program may serve the workspace now, with limits that it reported long ago (TL-3).
    this.policies.forget(hint.userId);
    if (this.#deps.store.isShared) this.#followRunners([hint]).catch(this.#deps.onError);
  }

  /** Applies what other nodes did with these runners: gave one up, or opened a newer stream for it. */
  async #followRunners(
    runners: readonly { readonly userId: string; readonly runnerId: string }[],
  ): Promise<void> {
    const known = runners.filter(
      ({ userId, runnerId }) =>
        this.streams.hasRunner(userId, runnerId) || this.runners.find(userId, runnerId),
    );
    for (const { user_id, runner_id, connected, stream, node } of await this.presence.rowsOf(known)) {
      if (!connected) this.runners.forget(user_id, runner_id);
      if (!connected || (node !== null && node !== this.node))
        this.streams.endRunner(user_id, runner_id, { except: stream });
    }
  }

  /** The slow tick: makes up for lost hints and does what a dead node left undone (docs/decisions/0014). */
  async #tick(): Promise<void> {
    const { store } = this.#deps;
    await this.presence.storeLastSeen();
    if (store.isShared) await this.#followRunners([...this.runners.all(), ...this.streams.runners()]);
    await Promise.all([this.decisions.tick(), this.outcomes.tick(), this.streams.tick()]);
    if (!this.#knowsOthers) await this.#findOthers();
    if (this.#knowsOthers) await this.#sweep();
  }

  /** Restarts all deadlines if no other server was running when we started. */
  async #findOthers(): Promise<void> {
    const wasAlone = await this.#membership.wasAlone();
    if (wasAlone === undefined) return;
    if (wasAlone) {
      await this.decisions.resume(this.#membership.startedAt);
      await this.assignments.resume(this.#membership.startedAt);
    }
    await this.#membership.ready();
    this.#knowsOthers = true;
  }

  async #sweep(): Promise<void> {
    const now = this.#deps.store.now();
    for (const row of await this.presence.findSilent())
      await this.#takeCallsFrom(runnerOf(row)).catch(this.#deps.onError); // continue with the others
    await this.assignments.takeStranded(SWEPT_AT_ONCE);
    if (this.#deps.store.isShared) await this.dispatcher.placeWaiting(SWEPT_AT_ONCE);
    await this.dispatcher.sweepDue(now - OVERDUE_MS, SWEPT_AT_ONCE);
    await this.decisions.sweepOverdue(now - OVERDUE_MS, SWEPT_AT_ONCE);
    for (const [userId, projectId] of this.#deps.store.isShared ? this.streams.plainListeners() : [])
      await this.dispatcher.offerAll(userId, projectId);
  }

  #scheduleTick(): void {
    if (this.#closed) return;
    this.#stopTick = this.#deps.clock.after(TICK_MS, () => {
      this.#tick()
        .catch((error: unknown) => {
          if (!this.#closed) this.#deps.onError(error); // once closed, the store may be closed too
        })
        .finally(() => this.#scheduleTick());
    });
  }
}

const runnerOf = ({ runner_id, user_id, workspace, capabilities, instance }: RunnerRow): ConnectedRunner => ({
  id: runner_id,
  userId: user_id,
  workspace,
  capabilities,
  instance: instance ?? undefined,
});
