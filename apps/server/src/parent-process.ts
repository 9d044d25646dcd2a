import type { RunningServer } from './serve.ts';

/** Requests of the process that started us, over the IPC channel. */
export type ParentRequest =
  /** Sent once, with the options. We were started early, to load meanwhile. */
  | { readonly ask: 'serve'; readonly options: readonly string[] }
  | { readonly ask: 'sign-in-link' }
  | { readonly ask: 'stop' };
/** Our messages. Each request for a link gets one `link`, in order. */
export type ParentNews =
  | { readonly listens: string }
  | { readonly link: string | null }
  | { readonly failed: string; readonly code: string | undefined };

/** The part of the channel that we use; `process` is one if it was started with IPC. */
export interface ParentChannel {
  readonly connected: boolean;
  send?(news: ParentNews, sent: () => void): unknown;
  on(event: 'message', listener: (request: ParentRequest) => void): unknown;
  once(event: 'disconnect', listener: () => void): unknown;
}

/**
 * Serves the process that started us: reports where we listen, makes fresh sign-in links, and stops when asked or when the
 * parent is gone, so that no server is left behind.
 */
export class ParentProcess {
  /** The command line to serve with; undefined if we are stopped before it comes. */
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
    this.#channel.send?.(news, () => {}); // ignore errors: the parent may be gone
  }
}
