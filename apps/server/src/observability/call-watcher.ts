import type { Bus, EventData, StoredEvent } from '@countersign/engine';

/** What is told to those who watch: each step of each call that this process has committed. */
export interface CallObserver {
  /** Once for each call, when it was recorded. */
  called?(call: EventData<'tool.call'>): void;
  signalled?(signal: EventData<'tool.execution_signal'>): void;
  asked?(approval: EventData<'tool.approval_request'>): void;
  decided?(resolved: EventData<'approval.resolved'>): void;
  ended?(result: EventData<'tool.result'>): void;
}

/**
 * The same bus, on which everything that this process publishes is also shown to observers: after the commit, once,
 * on the node that wrote it. Watching never fails a call.
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
      if (!written) return;
      try {
        for (const stored of written) for (const observer of observers) show(stored, observer);
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

/** Remembers what began until it ends; what never does is forgotten, oldest first. */
export class Open<T> {
  readonly #open = new Map<string, T>();
  readonly #max: number;

  constructor(max = 100_000) {
    this.#max = max;
  }

  begin(id: string, value: T): void {
    this.#open.set(id, value);
    if (this.#open.size <= this.#max) return;
    for (const oldest of this.#open.keys()) {
      this.#open.delete(oldest);
      break;
    }
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
