import type { Bus, EventData, RunnerChange, StoredEvent } from '@countersign/engine';
import type { SecretMasker } from '@countersign/policy';
import type { Logger } from 'pino';
import { setNewest } from '../set-newest.ts';

/** Observes the steps of calls that this process has committed. */
export interface CallObserver {
  /** Called once for each call, when it is recorded. */
  called?(call: EventData<'tool.call'>): void;
  signalled?(signal: EventData<'tool.execution_signal'>): void;
  asked?(approval: EventData<'tool.approval_request'>): void;
  decided?(resolved: EventData<'approval.resolved'>): void;
  ended?(result: EventData<'tool.result'>): void;
  runnerChanged?(runner: string, change: RunnerChange): void;
}

/**
 * Wraps a bus so that observers see each event that this process publishes, once, after its commit. An observer that
 * throws does not affect the call.
 */
export function watchCalls(
  bus: Bus,
  observers: readonly CallObserver[],
  onError: (error: unknown) => void,
): Bus {
  return {
    subscribe: (listener) => bus.subscribe(listener),
    publish(hint) {
      bus.publish(hint);
      const written = hint.kind === 'events' || hint.kind === 'written' ? hint.events : undefined;
      const change = hint.kind === 'runner' ? hint.change : undefined;
      if (!written && !change) return;
      try {
        if (hint.kind === 'runner' && change)
          for (const observer of observers) observer.runnerChanged?.(hint.runnerId, change);
        for (const stored of written ?? []) for (const observer of observers) show(stored, observer);
      } catch (error) {
        onError(error);
      }
    },
  };
}

function show({ event }: StoredEvent, observer: CallObserver): void {
  switch (event.event) {
    case 'tool.call':
      if (event.data.status === 'pending') observer.called?.(event.data);
      break;
    case 'tool.execution_signal':
      observer.signalled?.(event.data);
      break;
    case 'tool.approval_request':
      observer.asked?.(event.data);
      break;
    case 'approval.resolved':
      observer.decided?.(event.data);
      break;
    case 'tool.result':
      // A late result and the outcome of an undo do not end the call a second time.
      if (!event.data.late && event.data.undo_id === undefined) observer.ended?.(event.data);
      break;
  }
}

/** Items that have begun and not ended. If there are too many, the oldest are dropped. */
export class OpenItems<T> {
  readonly #open = new Map<string, T>();
  readonly #max: number;

  constructor(max = 100_000) {
    this.#max = max;
  }

  begin(id: string, value: T): void {
    setNewest(this.#open, id, value, this.#max);
  }

  get(id: string): T | undefined {
    return this.#open.get(id);
  }

  end(id: string): T | undefined {
    const value = this.#open.get(id);
    if (value !== undefined) this.#open.delete(id);
    return value;
  }
}

/** Logs the steps of each call (OB-2). Level debug adds the arguments, masked. */
export class CallLog implements CallObserver {
  readonly #log: Logger;
  readonly #masker: SecretMasker;

  constructor(log: Logger, masker: SecretMasker) {
    this.#log = log;
    this.#masker = masker;
  }

  called(call: EventData<'tool.call'>): void {
    if (!this.#log.isLevelEnabled('debug')) return;
    const { tool_id, tool_name: tool, risk_level: risk, session_id: session, context } = call;
    const args = this.#masker.maskValue(call.tool_params);
    this.#log.debug({ call: tool_id, tool, risk, session, run: context.run_id, args }, 'tool call');
  }

  asked({
    tool_id,
    tool_name: tool,
    approval_id: approval,
    risk_level: risk,
    timeout_seconds,
  }: EventData<'tool.approval_request'>): void {
    this.#log.info({ call: tool_id, tool, approval, risk, timeout_seconds }, 'tool approval request');
  }

  decided({ tool_id, approval_id: approval, status, device }: EventData<'approval.resolved'>): void {
    this.#log.info({ call: tool_id, approval, status, device }, 'tool approval decided');
  }

  runnerChanged(runner: string, { state, workspace }: RunnerChange): void {
    this.#log.info({ runner, workspace }, `runner ${state}`);
  }

  signalled({
    tool_id,
    tool_name: tool,
    runner_id: runner,
    attempt,
    approved_by,
  }: EventData<'tool.execution_signal'>): void {
    this.#log.debug({ call: tool_id, tool, runner, attempt, approved_by }, 'tool execution signal');
  }

  ended({ tool_id, tool_name: tool, status, error, execution_time_ms: ms }: EventData<'tool.result'>): void {
    if (error && status === 'failed')
      this.#log.error({ call: tool_id, tool, status, error: error.code, ms }, 'tool call failed');
    else this.#log.info({ call: tool_id, tool, status, ms }, 'tool call ended');
  }
}
