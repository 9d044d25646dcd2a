import type { Engine } from '@countersign/engine';
import { isFinal, type JsonValue, type ToolOutcome } from '@countersign/protocol';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Handlers } from '../http/route-types.ts';
import type { AgentSessions } from './agent-sessions.ts';
import type { CallNews, CallProgress } from './call-progress.ts';
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
  /** Where the person decides. */
  readonly inbox: string;
  /** Aborted when the client no longer waits. */
  readonly signal: AbortSignal;
  readonly onNews: ((news: CallNews) => void) | undefined;
}

/**
 * The calls of outside agents. Each goes the way of `POST /my/tools/execute` (RE-2): the same validation, limits and
 * audit, and no other permission.
 */
export class OutsideCalls {
  readonly #deps: OutsideCallsDeps;

  constructor(deps: OutsideCallsDeps) {
    this.#deps = deps;
  }

  /** Makes a call. Returns its id and whether a person is asked. Throws if it is refused. */
  async make(
    exchange: Exchange,
    name: string,
    params: Readonly<Record<string, unknown>>,
  ): Promise<{ callId: string; asks: boolean }> {
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
    return { callId: taken.tool_id, asks: taken.status === 'awaiting_approval' };
  }

  /** Waits for a call of this agent's own, for a bounded time. */
  async wait(callId: string, holding: HeldRequest): Promise<CallToolResult> {
    const { engine, progress, holdMs } = this.#deps;
    const { exchange, signal, onNews } = holding;
    await this.#statusOf(exchange, callId);
    const unwatch = onNews ? progress.watch(callId, onNews) : () => {};
    try {
      const outcome = await firstOf(engine.outcomes.of(callId), holdMs, signal);
      if (outcome) return resultOf(outcome);
      return pendingResult(callId, await this.#statusOf(exchange, callId), holding.inbox);
    } finally {
      unwatch();
    }
  }

  /** Cancels a call of this agent's own (EX-8). */
  async cancel(exchange: Exchange, callId: string): Promise<CallToolResult> {
    const { tool_id, status } = await this.#deps.handlers.cancelExecution({
      ...exchange,
      params: { tool_id: callId },
      query: undefined,
      body: { reason: 'cancelled by the agent' },
    });
    return cancelledResult(tool_id, status);
  }

  /** The client gave a call up: cancels it unless it has ended. */
  abandon(exchange: Exchange, callId: string): void {
    this.#statusOf(exchange, callId)
      .then((status) => (isFinal(status) ? undefined : this.cancel(exchange, callId)))
      .catch(this.#deps.onError);
  }

  /** Throws NOT_FOUND for a call of anybody else. */
  async #statusOf(exchange: Exchange, callId: string) {
    const params = { tool_id: callId };
    const input = { ...exchange, params, query: undefined, body: undefined };
    return (await this.#deps.handlers.getExecution(input)).execution.status;
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
