import type { Engine } from '@countersign/engine';
import { isFinal, type JsonValue, type ToolOutcome } from '@countersign/protocol';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Handlers } from '../http/route-types.ts';
import type { AgentSessions } from './agent-sessions.ts';
import type { CallProgress, CallUpdate } from './call-progress.ts';
import { cancelledResult, pendingResult, resultOf } from './call-result.ts';
import type { Exchange } from './mcp-server.ts';

export interface OutsideCallsDeps {
  readonly handlers: Pick<Handlers, 'executeTool' | 'getExecution' | 'cancelExecution'>;
  readonly engine: Engine;
  readonly sessions: Pick<AgentSessions, 'current'>;
  readonly progress: CallProgress;
  readonly holdMs: number;
  readonly onError: (error: unknown) => void;
}

export interface HeldRequest {
  readonly exchange: Exchange;
  /** URL of the page where the person decides about an approval. */
  readonly pageOf: (approvalId: string | null) => string;
  /** Aborted when the client no longer waits. */
  readonly signal: AbortSignal;
  readonly onUpdate: ((update: CallUpdate) => void) | undefined;
}

/**
 * The calls of outside agents. Each uses the handler of `POST /my/tools/execute` (RE-2), with the same validation, limits,
 * audit and permissions.
 */
export class OutsideCalls {
  readonly #deps: OutsideCallsDeps;

  constructor(deps: OutsideCallsDeps) {
    this.#deps = deps;
  }

  /** Makes a call. Returns its id, and its approval if a person is asked. Throws if it is refused. */
  async make(
    exchange: Exchange,
    name: string,
    params: Readonly<Record<string, unknown>>,
  ): Promise<{ callId: string; approvalId: string | null }> {
    const taken = await this.#deps.handlers.executeTool({
      ...exchange,
      params: {},
      query: undefined,
      body: {
        tool_name: name,
        tool_params: params as Record<string, JsonValue>,
        session_id: await this.#deps.sessions.current(exchange.caller),
      },
    });
    const { tool_id: callId, status, approval_id } = taken;
    return { callId, approvalId: status === 'awaiting_approval' ? approval_id : null };
  }

  /** Waits for one of this agent's own calls, for a bounded time. */
  async wait(callId: string, holding: HeldRequest): Promise<CallToolResult> {
    const { engine, progress, holdMs } = this.#deps;
    const { exchange, signal, onUpdate } = holding;
    await this.#execution(exchange, callId);
    const unwatch = onUpdate ? progress.watch(callId, onUpdate) : () => {};
    try {
      const outcome = await firstOf(engine.outcomes.of(callId), holdMs, signal);
      if (outcome) return resultOf(outcome);
      const { status, approval_id } = await this.#execution(exchange, callId);
      return pendingResult(callId, status, holding.pageOf(approval_id));
    } finally {
      unwatch();
    }
  }

  /** The current status of one of this agent's own calls, or its outcome. */
  async look(
    callId: string,
    { exchange, pageOf }: Pick<HeldRequest, 'exchange' | 'pageOf'>,
  ): Promise<CallToolResult> {
    const { status, approval_id } = await this.#execution(exchange, callId);
    if (!isFinal(status)) return pendingResult(callId, status, pageOf(approval_id));
    return resultOf(await this.#deps.engine.outcomes.of(callId));
  }

  /** Cancels one of this agent's own calls (EX-8). */
  async cancel(exchange: Exchange, callId: string): Promise<CallToolResult> {
    const { tool_id, status } = await this.#deps.handlers.cancelExecution({
      ...exchange,
      params: { tool_id: callId },
      query: undefined,
      body: { reason: 'cancelled by the agent' },
    });
    return cancelledResult(tool_id, status);
  }

  /** Cancels a call that its client gave up, unless it has ended. */
  abandon(exchange: Exchange, callId: string): void {
    this.#execution(exchange, callId)
      .then(({ status }) => (isFinal(status) ? undefined : this.cancel(exchange, callId)))
      .catch(this.#deps.onError);
  }

  /** Throws NOT_FOUND for a call of another caller. */
  async #execution(exchange: Exchange, callId: string) {
    const params = { tool_id: callId };
    const input = { ...exchange, params, query: undefined, body: undefined };
    return (await this.#deps.handlers.getExecution(input)).execution;
  }
}

/** The outcome, or undefined after `ms` or when the signal is aborted. */
async function firstOf(
  outcome: Promise<ToolOutcome>,
  ms: number,
  signal: AbortSignal,
): Promise<ToolOutcome | undefined> {
  const enough = new AbortController();
  const given = AbortSignal.any([signal, AbortSignal.timeout(ms), enough.signal]);
  const tooLate = new Promise<undefined>((resolve) => {
    if (given.aborted) resolve(undefined);
    given.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    return await Promise.race([outcome, tooLate]);
  } finally {
    enough.abort();
  }
}
