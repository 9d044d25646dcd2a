import { ExecutionCancelled, orCancelled } from '../runner-errors.ts';
import { LanguageServer, type LanguageServerOptions } from './language-server.ts';
import { LanguageServerFailure } from './server-connection.ts';
import type { ServerDefinition } from './server-definition.ts';

export type PoolOptions = Omit<LanguageServerOptions, 'definition'>;

interface PooledServer {
  /** Resolves when the server has started. */
  readonly server: Promise<LanguageServer>;
  users: number;
  cancelIdleTimer: () => void;
}

/** The servers of one workspace, one for each language: started on demand, kept warm, stopped when idle. */
export class LanguageServerPool {
  readonly #options: PoolOptions;
  readonly #servers = new Map<string, PooledServer>();
  /** Servers that are being stopped. */
  readonly #stopping = new Set<Promise<void>>();
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

  /** Leaves no process behind. Harmless twice. */
  async stop(): Promise<void> {
    this.#ending.abort();
    for (const [language, pooled] of this.#servers) this.#remove(language, pooled);
    await Promise.all(this.#stopping);
  }

  async #useOnce<T>(
    definition: ServerDefinition,
    signal: AbortSignal,
    work: (server: LanguageServer) => Promise<T>,
  ): Promise<T> {
    const pooled = await this.#find(definition, signal);
    pooled.cancelIdleTimer();
    pooled.users += 1;
    try {
      return await work(await orCancelled(pooled.server, signal));
    } finally {
      pooled.users -= 1;
      if (pooled.users === 0) {
        pooled.cancelIdleTimer = this.#options.clock.after(this.#options.waits.idleMs, () =>
          this.#remove(definition.language, pooled),
        );
      }
    }
  }

  async #find(definition: ServerDefinition, signal: AbortSignal): Promise<PooledServer> {
    const { language } = definition;
    const known = this.#servers.get(language);
    if (known && !(await orCancelled(mustBeReplaced(known), signal))) return known;
    if (this.#ending.signal.aborted) throw new ExecutionCancelled();
    const since = this.#servers.get(language);
    if (since && since !== known) return since; // another call has started one
    if (known) this.#remove(language, known);
    const server = LanguageServer.start({ ...this.#options, definition }, this.#ending.signal);
    server.catch(() => {}); // reported to the calls that wait for it
    const pooled: PooledServer = { server, users: 0, cancelIdleTimer: () => {} };
    this.#servers.set(language, pooled);
    return pooled;
  }

  #remove(language: string, pooled: PooledServer): void {
    pooled.cancelIdleTimer();
    if (this.#servers.get(language) === pooled) this.#servers.delete(language);
    const stopped = pooled.server.then(
      (server) => server.stop(),
      () => {},
    );
    this.#stopping.add(stopped);
    const forget = () => this.#stopping.delete(stopped);
    stopped.then(forget, forget);
  }
}

/** Also true for a server that could not be started. */
async function mustBeReplaced({ server }: PooledServer): Promise<boolean> {
  try {
    return (await server).mustBeReplaced;
  } catch {
    return true;
  }
}
