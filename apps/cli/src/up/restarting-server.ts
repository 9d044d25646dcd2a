import type { ServerProcess } from './server-process.ts';

export interface RestartingServerOptions {
  readonly start: () => Promise<ServerProcess>;
  /** Called when the server died and is being restarted. */
  readonly onDied: (how: string) => void;
  readonly onBack: () => void;
  /** Called when the server died too often to be restarted. */
  readonly onGivenUp: (problem: string) => void;
}

/** Gives up after more crashes than this within a minute. */
const maxCrashes = 3;
const minuteMs = 60_000;

/** A server that is restarted at the same address when it dies. Clients reconnect by themselves. */
export class RestartingServer {
  readonly address: string;
  readonly #options: RestartingServerOptions;
  readonly #deaths: number[] = [];
  #current: ServerProcess;
  #isStopping = false;

  constructor(server: ServerProcess, options: RestartingServerOptions) {
    this.#options = options;
    this.#current = server;
    this.address = server.address;
    this.#watch(server);
  }

  signInLink(): Promise<string> {
    return this.#current.signInLink();
  }

  /** Stops the server gracefully. Calling it twice is harmless. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#current.stop();
  }

  kill(): void {
    this.#isStopping = true;
    this.#current.kill();
  }

  #watch(server: ServerProcess): void {
    void server.ended.then((how) => {
      if (!this.#isStopping) void this.#startAgain(how);
    });
  }

  async #startAgain(how: string): Promise<void> {
    const { start, onDied, onBack, onGivenUp } = this.#options;
    const now = performance.now();
    this.#deaths.push(now);
    const recent = this.#deaths.filter((at) => now - at < minuteMs);
    if (recent.length > maxCrashes) return onGivenUp(this.#current.describeEnd(how));
    onDied(how);
    try {
      const server = await start();
      this.#current = server;
      if (this.#isStopping) return server.kill(); // `stop` or `kill` was called meanwhile
      this.#watch(server);
      onBack();
    } catch (error) {
      if (!this.#isStopping) onGivenUp((error as Error).message);
    }
  }
}
