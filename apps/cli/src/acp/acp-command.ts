import { Readable, Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { ndJsonStream, type Stream } from '@agentclientprotocol/sdk';
import { type CommandContext, commandOptions, usageOf } from '../command-context.ts';
import { AcpAgent } from './acp-agent.ts';
import { acpWordsFor } from './acp-words.ts';
import { pair, unpair } from './pairing.ts';

const usage = usageOf('acp');

/** `countersign acp` (UI-5). Standard output carries the protocol only. */
export async function acpCommand(
  argv: readonly string[],
  context: CommandContext,
  wire: () => Stream = standardStreams,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      ...commandOptions,
      server: { type: 'string' },
      name: { type: 'string', default: 'editor' },
      pair: { type: 'boolean', default: false },
      unpair: { type: 'boolean', default: false },
    },
  });
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(words.help.acp).then(() => 0);
  const acpWords = acpWordsFor(env, values.lang);
  if (positionals[0] !== undefined) throw usage(words.unexpected(positionals[0]));
  const { server, name } = values;
  if (values.pair) return pair({ terminal, env, server, name, words, acpWords });
  if (values.unpair) return unpair({ terminal, env, server, name, words, acpWords });

  const acp = new AcpAgent({ terminal, env, server, words, acpWords });
  const connection = acp.connect(wire());
  const end = () => connection.close();
  process.once('SIGINT', end).once('SIGTERM', end);
  await connection.closed;
  process.off('SIGINT', end).off('SIGTERM', end);
  await acp.close();
  return 0;
}

const standardStreams = (): Stream =>
  ndJsonStream(
    Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
    Readable.toWeb(process.stdin) as unknown as ReadableStream<Uint8Array>,
  );
