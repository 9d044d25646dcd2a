import type { RunningServer } from './serve.ts';

/** Requests of the parent process, over the IPC channel. */
export type ParentRequest =
  /** Sent once, with the options. The parent starts us earlier, so that we load meanwhile. */
  | { readonly ask: 'serve'; readonly options: readonly string[] }
  | { readonly ask: 'sign-in-link' }
  | { readonly ask: 'stop' };
/** Our messages to the parent. Each request for a link gets one `link`, in order. */
export type ServerMessage =
  | { readonly listens: string }
  | { readonly link: string | null }
  | { readonly failed: string; readonly code: string | undefined };

/** The part of the IPC channel that we use. `process` is one if it was started with IPC. */
export interface ParentChannel {
  readonly connected: boolean;
  send?(message: ServerMessage, sent: () => void): unknown;
  on(event: 'message', listener: (request: ParentRequest) => void): unknown;
  once(event: 'disconnect', listener: () => void): unknown;
}

/**
 * Serves the parent process: reports where we listen, makes sign-in links, and stops when asked or when the parent is gone,
 * so that no server is left behind.
 */
export class ParentProcess {
  /** The command line to serve with; undefined if we are stopped before it comes. */
  readonly options: Promise<readonly string[] | undefined>;
  readonly stopped: Promise<void>;
  readonly #channel: ParentChannel;
  #server: RunningServer | undefined;

  constructor(channel: ParentChannel) {
    this.#channel = channel;
    const options = Promise.withResolvers<readonly string[] | undefined>();
    const stopped = Promise.withResolvers<void>();
    this.options = options.promise;
    this.stopped = stopped.promise;
    const stop = () => {
      options.resolve(undefined);
      stopped.resolve();
    };
    channel.once('disconnect', stop);
    if (!channel.connected) stop(); // the parent ended while we were loading
    channel.on('message', (request) => {
      if (request.ask === 'serve') options.resolve(request.options);
      else if (request.ask === 'stop') stop();
      else this.#send({ link: this.#server?.signInLink() ?? null });
    });
  }

  started(server: RunningServer): void {
    this.#server = server;
    this.#send({ listens: server.address });
  }

  failed({ message, code }: NodeJS.ErrnoException): void {
    this.#send({ failed: message, code });
  }

  #send(message: ServerMessage): void {
    this.#channel.send?.(message, () => {}); // ignore errors: the parent may be gone
  }
}
