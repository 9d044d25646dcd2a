import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The server is a program of its own: nothing imports an app (STYLE.md). */
const serverProgram = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url));

/** `countersign serve …`: the server's program takes the terminal, the options and the signals. */
export function serveCommand(argv: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = spawn(process.execPath, [...process.execArgv, serverProgram, ...argv], {
      stdio: 'inherit',
    });
    // The terminal sends its signals to both; others reach us alone.
    const pass = (signal: NodeJS.Signals) => server.kill(signal);
    const ignore = () => {};
    process.on('SIGTERM', pass).on('SIGINT', ignore);
    server.once('error', reject);
    server.once('exit', (code, signal) => {
      process.off('SIGTERM', pass).off('SIGINT', ignore);
      resolve(code ?? (signal === null ? 1 : 130));
    });
  });
}
