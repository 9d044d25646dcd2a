import type { SecretMasker } from '@countersign/policy';
import { timing } from '@countersign/protocol';
import { ApprovalManager } from './approval-manager.ts';
import type { Clock } from './clock.ts';
import { Dispatcher } from './dispatcher.ts';
import { commit, type FaultPoints } from './fault-points.ts';
import { Outcomes } from './outcomes.ts';
import { PolicyBook } from './policy-book.ts';
import { Refusal } from './refusal.ts';
import { runnerKey } from './runner-key.ts';
import { type ConnectedRunner, RunnerRegistry } from './runner-registry.ts';
import type { Bus, Store } from './store.ts';
import { StreamManager, type StreamOptions, type StreamSink } from './stream-manager.ts';
import { snapshotFor } from './stream-snapshot.ts';
import { ToolExecutor } from './tool-executor.ts';

export interface EngineDeps extends FaultPoints {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly masker: SecretMasker;
  /** Called for what went wrong behind nobody's request. */
  readonly onError: (error: unknown) => void;
}

/** How often waiters and streams look again, in case a hint was lost. */
const TICK_MS = 5_000;

/** The parts of the engine, wired together. */
export class Engine {
  readonly executor: ToolExecutor;
  readonly approvals: ApprovalManager;
  readonly dispatcher: Dispatcher;
  readonly streams: StreamManager;
  readonly runners: RunnerRegistry;
  readonly policies: PolicyBook;
  readonly outcomes: Outcomes;
  readonly #deps: EngineDeps;
  #stopTick: (() => void) | undefined;
  #closed = false;

  constructor(deps: EngineDeps) {
    const { store, bus, clock, masker, onError, reached } = deps;
    this.#deps = deps;
    this.policies = new PolicyBook(store, masker);
    this.outcomes = new Outcomes(store, bus, onError);
    this.streams = new StreamManager(store, bus, onError);
    this.runners = new RunnerRegistry(clock, (runner) => this.#runnerLost(runner));
    this.dispatcher = new Dispatcher({
      store,
      bus,
      clock,
      runners: this.runners,
      outcomes: this.outcomes,
      hasPlainListener: (userId, projectId) => this.streams.hasPlainListener(userId, projectId),
      onError,
      reached,
    });
    this.approvals = new ApprovalManager({
      store,
      bus,
      clock,
      policies: this.policies,
      dispatcher: this.dispatcher,
      outcomes: this.outcomes,
      onError,
      reached,
    });
    this.dispatcher.useApprovals(this.approvals);
    this.executor = new ToolExecutor({
      store,
      policies: this.policies,
      approvals: this.approvals,
      dispatcher: this.dispatcher,
      outcomes: this.outcomes,
      reached,
    });
  }

  /** Rebuilds from the store what a process before this one was waiting for (AP-10). Before the first request. */
  async start(): Promise<void> {
    await this.approvals.resume();
    await this.dispatcher.resume();
    this.#scheduleTick();
  }

  close(): void {
    this.#closed = true;
    this.#stopTick?.();
    this.streams.close();
    this.approvals.close();
    this.dispatcher.close();
    this.runners.close();
    this.outcomes.close();
  }

  /** Opens a stream for a person's client, or for a runner (EV-2, EV-3). The answer closes it. */
  async openStream(
    options: StreamOptions & { readonly runner?: ConnectedRunner },
    sink: StreamSink,
  ): Promise<() => void> {
    const { runner } = options;
    const snapshot = await snapshotFor(this.#deps.store, this.policies, options);
    if (!runner) return this.streams.open(options, sink, snapshot);
    this.requireFree(runner);
    this.runners.connect(runner);
    await this.#rememberRunner(runner, 'connected');
    const close = await this.streams.open({ ...options, instance: runner.instance }, sink, snapshot);
    await this.dispatcher.runnerConnected(runner);
    return close;
  }

  /**
   * Two programs that were given one id would both execute: whoever is there keeps it. The same program may come again
   * at any time, and its older stream ends (EX-6).
   */
  requireFree({ userId, id, instance }: ConnectedRunner): void {
    if (this.streams.isTaken(userId, id, instance)) throw new Refusal('RUNNER_CONNECTED', { runner: id });
  }

  #runnerLost(runner: ConnectedRunner): void {
    this.#takeCallsFrom(runner).catch(this.#deps.onError);
  }

  async #takeCallsFrom(runner: ConnectedRunner): Promise<void> {
    const { store } = this.#deps;
    const row = await store.read((tx) => tx.get('runners', runnerKey(runner.userId, runner.id)));
    // It may have moved to another node, which hears it.
    const leaseMs = timing.runnerLeaseSeconds * 1000 - (store.now() - (row?.last_seen_at ?? 0));
    if (leaseMs > 0) return this.runners.expect(runner, leaseMs);
    // One that was only asleep may not even know that it was given up: its stream still looks open to it.
    this.streams.endRunner(runner.userId, runner.id);
    await Promise.all([this.#rememberRunner(runner, 'disconnected'), this.dispatcher.runnerLost(runner)]);
  }

  /** The runner's row, and the news of it in each project that it serves. */
  async #rememberRunner(runner: ConnectedRunner, state: 'connected' | 'disconnected'): Promise<void> {
    const { store } = this.#deps;
    const now = store.now();
    await commit(this.#deps, 'runner', function* (tx) {
      const row = {
        workspace: runner.workspace,
        capabilities: runner.capabilities,
        connected: state === 'connected',
        last_seen_at: now,
      };
      const key = runnerKey(runner.userId, runner.id);
      const isKnown = yield* tx.update('runners', key, row);
      if (!isKnown)
        yield* tx.insert('runners', {
          id: key,
          runner_id: runner.id,
          user_id: runner.userId,
          ...row,
          custom_tools: [],
        });
      const { id: runner_id, workspace, capabilities } = runner;
      const projects = (yield* tx.projectsOf(runner.userId)).filter(
        (project) => project.workspace === workspace,
      );
      tx.announce(runner.userId, {
        events: projects.map(({ id }) => ({
          projectId: id,
          event: {
            event: 'runner.changed',
            data: {
              project_id: id,
              runner_id,
              workspace,
              state,
              capabilities: [...capabilities],
              timestamp: new Date(now).toISOString(),
            },
          },
        })),
        audit: [{ action: `runner.${state}`, subject: runner.id, data: { workspace } }],
      });
    });
  }

  #scheduleTick(): void {
    if (this.#closed) return;
    this.#stopTick = this.#deps.clock.after(TICK_MS, () => {
      Promise.all([this.approvals.tick(), this.outcomes.tick(), this.streams.tick()])
        .catch(this.#deps.onError)
        .finally(() => this.#scheduleTick());
    });
  }
}
