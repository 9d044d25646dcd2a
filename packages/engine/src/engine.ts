import type { SecretMasker } from '@countersign/policy';
import { type CountersignEvent, timing } from '@countersign/protocol';
import { ApprovalManager } from './approval-manager.ts';
import { approvalRequestEvent, signalEvent } from './call-events.ts';
import type { Clock } from './clock.ts';
import { Dispatcher } from './dispatcher.ts';
import { commit, type FaultPoints } from './fault-points.ts';
import { Outcomes } from './outcomes.ts';
import { PolicyBook } from './policy-book.ts';
import { type ConnectedRunner, RunnerRegistry } from './runner-registry.ts';
import type { Bus, Store } from './store.ts';
import { StreamManager, type StreamOptions, type StreamSink } from './stream-manager.ts';
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
      hasPlainListener: (userId) => this.streams.hasPlainListener(userId),
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
    if (!runner) return this.streams.open(options, sink, () => this.#pendingRequests(options));
    this.runners.connect(runner);
    await this.#rememberRunner(runner, 'connected');
    const close = await this.streams.open(options, sink, async () => [
      ...(await this.#pendingRequests(options)),
      ...(await this.#unsettledSignals(runner)),
    ]);
    await this.dispatcher.runnerConnected(runner);
    return close;
  }

  async #pendingRequests({ userId, projectId }: StreamOptions): Promise<CountersignEvent[]> {
    const now = this.#deps.store.now();
    const pending = await this.#deps.store.read(function* (tx) {
      const found = [];
      for (const row of yield* tx.pendingApprovals(userId)) {
        const payload = yield* tx.get('payloads', row.tool_id);
        found.push({ row, params: payload?.params ?? {} });
      }
      return found;
    });
    return pending
      .filter(({ row }) => projectId === undefined || row.project_id === projectId)
      .map(({ row, params }) => approvalRequestEvent(row, params, [], now));
  }

  async #unsettledSignals(runner: ConnectedRunner): Promise<CountersignEvent[]> {
    const now = this.#deps.store.now();
    return this.#deps.store.read(function* (tx) {
      const events: CountersignEvent[] = [];
      for (const execution of yield* tx.openExecutionsOf(runner.id)) {
        // Another person's runner may have chosen the same id.
        if (execution.user_id !== runner.userId) continue;
        if (execution.status !== 'approved' && execution.status !== 'executing') continue;
        const payload = yield* tx.get('payloads', execution.id);
        const grant = execution.grant_id === null ? undefined : yield* tx.get('grants', execution.grant_id);
        events.push(signalEvent(execution, payload?.params ?? {}, grant, now));
      }
      return events;
    });
  }

  #runnerLost(runner: ConnectedRunner): void {
    this.#takeCallsFrom(runner).catch(this.#deps.onError);
  }

  async #takeCallsFrom(runner: ConnectedRunner): Promise<void> {
    const { store } = this.#deps;
    const row = await store.read((tx) => tx.get('runners', runner.id));
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
      const known = yield* tx.get('runners', runner.id);
      if (!known) yield* tx.insert('runners', { id: runner.id, user_id: runner.userId, ...row });
      else if (known.user_id === runner.userId) yield* tx.update('runners', runner.id, row);
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
