import { type CommandContext, numberOption, usageOf } from './command-context.ts';
import { helpText, readOptions } from './command-options.ts';
import { readLogOptions } from './connect/log-options.ts';
import { endWithInput } from './end-with-input.ts';
import { sampleFirstMessage } from './up/sample-message.ts';
import { ServerProcess } from './up/server-process.ts';

const usage = usageOf('up');

/** `countersign up [DIR]` (UI-4). */
export async function upCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('up', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(helpText('up', words)).then(() => 0);
  if (values['end-with-input']) endWithInput();
  const [named, unexpected] = positionals;
  if (unexpected !== undefined) throw usage(words.unexpected(unexpected));
  const range = { min: 1, max: 65_535 };
  const port = values.port === undefined ? undefined : numberOption('port', values.port, range, words, usage);
  const log = readLogOptions(values, words, usage);
  // The server takes longest to load, so start it before we load the rest.
  const serverEnv = { ...env, ...(named === undefined && { COUNTERSIGN_FIRST_MESSAGE: sampleFirstMessage }) };
  const server = new ServerProcess(serverEnv);
  try {
    const { bringUp } = await import('./up/bring-up.ts');
    return await bringUp({
      terminal,
      env,
      server,
      serverEnv,
      folder: named,
      port,
      open: !values['no-open'] && !values.json,
      prompt: values.prompt,
      runUnisolated: values['run-unisolated'],
      log,
      json: values.json,
      words,
    });
  } finally {
    server.kill();
  }
}
