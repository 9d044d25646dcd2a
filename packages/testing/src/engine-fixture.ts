import {
  type Caller,
  type CallRequest,
  Engine,
  type ExecutionRow,
  type JsonObject,
  type KeptPolicyFile,
  type ProjectRow,
  Refusal,
  type ResultBody,
  runnerKey,
  type ServerEvent,
  type SessionRow,
  type Store,
} from '@countersign/engine';
import { SecretMasker } from '@countersign/policy';
import type { EventName, EventPayload, RequestBody, ToolOutcome } from '@countersign/protocol';
import { openSqliteStore } from '@countersign/store';
import { crashableStore } from './crashable-store.ts';
import { LocalBus } from './local-bus.ts';
import { ManualClock, settle } from './manual-clock.ts';

export const testProject: ProjectRow = {
  id: 'project-1',
  user_id: 'ada',
  name: 'Greetings',
  workspace: '/workspace',
  created_at: 0,
};

export const testSession: SessionRow = {
  id: 'session-1',
  user_id: 'ada',
  project_id: testProject.id,
  title: '',
  mode: 'ask',
  created_at: 0,
  opened_by: null,
  last_message_at: null,
  deleted_at: null,
};

/** An engine on SQLite in memory, with a manual clock, one project and one session. */
export class EngineFixture {
  readonly clock: ManualClock;
  readonly bus: LocalBus;
  readonly store: Store;
  readonly errors: unknown[] = [];
  engine: Engine;
  /** Used by the next engine: call `restart`. */
  policyFile: KeptPolicyFile | undefined;
  readonly person: Caller = { userId: 'ada', tokenId: 'token-person', scope: 'person' };
  readonly runnerCaller: Caller = { userId: 'ada', tokenId: 'token-runner', scope: 'runner' };
  #calls = 0;

  private constructor(edges: { readonly store: Store; readonly bus: LocalBus; readonly clock: ManualClock }) {
    this.store = edges.store;
    this.bus = edges.bus;
    this.clock = edges.clock;
    this.engine = this.#newEngine();
  }

  /** `isShared`: runs as one node of several on one database. */
  static async open({ isShared = false }: { readonly isShared?: boolean } = {}): Promise<EngineFixture> {
    const clock = new ManualClock();
    const bus = new LocalBus();
    const own = await openSqliteStore({ path: ':memory:', bus, now: clock.now });
    const fixture = new EngineFixture({
      store: isShared ? crashableStore(own, { isShared }) : own,
      bus,
      clock,
    });
    await fixture.store.write(function* (tx) {
      yield* tx.insert('projects', testProject);
      yield* tx.insert('sessions', testSession);
    });
    await fixture.engine.start();
    return fixture;
  }

  /** Like a crash: drops the engine with all it had in memory, and starts a new one on the same store. */
  async restart(): Promise<void> {
    this.engine.close();
    this.engine = this.#newEngine();
    await this.engine.start();
  }

  /** Starts another node on the same store and bus. */
  async addNode(keyCheck?: string): Promise<Engine> {
    const engine = this.#newEngine(keyCheck);
    await engine.start();
    return engine;
  }

  request(toolName: string, toolParams: JsonObject, more: Partial<CallRequest> = {}): CallRequest {
    return {
      userId: 'ada',
      project: testProject,
      sessionId: 'session-1',
      toolName,
      toolParams,
      toolCallId: `call_${this.#calls++}`,
      agent: 'Agent',
      requestedBy: 'run',
      context: { message_id: null, run_id: null, step: null, excerpt: 'please' },
      ...more,
    };
  }

  execute(toolName: string, toolParams: JsonObject, more: Partial<CallRequest> = {}): Promise<ToolOutcome> {
    return this.engine.executor.executeTool(this.request(toolName, toolParams, more));
  }

  /** Records a call and starts it. */
  async submit(
    toolName: string,
    toolParams: JsonObject,
    more: Partial<CallRequest> = {},
  ): Promise<ExecutionRow> {
    return (await this.engine.executor.submit(this.request(toolName, toolParams, more))).execution;
  }

  /** The stored row of a call. */
  async execution(toolId: string): Promise<ExecutionRow> {
    return (await this.store.read((tx) => tx.get('tool_executions', toolId))) as ExecutionRow;
  }

  async approve(approvalId: string | null, input: RequestBody<'approve'> = {}) {
    const named = input.digest === undefined ? {} : { digest: await this.shown(approvalId, input.digest) };
    return this.engine.approvals.approveTool(this.person, String(approvalId), { ...input, ...named });
  }

  /** The digest of the card if it was made from this base; otherwise the base itself, which matches no card. */
  async shown(approvalId: string | null, base: string): Promise<string> {
    const row = await this.store.read((tx) => tx.get('approvals', String(approvalId)));
    return row?.digest_base === base ? (row.digest ?? base) : base;
  }

  /** Sends runner-1's preview of a request; `more` overrides fields. */
  preview(approvalId: string | null, more: Partial<RequestBody<'submitPreview'>> = {}): Promise<string> {
    return this.engine.approvals.submitPreview(this.runnerCaller, String(approvalId), {
      runner_id: 'runner-1',
      revision: 1,
      preview: { kind: 'diff', files: [] },
      digest_base: digest('a'),
      risk_level: 'MEDIUM',
      reasons: [],
      network: false,
      ...more,
    } as RequestBody<'submitPreview'>);
  }

  /** Runner-1 claims a call with the digest of its card. `more.digest` is the base that the card should have. */
  async claim(toolId: string, more: Partial<RequestBody<'startExecution'>> = {}): Promise<ExecutionRow> {
    const { approval_id } = await this.execution(toolId);
    const base = more.digest === undefined ? digest('a') : more.digest;
    const named = base === null ? null : await this.shown(approval_id, base);
    const input = { runner_id: 'runner-1', ...more, digest: named };
    return this.engine.dispatcher.claim(this.runnerCaller, toolId, input);
  }

  /** Ends a runner's lease: it is given up, with its calls. */
  async loseRunner(userId: string, id: string): Promise<void> {
    await this.store.write((tx) => tx.update('runners', runnerKey(userId, id), { connected: false }));
    await this.engine.assignments.lost({ id, userId, workspace: '/workspace', capabilities: [] });
  }

  /** Runner-1 reports a call. */
  report(toolId: string, more: Partial<ResultBody> = {}) {
    const input = { status: 'completed', result: null, runner_id: 'runner-1', ...more } as ResultBody;
    return this.engine.dispatcher.submitResult(this.runnerCaller, toolId, input);
  }

  /** A stream that collects its events. With a runner's id it is that runner's stream. */
  async listen(
    options: {
      runnerId?: string;
      userId?: string;
      lastEventId?: number;
      projectId?: string;
      workspace?: string;
      instance?: string;
      capabilities?: readonly string[];
      mayExecute?: boolean;
      /** The node that it connects to. */
      on?: Engine;
    } = {},
  ): Promise<Listener> {
    const listener = new Listener();
    const { runnerId, userId = 'ada', workspace = '/workspace', instance, mayExecute = true } = options;
    const { on = this.engine, capabilities = [] } = options;
    listener.close = await on.openStream(
      {
        userId,
        projectId: options.projectId,
        runnerId,
        lastEventId: options.lastEventId,
        mayExecute,
        ...(runnerId !== undefined && {
          runner: { id: runnerId, userId, workspace, capabilities, instance },
        }),
      },
      listener,
    );
    return listener;
  }

  #newEngine(keyCheck?: string): Engine {
    const masker = new SecretMasker({ digest: (text) => `length ${text.length}` });
    return new Engine({
      store: this.store,
      bus: this.bus,
      clock: this.clock,
      masker,
      keyCheck,
      policyFile: this.policyFile,
      onError: (error) => this.errors.push(error),
    });
  }
}

/** A digest made of one repeated letter. */
export const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;

/** The code of a refusal, or `ok`. */
export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
  );

/** The events that one client received. */
export class Listener {
  readonly received: { event: ServerEvent; id: number | undefined }[] = [];
  ended = false;
  /** Set to false to simulate a client that has stopped reading. */
  reads = true;
  close: () => void = () => {};

  send(event: ServerEvent, id: number | undefined): boolean {
    this.received.push({ event, id });
    return this.reads;
  }

  end(): void {
    this.ended = true;
  }

  types(): string[] {
    return this.received.map(({ event }) => event.event);
  }

  ids(): number[] {
    return this.received.flatMap(({ id }) => id ?? []);
  }

  all<N extends EventName>(name: N): EventPayload<N>[] {
    return this.received
      .filter(({ event }) => event.event === name)
      .map(({ event }) => event.data as EventPayload<N>);
  }

  /** The latest event of a kind, once there is one. */
  async last<N extends EventName>(name: N): Promise<EventPayload<N>> {
    await settle();
    const found = this.all(name).at(-1);
    if (!found) throw new Error(`No ${name} among ${this.types().join(', ') || 'nothing'}`);
    return found;
  }
}
