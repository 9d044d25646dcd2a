import { Readable, Writable } from 'node:stream';
import { ndJsonStream, type Stream } from '@agentclientprotocol/sdk';
import { type CommandContext, usageOf } from '../command-context.ts';
import { helpText, readOptions } from '../command-options.ts';
import { AcpAgent } from './acp-agent.ts';
import { pair, unpair } from './pairing.ts';

const usage = usageOf('acp');

/** `countersign acp` (UI-5). Standard output carries the protocol only. */
export async function acpCommand(
  argv: readonly string[],
  context: CommandContext,
  wire: () => Stream = standardStreams,
): Promise<number> {
  const { values, positionals } = readOptions('acp', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  if (values.help) return terminal.write(helpText('acp', words)).then(() => 0);
  if (positionals[0] !== undefined) throw usage(words.unexpected(positionals[0]));
  const { server, name } = values;
  if (values.pair) return pair({ terminal, env, server, name, words });
  if (values.unpair) return unpair({ terminal, env, server, name, words });

  const acp = new AcpAgent({ terminal, env, server, words });
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
