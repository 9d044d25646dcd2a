import { Socket } from 'node:net';
import { stdin } from 'node:process';

/**
 * Ends this process, as SIGTERM does, when its standard input ends. The system closes the input when the program that
 * started us ends, even by SIGKILL, so no runner outlives its editor.
 */
export function endWithInput(): void {
  const end = () => void process.kill(process.pid, 'SIGTERM');
  stdin.once('end', end).once('error', end).resume();
  // Listening must not keep the process alive. A file or /dev/null has no `unref`.
  if (stdin instanceof Socket) stdin.unref();
}
