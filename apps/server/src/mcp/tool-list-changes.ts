import type { Bus, Hint } from '@countersign/engine';
import type { Exchange } from './mcp-server.ts';

export interface ToolListChangesOptions {
  readonly bus: Bus;
  /** What this agent would be told if it asked now. */
  readonly toolsOf: (exchange: Exchange) => Promise<readonly object[]>;
  /** A hint may be lost, and a changed policy gives none: it is looked again this often. */
  readonly lookEveryMs: number;
  readonly onError: (error: unknown) => void;
}

/** What the agents of one token listen for: they all have the same list. */
interface Watched {
  readonly exchange: Exchange;
  readonly tells: Set<() => void>;
  /** As it was told last; undefined before the first look. */
  known: string | undefined;
  looking: Promise<void> | undefined;
  /** Something happened while we were looking. */
  again: boolean;
}

/**
 * Tells agents that listen when the list of their tools is another one: a tool server came, went or changed its mind, or
 * the person's policy did. Nobody hears of another person's tools, nor of what left the list as it was.
 */
export class ToolListChanges {
  readonly #options: ToolListChangesOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #unsubscribe: () => void;
  readonly #tick: NodeJS.Timeout;

  constructor(options: ToolListChangesOptions) {
    this.#options = options;
    this.#unsubscribe = options.bus.subscribe((hint) => {
      if (this.#watched.size > 0) this.#hear(hint);
    });
    this.#tick = setInterval(() => {
      for (const one of this.#watched.values()) this.#look(one);
    }, options.lookEveryMs);
    this.#tick.unref();
  }

  /** The answer stops watching. */
  watch(exchange: Exchange, tell: () => void): () => void {
    const { tokenId } = exchange.caller;
    const one = this.#watched.get(tokenId) ?? newlyWatched(exchange);
    this.#watched.set(tokenId, one);
    one.tells.add(tell);
    this.#look(one);
    return () => {
      one.tells.delete(tell);
      if (one.tells.size === 0 && this.#watched.get(tokenId) === one) this.#watched.delete(tokenId);
    };
  }

  close(): void {
    clearInterval(this.#tick);
    this.#unsubscribe();
    this.#watched.clear();
  }

  #hear(hint: Hint): void {
    if (hint.kind !== 'events') return;
    // Another process passes ids along, and no events: then it may be anything.
    const concernsTools = hint.events?.some(({ event }) => event.event === 'runner.changed') ?? true;
    if (!concernsTools) return;
    for (const one of this.#watched.values()) {
      if (one.exchange.caller.userId === hint.userId) this.#look(one);
    }
  }

  /** One look at a time for each token, however much happens meanwhile. */
  #look(one: Watched): void {
    one.again = one.looking !== undefined;
    one.looking ??= this.#compare(one)
      .catch(this.#options.onError)
      .finally(() => {
        one.looking = undefined;
        if (one.again) this.#look(one);
      });
  }

  async #compare(one: Watched): Promise<void> {
    const now = JSON.stringify(await this.#options.toolsOf(one.exchange));
    const before = one.known;
    one.known = now;
    if (before !== undefined && before !== now) for (const tell of one.tells) tell();
  }
}

const newlyWatched = (exchange: Exchange): Watched => ({
  exchange,
  tells: new Set(),
  known: undefined,
  looking: undefined,
  again: false,
});
