import { hostname } from 'node:os';
import { type Client, createClient } from '@countersign/client';
import { tokenIdOf } from '@countersign/runner-client';
import { personsFolders } from '@countersign/tool-runner';
import { type CommandContext, type Environment, usageOf } from '../command-context.ts';
import { Credentials } from '../sign-in/credentials.ts';
import { chosenAddress, serverAccess } from '../sign-in/server-access.ts';
import { requireServer } from '../sign-in/workspace-server.ts';
import type { Words } from '../words.ts';

const usage = usageOf('acp');
const goodForSeconds = 366 * 24 * 3600;

/** The tokens of paired editors, by server. Their scope is `front_end` (AP-9). */
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
}

/** Pairs an editor if the person at the terminal says yes. Returns the exit code. */
export async function pair({ terminal, env, server, name, words }: PairOptions): Promise<number> {
  const { address, client } = serverAccess(server, words, env);
  await requireServer(address, words);
  if (!terminal.interactive) throw usage(words.acp.needsTerminal);
  await terminal.write(`${words.acp.pairingMeans(address)}\n`);
  if (!(await isConfirmed(terminal, words.acp.askPair))) {
    await terminal.write(`${words.acp.notPaired}\n`);
    return 1;
  }
  const shown = `${name} on ${hostname()}`.slice(0, 100);
  const { token, details } = await client.createToken({
    body: { name: shown, scope: 'front_end', expires_in_seconds: goodForSeconds },
  });
  const kept = pairings(words, env);
  const before = kept.find(address);
  kept.keep(address, { token, expires_at: details.expires_at ?? '' });
  if (before) await revoke(client, before.token).catch(() => {}); // it may have ended already
  await terminal.write(`${words.acp.paired(address, shown)}\n`);
  return 0;
}

/** Deletes the pairing here, and revokes its token if the server responds. Returns the exit code. */
export async function unpair({ terminal, env, server, words }: PairOptions): Promise<number> {
  const address = chosenAddress(server, words, env);
  const forgotten = pairings(words, env).forget(address);
  if (!forgotten) throw usage(words.acp.wasNotPaired(address));
  try {
    await revoke(serverAccess(server, words, env).client, forgotten.token);
  } catch (error) {
    const id = tokenIdOf(forgotten.token) ?? '';
    terminal.writeError(`${words.acp.onlyForgotten(address, id)} (${words.said(error as Error)})\n`);
    return 1;
  }
  await terminal.write(`${words.acp.unpaired(address)}\n`);
  return 0;
}

async function isConfirmed(terminal: CommandContext['terminal'], question: string): Promise<boolean> {
  for await (const line of terminal.typed(question)) return /^(y|yes|д|да)$/i.test(line.trim());
  return false;
}

async function revoke(client: Client, token: string): Promise<void> {
  await client.revokeToken({ params: { token_id: tokenIdOf(token) ?? '' } });
}
