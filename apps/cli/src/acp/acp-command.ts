import { Readable, Writable } from 'node:stream';
import { parseArgs } from 'node:util';
import { ndJsonStream, type Stream } from '@agentclientprotocol/sdk';
import { type CommandContext, commandOptions, usageOf } from '../command-context.ts';
import { AcpAgent } from './acp-agent.ts';
import { acpWordsFor } from './acp-words.ts';
import { pair, unpair } from './pairing.ts';

const help = `countersign acp: Countersign's agent in an editor that speaks the Agent Client Protocol

  countersign acp                  an editor starts this (Zed, Emacs agent-shell, …); see docs/acp.md
  countersign acp --pair           lets editors on this machine show approvals and send your decisions; once
  countersign acp --unpair         ends that

Conversations, tool calls with their diffs and approvals appear in the editor. Whoever decides first, there or in
another place, has decided. Where no runner is connected for the folder, this program is the runner.

Options
  --name NAME      how the editor is called where decisions are listed (default: editor); with --pair
  --server URL     which server (default: that of "countersign up" for the folder, or the last one you signed in to)
  --lang LANG      en or ru
`;

const usage = usageOf('acp');

/** `countersign acp` (UI-5). Standard output is the protocol's. */
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
  if (values.help) return terminal.write(help).then(() => 0);
  const words = context.words(values.lang);
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
