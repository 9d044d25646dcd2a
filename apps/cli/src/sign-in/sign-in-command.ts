import { createClient } from '@countersign/client';
import { isToken, readSignInLink, tokenEndOf, tokenIdOf } from '@countersign/runner-client';
import { type CommandContext, usageOf } from '../command-context.ts';
import { helpText, readOptions } from '../command-options.ts';
import type { Words } from '../words.ts';
import type { Credential } from './credentials.ts';
import { chosenAddress, credentialsOf, serverAddress } from './server-access.ts';

const usage = usageOf('sign-in');

/** `countersign sign-in [LINK]` (RE-5). */
export async function signInCommand(
  argv: readonly string[],
  { terminal, env, words: language }: CommandContext,
) {
  const { values, positionals } = readOptions('sign-in', argv);
  const words = language(values.lang);
  if (values.help) return terminal.write(helpText('sign-in', words)).then(() => 0);
  const pasted = (positionals[0] ?? (await firstTypedLine(terminal, words.server.pasteLink))).trim();
  if (pasted === '') throw usage(words.server.noLink);
  const link = readSignInLink(pasted);
  if (!link && !isToken(pasted)) throw usage(words.server.badLink);
  if (!link && positionals[0] !== undefined) throw usage(words.server.tokenAsWord);
  const address = serverAddress(link?.server ?? chosenAddress(values.server, words, env), words, env);
  const { expires_at } = link
    ? await signIn(address, link.code, words, env)
    : await signInWithToken(address, pasted, words, env);
  const until = expires_at === '' ? undefined : expires_at.slice(0, 10);
  await terminal.write(
    values.json
      ? `${JSON.stringify({ success: true, server: address, expires_at: expires_at || null })}\n`
      : `${words.server.signedIn(address, until)}\n`,
  );
  return 0;
}

/** `countersign sign-out`: deletes the token here, and revokes it if the server responds. */
export async function signOutCommand(
  argv: readonly string[],
  { terminal, env, words: language }: CommandContext,
) {
  const { values } = readOptions('sign-out', argv);
  const words = language(values.lang);
  if (values.help) return terminal.write(helpText('sign-in', words)).then(() => 0);
  const address = chosenAddress(values.server, words, env);
  const wasSignedIn = await signOut(address, words, env);
  const said = wasSignedIn ? words.server.signedOut(address) : words.server.wasNotSignedIn(address);
  await terminal.write(
    values.json
      ? `${JSON.stringify({ success: true, server: address, was_signed_in: wasSignedIn })}\n`
      : `${said}\n`,
  );
  return 0;
}

/** Exchanges a code for a token and stores it. */
export async function signIn(
  address: string,
  code: string,
  words: Words,
  env: CommandContext['env'],
): Promise<Credential> {
  const client = createClient({ baseUrl: address, token: () => '' });
  const { token, expires_at } = await client.signIn({ body: { code } });
  credentialsOf(words, env).keep(address, { token, expires_at });
  return { token, expires_at };
}

/** Stores a token if the server accepts it. */
async function signInWithToken(
  address: string,
  token: string,
  words: Words,
  env: CommandContext['env'],
): Promise<Credential> {
  await createClient({ baseUrl: address, token: () => token }).listProjects();
  const credential = { token, expires_at: tokenEndOf(token) ?? '' };
  credentialsOf(words, env).keep(address, credential);
  return credential;
}

/** Returns whether a token was stored. */
export async function signOut(address: string, words: Words, env: CommandContext['env']): Promise<boolean> {
  const forgotten = credentialsOf(words, env).forget(address);
  const tokenId = forgotten && tokenIdOf(forgotten.token);
  if (forgotten && tokenId !== undefined) {
    const client = createClient({ baseUrl: address, token: () => forgotten.token, timeoutMs: 5_000 });
    // Ignore an unreachable server: the token is deleted here and expires there.
    await client.revokeToken({ params: { token_id: tokenId } }).catch(() => {});
  }
  return forgotten !== undefined;
}

async function firstTypedLine(terminal: CommandContext['terminal'], prompt: string): Promise<string> {
  if (terminal.interactive) {
    for await (const line of terminal.typed(prompt)) return line;
    return '';
  }
  let text = '';
  for await (const chunk of terminal.stdin) {
    text += chunk.toString();
    if (text.length > 10_000 || text.includes('\n')) break;
  }
  return text.split('\n')[0] ?? '';
}
