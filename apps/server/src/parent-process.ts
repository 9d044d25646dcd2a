import type { RunningServer } from './serve.ts';

/** What the process that started us may ask, over the channel that only the two of us have. */
export type ParentRequest =
  /** Sent once, when it is known where: we were started ahead, to load meanwhile. */
  | { readonly ask: 'serve'; readonly options: readonly string[] }
  | { readonly ask: 'sign-in-link' }
  | { readonly ask: 'stop' };
/** What we tell it. `link` is an answer to each question for one, in order. */
export type ParentNews =
  | { readonly listens: string }
  | { readonly link: string | null }
  | { readonly failed: string; readonly code: string | undefined };

/** The side of the channel that `main` needs; a process that was started with one is it. */
export interface ParentChannel {
  readonly connected: boolean;
  send?(news: ParentNews, sent: () => void): unknown;
  on(event: 'message', listener: (request: ParentRequest) => void): unknown;
  once(event: 'disconnect', listener: () => void): unknown;
}

/**
 * Serves whoever started us: tells where we listen, makes fresh sign-in links, and stops when asked or when the other
 * side is gone, so that no server is left behind.
 */
export class ParentProcess {
  /** The command line to serve with; undefined when we are to end before there was one. */
  readonly options: Promise<readonly string[] | undefined>;
  readonly stopped: Promise<void>;
  readonly #channel: ParentChannel;
  #server: RunningServer | undefined;

  constructor(channel: ParentChannel) {
    this.#channel = channel;
    let serve: (options: readonly string[] | undefined) => void = () => {};
    this.options = new Promise((resolve) => {
      serve = resolve;
    });
    this.stopped = new Promise((resolve) => {
      const stop = () => {
        serve(undefined);
        resolve();
      };
      channel.once('disconnect', stop);
      if (!channel.connected) stop(); // gone while we were loading
      channel.on('message', (request) => {
        if (request.ask === 'serve') serve(request.options);
        else if (request.ask === 'stop') stop();
        else this.#tell({ link: this.#server?.signInLink() ?? null });
      });
    });
  }

  started(server: RunningServer): void {
    this.#server = server;
    this.#tell({ listens: server.address });
  }

  failed({ message, code }: NodeJS.ErrnoException): void {
    this.#tell({ failed: message, code });
  }

  #tell(news: ParentNews): void {
    this.#channel.send?.(news, () => {}); // somebody who is gone needs no news
  }
}
