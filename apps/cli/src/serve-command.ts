import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { CommandContext } from './command-context.ts';

/** Started as a process, because no package may import an app (docs/style.md). */
const serverProgram = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url));

/** `countersign serve …`: runs the server as a child process with our terminal, options and signals. */
export function serveCommand(argv: readonly string[], { terminal, env }: CommandContext): Promise<number> {
  const isHelp = argv.includes('--help') || argv.includes('-h');
  const columns = terminal.screen?.columns;
  return new Promise((resolve, reject) => {
    const server = spawn(process.execPath, [...process.execArgv, serverProgram, ...argv], {
      // The server's help is printed by us, because our terminal wraps it to the screen.
      stdio: ['inherit', isHelp ? 'pipe' : 'inherit', 'inherit'],
      env: { ...process.env, ...env, ...(columns !== undefined && { COLUMNS: String(columns) }) },
    });
    let help = '';
    server.stdout?.setEncoding('utf8').on('data', (text: string) => {
      help += text;
    });
    // The terminal sends SIGINT to both processes; SIGTERM reaches only us.
    const pass = (signal: NodeJS.Signals) => server.kill(signal);
    const ignore = () => {};
    process.on('SIGTERM', pass).on('SIGINT', ignore);
    server.once('error', reject);
    server.once('close', (code, signal) => {
      process.off('SIGTERM', pass).off('SIGINT', ignore);
      terminal.write(help).then(() => resolve(code ?? (signal === null ? 1 : 130)), reject);
    });
  });
}
