import { Socket } from 'node:net';
import { stdin } from 'node:process';

/**
 * Ends this process, as SIGTERM does, when its standard input ends. For programs that start us: they hold the other end
 * of our input, and however they end, also by SIGKILL, that closes it. So no runner outlives its editor.
 */
export function endWithInput(): void {
  const end = () => void process.kill(process.pid, 'SIGTERM');
  stdin.once('end', end).once('error', end).resume();
  // Listening alone is no reason to live. A file or /dev/null, which ends at once, has nothing to let go of.
  if (stdin instanceof Socket) stdin.unref();
}
