import { spawn } from 'node:child_process';
import type { Server, Socket } from 'node:net';
import type { ConversationPlace } from './conversation-place.ts';

/** Starting takes some 60 ms; the limit is for a machine that is stuck. */
const LONGEST_START_MS = 10_000;

/**
 * Listens on the loopback of a conversation until the conversation's place is closed, and returns the port (RN-5). A
 * small process of ours enters the network, makes the listening socket, hands it over and ends. So a command with
 * network access needs no process of its own, and no other command can ever listen on that port. Undefined if it fails.
 */
export function listenInPlace(
  place: ConversationPlace,
  onConnection: (socket: Socket) => void,
): Promise<number | undefined> {
  const { closed } = place;
  if (closed.aborted) return Promise.resolve(undefined);
  const code = `(${handOver.toString()})(require('node:net'))`;
  const [program = '', ...args] = [...place.enterNetwork, process.execPath, '-e', code];
  const release = place.hold();
  const child = spawn(program, args, {
    cwd: '/',
    // In an editor, process.execPath is the editor's own program.
    env: { ELECTRON_RUN_AS_NODE: '1' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    timeout: LONGEST_START_MS,
    killSignal: 'SIGKILL',
  });
  return new Promise((resolve) => {
    child.once('message', ({ port }: { readonly port: number }, handle) => {
      const server = handle as Server;
      server.on('connection', onConnection);
      server.on('error', () => {}); // a single connection failed
      server.unref();
      if (closed.aborted) server.close();
      else closed.addEventListener('abort', () => server.close(), { once: true });
      resolve(closed.aborted ? undefined : port);
      child.kill('SIGKILL');
    });
    for (const end of ['error', 'exit'] as const)
      child.once(end, () => {
        release();
        resolve(undefined);
      });
  });
}

/* v8 ignore start -- its source runs in another process */
function handOver(net: typeof import('node:net')): void {
  const server = net.createServer().listen(0, '127.0.0.1', () => {
    process.send?.({ port: (server.address() as import('node:net').AddressInfo).port }, server);
  });
  process.once('disconnect', () => process.exit());
}
/* v8 ignore stop */
