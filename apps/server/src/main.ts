import { ParentProcess } from './parent-process.ts';
import { serveProgram } from './serve-program.ts';
import { wordsFor } from './words.ts';

/** Resolves at the first SIGINT or SIGTERM, to stop gracefully. A second signal exits at once. */
const stopped = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(130));
        resolve();
      });
    }
  });

/** Set if `countersign up` started us. It stops us itself, so we ignore the terminal's Ctrl-C. */
const parent = process.send ? new ParentProcess(process) : undefined;
if (parent) process.on('SIGINT', () => {});

try {
  const options = parent ? await parent.options : process.argv.slice(2);
  if (options)
    await serveProgram(options, {
      env: process.env,
      write: (text) => void process.stdout.write(text),
      writeError: (text) => void process.stderr.write(text),
      stopped: () => (parent ? Promise.race([parent.stopped, stopped()]) : stopped()),
      ...(parent && { started: (server) => parent.started(server) }),
    });
} catch (error) {
  const { message, code } = error as NodeJS.ErrnoException;
  const words = wordsFor(process.env);
  process.stderr.write(
    `${words.error}: ${words.said({ code, message })}${code === undefined ? '' : ` [${code}]`}\n`,
  );
  parent?.failed(error as NodeJS.ErrnoException);
  process.exitCode = 2;
}
if (process.connected) process.disconnect();
