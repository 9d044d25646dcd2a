import { createHash } from 'node:crypto';
import { createServer } from 'node:net';

/** First port for new workspaces: away from the usual ports of development servers, below the ephemeral ones. */
const firstPort = 4200;
const ports = 700;

/**
 * The ports to try, in order: the one of last time, so that the address stays and browsers stay signed in; one of the
 * workspace's own; whatever is free (0).
 */
export function preferredPorts(root: string, lastTime: number | undefined): number[] {
  const number = createHash('sha256').update(root).digest().readUInt32BE();
  const own = firstPort + (number % ports);
  return [...new Set([lastTime ?? own, own, 0])];
}

/** Whether the port is free now. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** Whether a browser would go there: some ports, such as 6000, are barred to every page, and to `fetch`. */
export async function isForPages(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/`);
    return true;
  } catch (error) {
    return ((error as Error).cause as Error | undefined)?.message !== 'bad port';
  }
}
