import {
  type Caller,
  type Clock,
  type Engine,
  type EventData,
  type JsonObject,
  Refusal,
  type ResultBody,
  type ServerEvent,
  type Store,
  settleUndo,
} from '@countersign/engine';
import { timing } from '@countersign/protocol';

/** A tool on the person's machine. */
export type ScriptedTool = (params: JsonObject) => ResultBody | Promise<ResultBody>;
/** What the person decides about a request; undefined: no decision. */
export type ScriptedDecision = (
  request: EventData<'tool.approval_request'>,
) => 'approve' | { readonly reject: { readonly reason?: string; readonly message?: string } } | undefined;

/**
 * A runner and a person in one, outside every server, so that it survives their crashes. Like a real runner it journals
 * what it did, answers a repeated signal from the journal, and resends its results to the next server.
 */
export class ScriptedRunner {
  readonly id = 'runner-1';
  /** Every execution that ran, in order. */
  readonly executed: { readonly toolId: string; readonly tool: string; readonly params: JsonObject }[] = [];
  readonly cancelled: string[] = [];
  /** The undos that were asked for, each as the ids of its calls. */
  readonly undos: (readonly string[])[] = [];
  /** How an undo ends; undefined: nothing is reported. */
  undo: (event: EventData<'tool.undo'>) => ResultBody | undefined = () => ({
    status: 'completed',
    result: { success: true },
  });
  decide: ScriptedDecision = () => 'approve';
  readonly #journal = new Map<string, ResultBody | Promise<ResultBody>>();
  readonly #tools: Readonly<Record<string, ScriptedTool>>;
  readonly #userId: string;
  readonly #workspace: string;

  constructor(userId: string, workspace: string, tools: Readonly<Record<string, ScriptedTool>>) {
    this.#userId = userId;
    this.#workspace = workspace;
    this.#tools = tools;
  }

  /**
   * Connects to a server; unacknowledged results are sent again with its snapshot. Returns a function that
   * disconnects.
   */
  async attach(engine: Engine, clock: Clock, store: Store): Promise<() => void> {
    const { id } = this;
    const runner = { id, userId: this.#userId, workspace: this.#workspace, capabilities: [] };
    const options = {
      userId: this.#userId,
      projectId: undefined,
      runnerId: id,
      lastEventId: undefined,
      mayExecute: true,
      runner,
    };
    const disconnect = await engine.openStream(options, {
      send: (event) => {
        void this.#receive(engine, store, event).catch((error: unknown) => {
          // Too late, or done already: a real front end would show this refusal.
          if (!(error instanceof Refusal)) throw error;
        });
        return true;
      },
      end: () => {},
    });
    let stopBeating = () => {};
    const beat = () => {
      stopBeating = clock.after(timing.runnerHeartbeatSeconds * 1000, () => {
        void engine.dispatcher.heartbeat(this.#caller('runner'), id, []);
        beat();
      });
    };
    beat();
    return () => {
      stopBeating();
      disconnect();
    };
  }

  async #receive(engine: Engine, store: Store, event: ServerEvent): Promise<void> {
    if (event.event === 'tool.approval_request') await this.#answer(engine, event.data);
    if (event.event === 'tool.execution_signal') await this.#execute(engine, event.data);
    if (event.event === 'tool.cancel') this.cancelled.push(event.data.tool_id);
    if (event.event === 'tool.undo') await this.#undo(store, event.data);
  }

  async #answer(engine: Engine, request: EventData<'tool.approval_request'>): Promise<void> {
    const person = this.#caller('person');
    const decision = this.decide(request);
    if (decision === 'approve') await engine.approvals.approveTool(person, request.approval_id, {});
    else if (decision) await engine.approvals.rejectTool(person, request.approval_id, decision.reject);
  }

  async #execute(engine: Engine, signal: EventData<'tool.execution_signal'>): Promise<void> {
    const { tool_id: toolId, tool_name: tool, attempt, digest } = signal;
    const caller = this.#caller('runner');
    if (!this.#journal.has(toolId)) {
      if (signal.risk_level !== 'LOW') {
        await engine.dispatcher.claim(caller, toolId, { digest, runner_id: this.id, attempt });
      }
      const params = signal.tool_params as JsonObject;
      if (!this.#journal.has(toolId)) {
        this.executed.push({ toolId, tool, params });
        this.#journal.set(
          toolId,
          this.#tools[tool]?.(params) ?? { status: 'completed', result: { success: true } },
        );
      }
    }
    const result = (await this.#journal.get(toolId)) as ResultBody;
    await engine.dispatcher.submitResult(caller, toolId, { ...result, attempt, runner_id: this.id });
  }

  async #undo(store: Store, event: EventData<'tool.undo'>): Promise<void> {
    const { tool_id, tool_ids = [tool_id], undo_id } = event;
    this.undos.push(tool_ids);
    const report = this.undo(event);
    const call = await store.read((tx) => tx.get('tool_executions', tool_id));
    if (!report || !call) return;
    const about = { undo_id, undo_tool_ids: [...tool_ids], runner_id: this.id };
    await settleUndo(store, call, undo_id, { ...report, ...about });
  }

  #caller(scope: 'person' | 'runner'): Caller {
    return { userId: this.#userId, tokenId: `token-${scope}`, scope };
  }
}
