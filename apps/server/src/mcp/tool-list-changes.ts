import type { Bus, Hint } from '@countersign/engine';
import type { Exchange } from './mcp-server.ts';

export interface ToolListChangesOptions {
  readonly bus: Bus;
  /** The tools that this agent would get now. */
  readonly toolsOf: (exchange: Exchange) => Promise<readonly object[]>;
  /** How often to compare anyway: a hint may be lost, and a changed policy sends none. */
  readonly lookEveryMs: number;
  readonly onError: (error: unknown) => void;
}

/** Listeners of one token, which all have the same list. */
interface Watched {
  readonly exchange: Exchange;
  readonly tells: Set<() => void>;
  /** The last list; undefined before the first comparison. */
  known: string | undefined;
  looking: Promise<void> | undefined;
  /** Something changed during a comparison. */
  again: boolean;
}

/**
 * Tells listening agents when their tool list changes: a tool server came, went or changed its tools, or the person's
 * policy changed. Agents hear nothing of other people's tools, and nothing if their list stayed the same.
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

  /** Returns a function that stops watching. */
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
    // A hint from another process has no events: it may be about tools.
    const concernsTools = hint.events?.some(({ event }) => event.event === 'runner.changed') ?? true;
    if (!concernsTools) return;
    for (const one of this.#watched.values()) {
      if (one.exchange.caller.userId === hint.userId) this.#look(one);
    }
  }

  /** Compares once at a time for each token, and again if something happened meanwhile. */
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
