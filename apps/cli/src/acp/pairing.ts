import { hostname } from 'node:os';
import { type Client, createClient } from '@countersign/client';
import { CountersignError } from '@countersign/protocol';
import { tokenIdOf } from '@countersign/runner-client';
import { personsFolders } from '@countersign/tool-runner';
import { type CommandContext, usageOf } from '../command-context.ts';
import { Credentials } from '../sign-in/credentials.ts';
import { chosenAddress, serverAccess } from '../sign-in/server-access.ts';
import { requireServer } from '../sign-in/workspace-server.ts';
import type { Words } from '../words.ts';
import type { AcpWords } from './acp-words.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const usage = usageOf('acp');
/** A year: a pairing is meant to last. */
const goodForSeconds = 366 * 24 * 3600;

/**
 * The tokens of paired editors by server, stored beside the person's own. `pairingMeans` says what they can do (AP-9).
 */
const pairings = (words: Words, env: Environment): Credentials =>
  new Credentials(personsFolders(env).config, words, 'paired-editors.json');

/** A client with the paired editor's token; undefined if none was paired with this server. */
export function pairedClient(
  address: string,
  device: string,
  words: Words,
  env: Environment,
): Client | undefined {
  const kept = pairings(words, env);
  if (kept.find(address) === undefined) return undefined;
  // Read each time, so that pairing again helps a running editor.
  return createClient({ baseUrl: address, device, token: () => kept.find(address)?.token ?? '' });
}

export interface PairOptions extends Pick<CommandContext, 'terminal' | 'env'> {
  readonly server: string | undefined;
  readonly name: string;
  readonly words: Words;
  readonly acpWords: AcpWords;
}

/** Pairs an editor if the person at the terminal says yes. Returns the exit code. */
export async function pair({ terminal, env, server, name, words, acpWords }: PairOptions): Promise<number> {
  const access = serverAccess(server, words, env);
  const { address, client } = access;
  await requireServer(address, words);
  if (!terminal.interactive) {
    throw new CountersignError('USAGE', { problem: acpWords.needsTerminal, help: 'countersign acp --help' });
  }
  await terminal.write(`${acpWords.pairingMeans(address)}\n`);
  if (!(await isConfirmed(terminal, acpWords.askPair))) {
    await terminal.write(`${acpWords.notPaired}\n`);
    return 1;
  }
  const shown = `${name} on ${hostname()}`.slice(0, 100);
  const { token, details } = await client.createToken({
    body: { name: shown, scope: 'front_end', expires_in_seconds: goodForSeconds },
  });
  const kept = pairings(words, env);
  const before = kept.find(address);
  kept.keep(address, { token, expires_at: details.expires_at ?? '' });
  if (before) await endToken(client, before.token).catch(() => {}); // it may have ended already
  await terminal.write(`${acpWords.paired(address, shown)}\n`);
  return 0;
}

/** Deletes the pairing here, and revokes it on the server if that responds. */
export async function unpair({ terminal, env, server, words, acpWords }: PairOptions): Promise<number> {
  const address = chosenAddress(server, words, env);
  const forgotten = pairings(words, env).forget(address);
  if (!forgotten) throw usage(acpWords.wasNotPaired(address));
  try {
    await endToken(serverAccess(server, words, env).client, forgotten.token);
  } catch (error) {
    const id = tokenIdOf(forgotten.token) ?? '';
    terminal.writeError(`${acpWords.onlyForgotten(address, id)} (${words.said((error as Error).message)})\n`);
    return 1;
  }
  await terminal.write(`${acpWords.unpaired(address)}\n`);
  return 0;
}

async function isConfirmed(terminal: CommandContext['terminal'], question: string): Promise<boolean> {
  for await (const line of terminal.typed(question)) return /^(y|yes|д|да)$/i.test(line.trim());
  return false;
}

/** The token's id, from its claims. */
async function endToken(client: Client, token: string): Promise<void> {
  await client.revokeToken({ params: { token_id: tokenIdOf(token) ?? '' } });
}
