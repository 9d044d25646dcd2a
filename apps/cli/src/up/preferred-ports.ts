import { createHash } from 'node:crypto';
import { createServer } from 'node:net';

/** Of workspaces that never had one: far from the ports that development servers like, below the system's own. */
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

/** Whether nobody listens there now. */
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
