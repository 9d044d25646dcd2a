import { parseArgs } from 'node:util';
import { CountersignError } from '@countersign/protocol';
import { printLink, printToken } from './auth/operator-access.ts';
import { loadConfig, maskedConfig } from './config.ts';
import { type RunningServer, type ServeOptions, serve } from './serve.ts';
import { serveHelp } from './serve-help.ts';
import { readKillPoint } from './test-kill.ts';
import { type ServerWords, wordsFor, wordsInLanguage } from './words.ts';

export interface ProgramIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  write(text: string): void;
  /** For messages to the person, because `write` may be piped into a program. */
  writeError(text: string): void;
  /** Resolves when the program is asked to stop. */
  stopped(): Promise<void>;
  /** If set, called instead of printing the address, because another program started the server. */
  started?(server: RunningServer): void;
}

/** `countersign serve`: reads the configuration, serves until it is asked to stop, and stops gracefully. */
export async function serveProgram(
  argv: readonly string[],
  io: ProgramIo,
  options: ServeOptions = {},
): Promise<void> {
  const { values, positionals } = readArguments(argv);
  const words = values.lang === undefined ? wordsFor(io.env) : wordsInLanguage(values.lang);
  if (!words) throw usage(wordsFor(io.env).noLanguage(values.lang ?? ''));
  if (values.help) {
    io.write(serveHelp(words, Number(io.env.COLUMNS) || undefined));
    return;
  }
  if (positionals[0] !== undefined) throw usage(words.unexpected(positionals[0]));
  const { host, port, database, 'policy-file': policyFile } = values;
  const given = Object.entries({ host, port, database, policyFile }).filter(
    ([, value]) => value !== undefined,
  );
  const flags = Object.fromEntries(given);
  const config = loadConfig({ env: io.env, file: values.config ?? io.env.COUNTERSIGN_CONFIG, flags });
  if (values['print-config']) {
    io.write(`${JSON.stringify(maskedConfig(config), null, 2)}\n`);
    return;
  }
  if (values.link) return printLink(config, io, words, usage);
  const person = values['token-for'];
  if (person !== undefined) return printToken(config, { person, days: values.days }, io, words, usage);
  const server = await serve(config, { reached: readKillPoint(io.env), ...options });
  if (io.started) io.started(server);
  else printAddress(server, io, words);
  await io.stopped();
  await server.close();
}

/** packages/words describes these options under the same names; a test compares the two. */
export const serveOptions = {
  host: { type: 'string' },
  port: { type: 'string' },
  database: { type: 'string' },
  'policy-file': { type: 'string' },
  config: { type: 'string' },
  'print-config': { type: 'boolean' },
  link: { type: 'boolean' },
  'token-for': { type: 'string' },
  days: { type: 'string', default: '30' },
  lang: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

function readArguments(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], allowPositionals: true, options: serveOptions });
  } catch (error) {
    // Keeps the first sentence of Node's message; the rest is advice that does not apply here.
    throw usage((error as Error).message.split('. ')[0] ?? '', { cause: error });
  }
}

const usage = (problem: string, options?: ErrorOptions): CountersignError =>
  new CountersignError('USAGE', { problem, help: 'countersign serve --help' }, options);

function printAddress(server: RunningServer, io: ProgramIo, words: ServerWords): void {
  const link = server.signInLink();
  io.write(`${words.listens(server.address)}\n`);
  if (link !== undefined) io.write(`${words.openThis} ${link}\n${words.another}\n`);
}
