import { serveProgram } from './serve-program.ts';

/** The process behind `countersign serve`. SIGINT and SIGTERM stop it gracefully; a second one stops it now. */
const stopped = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(130));
        resolve();
      });
    }
  });

try {
  await serveProgram(process.argv.slice(2), {
    env: process.env,
    write: (text) => void process.stdout.write(text),
    stopped,
  });
} catch (error) {
  const { message, code } = error as NodeJS.ErrnoException;
  process.stderr.write(`error: ${message}${code === undefined ? '' : ` [${code}]`}\n`);
  process.exitCode = 2;
}
