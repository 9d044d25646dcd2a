import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { ConversationPlace } from '../isolation/conversation-place.ts';

interface Answer {
  readonly id: number;
  readonly problem?: string;
}

/**
 * Connects to ports inside a conversation's network. A small process of ours enters it, connects, and hands the connected
 * socket over without reading from it. It ends with this process.
 */
export class PlaceConnector {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (socket: Socket | undefined, problem?: string) => void>();
  #count = 0;
  #problem: string | undefined;

  constructor(place: ConversationPlace) {
    const [program = '', ...args] = [
      ...place.enterNetwork,
      process.execPath,
      '-e',
      `(${connect.toString()})(require('node:net'))`,
    ];
    const release = place.hold();
    this.#child = spawn(program, args, {
      cwd: '/',
      // In an editor, process.execPath is the editor's own program.
      env: { ELECTRON_RUN_AS_NODE: '1' },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#child.on('message', ({ id, problem }: Answer, socket) => {
      release(); // it has entered
      this.#waiting.get(id)?.(socket as Socket | undefined, problem);
      this.#waiting.delete(id);
    });
    const onEnd = (problem: string): void => {
      release();
      this.#problem = problem;
      for (const settle of this.#waiting.values()) settle(undefined, problem);
      this.#waiting.clear();
    };
    this.#child.once('error', (error) => onEnd(error.message));
    this.#child.once('exit', () => onEnd('the network of the conversation cannot be entered'));
  }

  /** Throws an Error if nothing listens there. The caller closes the socket. */
  connect(port: number): Promise<Socket> {
    this.#count += 1;
    const id = this.#count;
    return new Promise((resolve, reject) => {
      const settle = (socket: Socket | undefined, problem = 'the connection was lost'): void =>
        socket ? resolve(socket) : reject(new Error(problem));
      if (this.#problem !== undefined || !this.#child.connected) return settle(undefined, this.#problem);
      this.#waiting.set(id, settle);
      this.#child.send({ id, port });
    });
  }

  close(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Runs in the place's network. Its source text is passed on, so it cannot use other functions of this module. */
/* v8 ignore start -- runs in another process; runner-door.test.ts runs it */
function connect(net: typeof import('node:net')): void {
  process.on('disconnect', () => process.exit());
  process.on('message', ({ id, port }: { readonly id: number; readonly port: number }) => {
    // Development servers listen on 127.0.0.1 or, for "localhost", on ::1.
    const attempt = (host: string, ...others: string[]): void => {
      const socket = new net.Socket();
      socket.pause(); // leave the server's first bytes to the process that gets this socket
      socket.once('connect', () => process.send?.({ id }, socket));
      socket.once('error', (error) => {
        const [next, ...rest] = others;
        if (next !== undefined) attempt(next, ...rest);
        else process.send?.({ id, problem: error.message });
      });
      socket.connect(port, host);
    };
    attempt('127.0.0.1', '::1');
  });
}
/* v8 ignore stop */
