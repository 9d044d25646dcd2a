import { parseArgs } from 'node:util';
import { CountersignError } from '@countersign/protocol';
import { loadConfig, maskedConfig } from './config.ts';
import { type RunningServer, type ServeOptions, serve } from './serve.ts';
import { serveHelp } from './serve-help.ts';
import { readKillPoint } from './test-kill.ts';

export interface ProgramIo {
  readonly env: Readonly<Record<string, string | undefined>>;
  write(text: string): void;
  /** Resolves when the program is asked to stop. */
  stopped(): Promise<void>;
  /** Told instead of printing where it listens: another program started it. */
  started?(server: RunningServer): void;
}

/** `countersign serve`: reads the configuration, serves until it is asked to stop, and stops gracefully. */
export async function serveProgram(
  argv: readonly string[],
  io: ProgramIo,
  options: ServeOptions = {},
): Promise<void> {
  const { values, positionals } = readArguments(argv);
  if (values.help) {
    io.write(serveHelp());
    return;
  }
  if (positionals.length > 0) {
    throw usage(`"${positionals[0]}" is not expected here`);
  }
  const { host, port, database } = values;
  const given = Object.entries({ host, port, database }).filter(([, value]) => value !== undefined);
  const flags = Object.fromEntries(given);
  const config = loadConfig({ env: io.env, file: values.config ?? io.env.COUNTERSIGN_CONFIG, flags });
  if (values['print-config']) {
    io.write(`${JSON.stringify(maskedConfig(config), null, 2)}\n`);
    return;
  }
  const server = await serve(config, { reached: readKillPoint(io.env), ...options });
  if (io.started) io.started(server);
  else printAddress(server, io);
  await io.stopped();
  await server.close();
}

function readArguments(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        host: { type: 'string' },
        port: { type: 'string' },
        database: { type: 'string' },
        config: { type: 'string' },
        'print-config': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    // What follows the first sentence is advice for other programs.
    throw usage((error as Error).message.split('. ')[0] ?? '', { cause: error });
  }
}

const usage = (problem: string, options?: ErrorOptions): CountersignError =>
  new CountersignError('USAGE', { problem, help: 'countersign serve --help' }, options);

function printAddress(server: RunningServer, io: ProgramIo): void {
  const link = server.signInLink();
  io.write(`Countersign listens on ${server.address}\n`);
  if (link !== undefined) io.write(`Open this to sign in (once, within 60 s): ${link}\n`);
}
