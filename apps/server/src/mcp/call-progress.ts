import type { Bus, Hint, ServerEvent } from '@countersign/engine';
import { makeVisible } from '@countersign/protocol';

/** A progress message for the agent. */
export interface CallUpdate {
  /** Percent; null if unknown. */
  readonly percent: number | null;
  readonly text: string;
}

/** Longer lines of output are cut here; the result has them in full. */
const MAX_TEXT = 200;

/** Reports the progress of calls to listeners. Updates may be lost, which does not affect the outcome. */
export class CallProgress {
  readonly #watched = new Map<string, Set<(update: CallUpdate) => void>>();
  readonly #unsubscribe: () => void;

  constructor(bus: Bus) {
    this.#unsubscribe = bus.subscribe((hint) => {
      if (this.#watched.size > 0) for (const event of eventsOf(hint)) this.#receive(event);
    });
  }

  /** Returns a function that stops watching. */
  watch(toolId: string, listener: (update: CallUpdate) => void): () => void {
    const others = this.#watched.get(toolId) ?? new Set();
    this.#watched.set(toolId, others.add(listener));
    return () => {
      others.delete(listener);
      if (others.size === 0) this.#watched.delete(toolId);
    };
  }

  close(): void {
    this.#unsubscribe();
  }

  #receive(event: ServerEvent): void {
    const toolId = 'tool_id' in event.data ? event.data.tool_id : undefined;
    const listeners = toolId === undefined ? undefined : this.#watched.get(toolId);
    const update = listeners && updateOf(event);
    if (update) for (const tell of listeners) tell(update);
  }
}

function eventsOf(hint: Hint): readonly ServerEvent[] {
  if (hint.kind === 'transient') return [hint.event];
  return hint.kind === 'events' ? (hint.events ?? []).map(({ event }) => event) : [];
}

function updateOf({ event, data }: ServerEvent): CallUpdate | undefined {
  switch (event) {
    case 'tool.progress': {
      const text = data.message ?? lastLine(data.output?.chunk ?? '');
      return { percent: data.progress, text: makeVisible(text).slice(0, MAX_TEXT) };
    }
    case 'approval.resolved':
      return data.status === 'approved' ? { percent: null, text: 'The person approved it.' } : undefined;
    case 'tool.execution_signal':
      return { percent: null, text: "It was given to the person's machine." };
    default:
      return undefined;
  }
}

const lastLine = (chunk: string): string => chunk.trimEnd().split('\n').at(-1) ?? '';
