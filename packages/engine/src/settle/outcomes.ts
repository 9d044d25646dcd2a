import { isFinal, type ToolOutcome } from '@countersign/protocol';
import { errorOf } from '../record/call-events.ts';
import type { ApprovalRow, ExecutionRow, Json, JsonObject } from '../rows.ts';
import type { Bus, Reading, Store, Unit } from '../store.ts';
import { Waiters } from '../waiting.ts';

/** What an outcome needs besides the call's own row. */
interface OutcomeParts {
  readonly result?: Json;
  /** The decided request, which has the person's reason and message. */
  readonly approval?: ApprovalRow | undefined;
  /** The parameters that ran, where a person edited them. */
  readonly executedParams?: JsonObject | null;
}

/** Callers that wait for a call to end, and the outcome that they get (EX-3). */
export class Outcomes {
  readonly #store: Store;
  readonly #bus: Bus;
  readonly #waiting = new Waiters<ToolOutcome>();
  readonly #unsubscribe: () => void;

  constructor(store: Store, bus: Bus, onError: (error: unknown) => void) {
    this.#store = store;
    this.#bus = bus;
    this.#unsubscribe = bus.subscribe((hint) => {
      if (hint.kind === 'settled' && this.#waiting.has(hint.toolId)) this.#look(hint.toolId).catch(onError);
    });
  }

  /** Resolves when the call ends, on any node. The call must not have ended before. */
  wait(toolId: string): Promise<ToolOutcome> {
    return this.#waiting.wait(toolId);
  }

  /** Drops the waiters of this call; their promises never resolve. */
  forget(toolId: string): void {
    this.#waiting.forget(toolId);
  }

  /** Resolves with the outcome of a call that may have ended already. */
  async of(toolId: string): Promise<ToolOutcome> {
    const outcome = this.#waiting.wait(toolId);
    await this.#look(toolId);
    return outcome;
  }

  /** After the commit that ended a call: resolves waiters here and sends a hint to others. */
  settled(
    execution: ExecutionRow,
    { result = null, approval, executedParams = null }: OutcomeParts = {},
  ): void {
    if (this.#waiting.has(execution.id)) {
      const outcome = outcomeOf(execution, { result, approval, executedParams });
      if (outcome) this.#waiting.settle(execution.id, outcome);
    }
    this.#bus.publish({ kind: 'settled', toolId: execution.id });
  }

  /** The slow tick: reads the rows of all waiters, in case a hint was lost. */
  async tick(): Promise<void> {
    for (const toolId of this.#waiting.keys()) await this.#look(toolId);
  }

  close(): void {
    this.#unsubscribe();
  }

  async #look(toolId: string): Promise<void> {
    const found = await this.#store.read(function* (tx) {
      const execution = yield* tx.get('tool_executions', toolId);
      if (!execution || !isFinal(execution.status)) return undefined;
      return yield* storedOutcome(tx, execution);
    });
    if (found) this.#waiting.settle(toolId, found);
  }
}

/** The outcome for the agent, from the rows; undefined while the call has not ended. */
export function* storedOutcome(tx: Reading, execution: ExecutionRow): Unit<ToolOutcome | undefined> {
  const result = (yield* tx.get('results', execution.id))?.result ?? null;
  const approval =
    execution.approval_id === null ? undefined : yield* tx.get('approvals', execution.approval_id);
  return outcomeOf(execution, { result, approval, executedParams: yield* tx.editedParams(execution.id) });
}

function outcomeOf(
  execution: ExecutionRow,
  { result, approval, executedParams }: Required<OutcomeParts>,
): ToolOutcome | undefined {
  const { status } = execution;
  if (!isFinal(status)) return undefined;
  return {
    tool_id: execution.id,
    tool_call_id: execution.tool_call_id,
    tool_name: execution.tool_name,
    approval_id: execution.approval_id,
    execution_time_ms: execution.execution_time_ms,
    executed_params: executedParams,
    status,
    result: status === 'rejected' ? null : result,
    error: errorOf(execution),
    ...(status === 'rejected' && {
      reason: approval?.reason ?? null,
      user_message: approval?.message ?? null,
    }),
  } as ToolOutcome;
}
