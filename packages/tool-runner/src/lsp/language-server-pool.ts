import { ExecutionCancelled, orCancelled } from '../runner-errors.ts';
import { LanguageServer, type LanguageServerOptions } from './language-server.ts';
import { LanguageServerFailure } from './server-connection.ts';
import type { ServerDefinition } from './server-definition.ts';

export type PoolOptions = Omit<LanguageServerOptions, 'definition'>;

interface Place {
  /** Started, or being started. */
  readonly server: Promise<LanguageServer>;
  users: number;
  cancelIdleTimer: () => void;
}

/** The servers of one workspace, one for each language: started on demand, kept warm, stopped when idle. */
export class LanguageServerPool {
  readonly #options: PoolOptions;
  readonly #places = new Map<string, Place>();
  /** Being stopped; `stop` waits for them too. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #ending = new AbortController();

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Lets `work` use the server. If it dies over that, the work is tried once more with a new one. */
  async use<T>(
    definition: ServerDefinition,
    signal: AbortSignal,
    work: (server: LanguageServer) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#useOnce(definition, signal, work);
    } catch (error) {
      if (this.#ending.signal.aborted) throw new ExecutionCancelled();
      if (!(error instanceof LanguageServerFailure && error.died)) throw error;
      return await this.#useOnce(definition, signal, work);
    }
  }

  filesChanged(paths: readonly string[]): void {
    for (const { server } of this.#places.values()) {
      server.then(
        (started) => started.filesChanged(paths),
        () => {}, // whoever started it knows
      );
    }
  }

  /** Leaves no process behind. Harmless twice. */
  async stop(): Promise<void> {
    this.#ending.abort();
    for (const [language, place] of this.#places) this.#leave(language, place);
    await Promise.all(this.#leaving);
  }

  async #useOnce<T>(
    definition: ServerDefinition,
    signal: AbortSignal,
    work: (server: LanguageServer) => Promise<T>,
  ): Promise<T> {
    const place = await this.#find(definition, signal);
    place.cancelIdleTimer();
    place.users += 1;
    try {
      return await work(await orCancelled(place.server, signal));
    } finally {
      place.users -= 1;
      if (place.users === 0) {
        place.cancelIdleTimer = this.#options.clock.after(this.#options.patience.idleMs, () =>
          this.#leave(definition.language, place),
        );
      }
    }
  }

  async #find(definition: ServerDefinition, signal: AbortSignal): Promise<Place> {
    const { language } = definition;
    const known = this.#places.get(language);
    if (known && !(await orCancelled(isUseless(known), signal))) return known;
    if (this.#ending.signal.aborted) throw new ExecutionCancelled();
    const since = this.#places.get(language);
    if (since && since !== known) return since; // somebody else was quicker
    if (known) this.#leave(language, known);
    const server = LanguageServer.start({ ...this.#options, definition }, this.#ending.signal);
    server.catch(() => {}); // those who wait for it hear of it
    const place: Place = { server, users: 0, cancelIdleTimer: () => {} };
    this.#places.set(language, place);
    return place;
  }

  #leave(language: string, place: Place): void {
    place.cancelIdleTimer();
    if (this.#places.get(language) === place) this.#places.delete(language);
    const left = place.server.then(
      (server) => server.stop(),
      () => {},
    );
    this.#leaving.add(left);
    const forget = () => this.#leaving.delete(left);
    left.then(forget, forget);
  }
}

/** One that could not even be started is of no use either. */
async function isUseless({ server }: Place): Promise<boolean> {
  try {
    return (await server).isUseless;
  } catch {
    return true;
  }
}
