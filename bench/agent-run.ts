import { type Engine, type JsonObject, newId, type ProjectRow, type Store } from '@countersign/engine';
import type { ToolOutcome } from '@countersign/protocol';

/**
 * A run that makes tool calls as an agent's step does: the run is leased, and each call is a step of its own (EX-1,
 * AG-2).
 */
export class AgentRun {
  readonly #engine: Engine;
  readonly #project: ProjectRow;
  readonly #sessionId: string;
  readonly #runId: string;
  #step = 0;

  private constructor(engine: Engine, project: ProjectRow, sessionId: string, runId: string) {
    this.#engine = engine;
    this.#project = project;
    this.#sessionId = sessionId;
    this.#runId = runId;
  }

  static async start(
    { engine, store }: { readonly engine: Engine; readonly store: Store },
    project: ProjectRow,
    sessionId: string,
  ): Promise<AgentRun> {
    const id = newId();
    const now = store.now();
    await store.write((tx) =>
      tx.insert('runs', {
        id,
        user_id: project.user_id,
        project_id: project.id,
        session_id: sessionId,
        model: 'bench',
        status: 'running',
        step: 0,
        epoch: 1,
        lease_owner: 'bench',
        // A lease that outlasts the bench, so that no server takes the run over.
        lease_until: now + 24 * 3600 * 1000,
        input_tokens: 0,
        output_tokens: 0,
        error: null,
        created_at: now,
        ended_at: null,
      }),
    );
    return new AgentRun(engine, project, sessionId, id);
  }

  async call(toolName: string, toolParams: JsonObject): Promise<ToolOutcome> {
    const { executor, policies } = this.#engine;
    const { user_id: userId, workspace } = this.#project;
    const [runId, step] = [this.#runId, this.#step++];
    const policy = await policies.policyFor(userId, workspace, toolName);
    return executor.executeTool({
      userId,
      project: this.#project,
      sessionId: this.#sessionId,
      toolName,
      toolParams,
      toolCallId: newId(),
      agent: 'Agent',
      requestedBy: `run-${runId}`,
      context: { message_id: null, run_id: runId, step, excerpt: 'please' },
      run: { runId, epoch: 1, step, index: 0 },
      decided: { policy, decision: policy.decide(toolName, toolParams) },
    });
  }
}
