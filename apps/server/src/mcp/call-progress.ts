import type { Bus, Hint, ServerEvent } from '@countersign/engine';
import { makeVisible } from '@countersign/protocol';

/** Progress of a call, in words. */
export interface CallNews {
  /** Percent; null if unknown. */
  readonly percent: number | null;
  readonly text: string;
}

/** Longer lines of output are cut; the result has all of it. */
const MAX_TEXT = 200;

/** Reports the progress of calls to listeners. Some may be missed; the outcome never depends on it. */
export class CallProgress {
  readonly #watched = new Map<string, Set<(news: CallNews) => void>>();
  readonly #unsubscribe: () => void;

  constructor(bus: Bus) {
    this.#unsubscribe = bus.subscribe((hint) => {
      if (this.#watched.size > 0) for (const event of eventsOf(hint)) this.#hear(event);
    });
  }

  /** Returns a function that stops watching. */
  watch(toolId: string, listener: (news: CallNews) => void): () => void {
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

  #hear(event: ServerEvent): void {
    const toolId = 'tool_id' in event.data ? event.data.tool_id : undefined;
    const listeners = toolId === undefined ? undefined : this.#watched.get(toolId);
    const news = listeners && newsOf(event);
    if (news) for (const tell of listeners) tell(news);
  }
}

function eventsOf(hint: Hint): readonly ServerEvent[] {
  if (hint.kind === 'transient') return [hint.event];
  return hint.kind === 'events' ? (hint.events ?? []).map(({ event }) => event) : [];
}

function newsOf({ event, data }: ServerEvent): CallNews | undefined {
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
