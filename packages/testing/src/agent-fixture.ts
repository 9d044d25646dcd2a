import {
  AgentRuns,
  type AgentRunsDeps,
  type Bus,
  type Caller,
  type CallRequest,
  Engine,
  type MessageRow,
  type Model,
  Refusal,
  type RunRow,
  runnerKey,
  type ServerEvent,
  type Store,
} from '@countersign/engine';
import { SecretMasker } from '@countersign/policy';
import type { PolicyFile } from '@countersign/protocol';
import { openSqliteStore } from '@countersign/store';
import { type CrashableStore, crashableStore } from './crashable-store.ts';
import { Listener, testProject, testSession } from './engine-fixture.ts';
import { LocalBus } from './local-bus.ts';
import { ManualClock, settle } from './manual-clock.ts';
import { ScriptedRunner, type ScriptedTool } from './scripted-runner.ts';

export interface AgentFixtureOptions {
  readonly model: Model;
  readonly tools?: Readonly<Record<string, ScriptedTool>>;
  readonly budget?: AgentRunsDeps['budget'];
  readonly stallMs?: number;
  readonly policy?: PolicyFile;
  /** Opens another database; the default is SQLite in memory. */
  readonly openStore?: (options: { readonly bus: Bus; readonly now: () => number }) => Promise<Store>;
}

/** One server process. It may die at any moment, and another one continues with its store. */
export interface AgentNode {
  readonly name: string;
  readonly store: CrashableStore;
  readonly engine: Engine;
  readonly runs: AgentRuns;
  readonly errors: unknown[];
  /** Like `kill -9`: nothing reaches the store or the runner after this. */
  die(): void;
}

/** An agent on SQLite in memory, with a scripted model, a scripted runner and a manual clock. */
export class AgentFixture {
  readonly clock: ManualClock;
  readonly store: Store;
  readonly runner: ScriptedRunner;
  readonly person: Caller = { userId: 'ada', tokenId: 'token-person', scope: 'person' };
  readonly project = testProject;
  readonly session = testSession;
  readonly bus: LocalBus;
  readonly #options: AgentFixtureOptions;
  #node: AgentNode | undefined;
  #nodes = 0;

  private constructor(
    options: AgentFixtureOptions,
    edges: { readonly store: Store; readonly bus: LocalBus; readonly clock: ManualClock },
  ) {
    this.#options = options;
    this.clock = edges.clock;
    this.bus = edges.bus;
    this.store = edges.store;
    this.runner = new ScriptedRunner('ada', '/workspace', options.tools ?? {});
  }

  static async open(options: AgentFixtureOptions): Promise<AgentFixture> {
    const clock = new ManualClock();
    const bus = new LocalBus();
    const { policy, openStore = (edges) => openSqliteStore({ path: ':memory:', ...edges }) } = options;
    const store = await openStore({ bus, now: clock.now });
    const fixture = new AgentFixture(options, { store, bus, clock });
    await fixture.store.write(function* (tx) {
      yield* tx.insert('projects', testProject);
      yield* tx.insert('sessions', testSession);
      if (policy)
        yield* tx.insert('policies', {
          id: 'ada',
          user_id: 'ada',
          policy,
          file: null,
          version: 1,
          updated_at: 0,
        });
    });
    await fixture.startNode();
    return fixture;
  }

  /** The server that was started last. */
  get node(): AgentNode {
    if (!this.#node) throw new Error('No node was started.');
    return this.#node;
  }

  /** Starts a server on the store. `prepare` may set faults before anything runs. */
  async startNode(
    more: Partial<AgentRunsDeps> & {
      readonly prepare?: (node: AgentNode) => void;
      readonly withRunner?: boolean;
    } = {},
  ): Promise<AgentNode> {
    const { prepare, withRunner = true, ...deps } = more;
    const name = `node-${++this.#nodes}`;
    const store = crashableStore(this.store);
    const errors: unknown[] = [];
    const onError = (error: unknown) => void errors.push(error);
    const { bus, clock } = this;
    const masker = new SecretMasker({ digest: (text) => `length ${text.length}` });
    const engine = new Engine({ store, bus, clock, masker, onError });
    const { model, budget, stallMs } = this.#options;
    const find = (wanted: string) => {
      if (wanted !== model.name)
        throw new Refusal('MODEL_NOT_CONFIGURED', { model: wanted, setting: 'a key' });
      return model;
    };
    const runs = new AgentRuns({
      store,
      bus,
      clock,
      engine,
      models: { defaultName: model.name, find },
      node: name,
      isOnlyNode: false,
      onError,
      ...(budget && { budget }),
      ...(stallMs !== undefined && { stallMs }),
      ...deps,
    });
    let detach = () => {};
    const node: AgentNode = {
      name,
      store,
      engine,
      runs,
      errors,
      die: () => {
        store.kill();
        detach();
        engine.close();
      },
    };
    prepare?.(node);
    this.#node = node;
    await engine.start();
    if (withRunner) detach = await this.runner.attach(engine, clock, store);
    await runs.resume();
    return node;
  }

  /** The runner is silent for too long: it is given up, with its calls. */
  async loseRunner(): Promise<void> {
    const runner = { id: 'runner-1', userId: 'ada', workspace: '/workspace', capabilities: [] };
    await this.store.write((tx) => tx.update('runners', runnerKey('ada', runner.id), { connected: false }));
    await this.node.engine.assignments.lost(runner);
    await settle();
  }

  /** Sends a chat message and runs everything that is ready. */
  async say(content: string): Promise<string> {
    const { person: caller, project, session } = this;
    const { run_id } = await this.node.runs.start({ caller, project, session, content });
    await settle();
    return run_id;
  }

  /** The first call of a run, as its step makes it while it holds the run in this epoch. */
  callOf(runId: string, epoch: number): CallRequest {
    return {
      userId: 'ada',
      project: this.project,
      sessionId: this.session.id,
      toolName: 'read_file',
      toolParams: { path: 'a.md' },
      toolCallId: 'call_0',
      agent: 'Agent',
      requestedBy: `run-${runId}`,
      context: { message_id: null, run_id: runId, step: 0, excerpt: '' },
      run: { runId, epoch, step: 0, index: 0 },
    };
  }

  async run(runId: string): Promise<RunRow> {
    const row = await this.store.read((tx) => tx.get('runs', runId));
    if (!row) throw new Error(`There is no run ${runId}.`);
    return row;
  }

  async messages(): Promise<readonly MessageRow[]> {
    return this.store.read((tx) => tx.messagesOf('session-1', { limit: 1000 }));
  }

  /** The conversation as `role: text`, with results as their status. */
  async transcript(): Promise<string[]> {
    return (await this.messages()).map(({ role, content, complete }) => {
      const text = role === 'tool' ? (JSON.parse(content) as { status: string }).status : content;
      return `${role}: ${text}${complete ? '' : ' (incomplete)'}`;
    });
  }

  /** All stored events. */
  async events(): Promise<readonly ServerEvent[]> {
    const stored = await this.store.read((tx) => tx.events('ada', 0, 10_000));
    return stored.map(({ event }) => event);
  }

  async states(): Promise<string[]> {
    return (await this.events()).flatMap((event) =>
      event.event === 'agent.state' ? [event.data.state] : [],
    );
  }

  /** A front end that collects its events. */
  async listen(): Promise<Listener> {
    const listener = new Listener();
    const options = {
      userId: 'ada',
      projectId: undefined,
      runnerId: undefined,
      lastEventId: undefined,
      mayExecute: true,
    };
    listener.close = await this.node.engine.openStream(options, listener);
    return listener;
  }
}
