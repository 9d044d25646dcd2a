import type { Bus, Hint } from '@countersign/engine';
import type { Exchange } from './mcp-server.ts';

export interface ToolListChangesOptions {
  readonly bus: Bus;
  /** The current tools of this agent. */
  readonly toolsOf: (exchange: Exchange) => Promise<readonly object[]>;
  /** How often to compare without a hint: hints may be lost, and a changed policy sends none. */
  readonly compareEveryMs: number;
  readonly onError: (error: unknown) => void;
}

/** The listeners of one token, whose tool lists are the same. */
interface Watched {
  readonly exchange: Exchange;
  readonly listeners: Set<() => void>;
  /** The last list; undefined before the first comparison. */
  known: string | undefined;
  comparing: Promise<void> | undefined;
  /** True if another comparison is due after the current one. */
  again: boolean;
}

/**
 * Notifies listening agents when their tool list changes: a tool server came, went or changed its tools, or the person's
 * policy changed. An agent is notified only if its own list is different.
 */
export class ToolListChanges {
  readonly #options: ToolListChangesOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #unsubscribe: () => void;
  readonly #tick: NodeJS.Timeout;

  constructor(options: ToolListChangesOptions) {
    this.#options = options;
    this.#unsubscribe = options.bus.subscribe((hint) => {
      if (this.#watched.size > 0) this.#receive(hint);
    });
    this.#tick = setInterval(() => {
      for (const one of this.#watched.values()) this.#compareSoon(one);
    }, options.compareEveryMs);
    this.#tick.unref();
  }

  /** Returns a function that stops watching. */
  watch(exchange: Exchange, tell: () => void): () => void {
    const { tokenId } = exchange.caller;
    const fresh = { exchange, listeners: new Set<() => void>(), known: undefined, comparing: undefined };
    const one: Watched = this.#watched.get(tokenId) ?? { ...fresh, again: false };
    this.#watched.set(tokenId, one);
    one.listeners.add(tell);
    this.#compareSoon(one);
    return () => {
      one.listeners.delete(tell);
      if (one.listeners.size === 0 && this.#watched.get(tokenId) === one) this.#watched.delete(tokenId);
    };
  }

  close(): void {
    clearInterval(this.#tick);
    this.#unsubscribe();
    this.#watched.clear();
  }

  #receive(hint: Hint): void {
    if (hint.kind !== 'events') return;
    // A hint from another process has no events: it may be about tools.
    const concernsTools = hint.events?.some(({ event }) => event.event === 'runner.changed') ?? true;
    if (!concernsTools) return;
    for (const one of this.#watched.values()) {
      if (one.exchange.caller.userId === hint.userId) this.#compareSoon(one);
    }
  }

  /** Runs one comparison at a time for each token, and another if it is called meanwhile. */
  #compareSoon(one: Watched): void {
    one.again = one.comparing !== undefined;
    one.comparing ??= this.#compare(one)
      .catch(this.#options.onError)
      .finally(() => {
        one.comparing = undefined;
        if (one.again) this.#compareSoon(one);
      });
  }

  async #compare(one: Watched): Promise<void> {
    const now = JSON.stringify(await this.#options.toolsOf(one.exchange));
    const before = one.known;
    one.known = now;
    if (before !== undefined && before !== now) for (const tell of one.listeners) tell();
  }
}
