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

  /** Runs `work` with the server. If the server dies meanwhile, the work is tried once more with a new one. */
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
        () => {}, // reported to the caller that started it
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
        place.cancelIdleTimer = this.#options.clock.after(this.#options.waits.idleMs, () =>
          this.#leave(definition.language, place),
        );
      }
    }
  }

  async #find(definition: ServerDefinition, signal: AbortSignal): Promise<Place> {
    const { language } = definition;
    const known = this.#places.get(language);
    if (known && !(await orCancelled(mustBeReplaced(known), signal))) return known;
    if (this.#ending.signal.aborted) throw new ExecutionCancelled();
    const since = this.#places.get(language);
    if (since && since !== known) return since; // another call has started one
    if (known) this.#leave(language, known);
    const server = LanguageServer.start({ ...this.#options, definition }, this.#ending.signal);
    server.catch(() => {}); // reported to the calls that wait for it
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

/** True also for one that could not be started. */
async function mustBeReplaced({ server }: Place): Promise<boolean> {
  try {
    return (await server).mustBeReplaced;
  } catch {
    return true;
  }
}
