import { hostname } from 'node:os';
import { type Client, createClient } from '@countersign/client';
import { type AddressProblem, defaultServer, readServerAddress } from '@countersign/runner-client';
import { personsFolders } from '@countersign/tool-runner';
import { type Environment, usageOf } from '../command-context.ts';
import type { Words } from '../words.ts';
import { Credentials } from './credentials.ts';

const usage = usageOf('sign-in');

export interface ServerAccess {
  readonly address: string;
  readonly client: Client;
  /** The device name on decisions made here. */
  readonly device: string;
  /** Where the token came from. Never the token itself. */
  readonly source: string;
}

/** Chooses the server: the named one, else the environment's, else that of the last sign-in. */
export function chosenAddress(named: string | undefined, words: Words, env: Environment): string {
  const text = named ?? (env.COUNTERSIGN_URL || credentialsOf(words, env).latest || defaultServer);
  return serverAddress(text, words, env);
}

export const credentialsOf = (words: Words, env: Environment): Credentials =>
  new Credentials(personsFolders(env).config, words);

/**
 * A client with the person's token, from COUNTERSIGN_TOKEN or the credentials file. If the token is refused, the file
 * is read again, so that a new sign-in helps a running program.
 */
export function serverAccess(named: string | undefined, words: Words, env: Environment): ServerAccess {
  const address = chosenAddress(named, words, env);
  const credentials = credentialsOf(words, env);
  const fixed = env.COUNTERSIGN_TOKEN || undefined;
  if (fixed === undefined && credentials.find(address) === undefined) {
    throw usage(words.server.notSignedIn(address));
  }
  const device = `terminal on ${hostname()}`.slice(0, 100);
  const token = () => fixed ?? credentials.find(address)?.token ?? '';
  const source = fixed === undefined ? credentials.path : 'COUNTERSIGN_TOKEN';
  return { address, device, source, client: createClient({ baseUrl: address, token, device }) };
}

/** Normalises a named address to the form that credentials use. Errors are in the person's language. */
export function serverAddress(text: string, { server }: Words, env: Environment): string {
  const read = readServerAddress(text, { allowHttp: env.COUNTERSIGN_ALLOW_HTTP === '1' });
  if ('address' in read) return read.address;
  const problems: Record<AddressProblem, string> = {
    malformed: server.badAddress(text),
    secret: server.noSecrets,
    plain: server.plainHttp(read.origin),
  };
  throw usage(problems[read.problem]);
}
