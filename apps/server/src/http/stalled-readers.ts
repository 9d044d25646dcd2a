import type { Socket } from 'node:net';

/** A client that takes nothing of its answer for so long is cut off. */
export const STALLED_MS = 30_000;

/**
 * For the `timeout` of a response: nothing was read or taken on its connection for `STALLED_MS`. What nobody takes stays
 * in memory, and nothing else would end it. An answer that only waits, such as a held call or a quiet stream, has
 * nothing to be taken and goes on.
 */
export function endIfStalled(socket: Socket): void {
  if (socket.writableLength > 0) socket.destroy();
}
