import { parseArgs } from 'node:util';
import { type CommandContext, commandOptions, numberOption, usageOf } from './command-context.ts';
import { endWithInput } from './end-with-input.ts';
import { sampleFirstMessage } from './up/sample-message.ts';
import { ServerProcess } from './up/server-process.ts';
import { upWordsFor } from './up/up-words.ts';

const help = `countersign up: server, runner and web page in one command

  countersign up           in a sample workspace, to try it
  countersign up DIR       in your own

It listens on this machine only, prints a sign-in link and opens it in your browser. What you approve there is executed
here, in DIR. Everything is kept in your state folder, apart for each workspace. Without a model's key you type the tool
calls yourself; COUNTERSIGN_MODEL=anthropic:… or openai:… with a key gives you an agent (countersign serve --help has
every setting). Ctrl-C ends everything, a second Ctrl-C at once.

Options
  --no-open         do not open a browser
  --port PORT       this port (default: the one of last time, or a free one)
  --prompt          ask for approvals in this terminal too
  --run-unisolated  where commands cannot be isolated, harmless ones run all the same instead of asking
  --end-with-input  end when the standard input ends: for a program that starts it
  --verbose         show what the runner logs
  --json            print one line with the address when it is ready, and nothing else
  --lang LANG       en or ru
`;

const usage = usageOf('up');

/** `countersign up [DIR]` (UI-4). */
export async function upCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      ...commandOptions,
      'no-open': { type: 'boolean', default: false },
      port: { type: 'string' },
      prompt: { type: 'boolean', default: false },
      'run-unisolated': { type: 'boolean', default: false },
      'end-with-input': { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
    },
  });
  const { terminal, env } = context;
  if (values.help) return terminal.write(help).then(() => 0);
  if (values['end-with-input']) endWithInput();
  const words = context.words(values.lang);
  const upWords = upWordsFor(env, values.lang);
  const [named, unexpected] = positionals;
  if (unexpected !== undefined) throw usage(words.unexpected(unexpected));
  const range = { min: 1, max: 65_535 };
  const port = values.port === undefined ? undefined : numberOption('port', values.port, range, words, usage);
  // The server takes longest to load: it begins before we load the rest.
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
      verbose: values.verbose,
      json: values.json,
      words,
      lang: values.lang,
      upWords,
    });
  } finally {
    server.kill();
  }
}
