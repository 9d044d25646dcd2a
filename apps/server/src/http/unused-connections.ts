import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Connections on which nothing was asked yet, such as those a client opens ahead. Node does not count them as idle, so
 * a server that stops would wait for them until their time is over. The answer ends those that there are.
 */
export function trackUnusedConnections(server: Server): () => void {
  const unused = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage) => unused.delete(socket));
  return () => {
    for (const socket of unused) socket.destroy();
  };
}
