import { randomUUID } from 'node:crypto';
import type { CountersignError } from '@countersign/protocol';
import { SignJWT } from 'jose';
import { isLoopback, type ServerConfig } from '../config.ts';
import type { ServerWords } from '../words.ts';
import { knownSecret } from './server-secret.ts';
import { SignInCodes } from './sign-in-codes.ts';

/** `write` prints output that can be piped; `writeError` prints messages for the person. */
interface Io {
  write(text: string): void;
  writeError(text: string): void;
}
type Usage = (problem: string, options?: ErrorOptions) => CountersignError;

/** `countersign serve --link`: prints a new sign-in link for a server that runs on this machine with these settings. */
export async function printLink(
  config: ServerConfig,
  io: Io,
  words: ServerWords,
  usage: Usage,
): Promise<void> {
  const { host, port, user } = config;
  if (!isLoopback(host)) throw usage(words.linkNeedsLoopback(host));
  if (port === 0) throw usage(words.linkNeedsPort);
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  try {
    const answer = await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(5_000) });
    await answer.text(); // an unread body would keep the connection and the process open
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  } catch (error) {
    const { message, cause } = error as Error & { cause?: { code?: string } };
    throw usage(words.noServer(address, cause?.code ?? message), { cause: error });
  }
  const secret = knownSecret(config);
  if (!secret) throw usage(words.noSecret);
  io.writeError(`${words.openThis}\n`);
  io.write(`${address}/#sign-in=${new SignInCodes(secret, user).create()}\n`);
}

/**
 * `countersign serve --token-for PERSON`: prints a token that is signed with the server's secret (docs/configuration.md).
 * The server need not run.
 */
export async function printToken(
  config: ServerConfig,
  { person, days: text }: { readonly person: string; readonly days: string },
  io: Io,
  words: ServerWords,
  usage: Usage,
): Promise<void> {
  if (!/^[\x21-\x7e]{1,200}$/.test(person)) throw usage(words.badPerson);
  const days = Number(text);
  if (!Number.isInteger(days) || days < 1 || days > 366) throw usage(words.badDays(text));
  const secret = knownSecret(config);
  if (!secret) throw usage(words.noSecret); // a new secret would not be the server's
  const until = new Date(Date.now() + days * 24 * 3600 * 1000);
  const token = await new SignJWT()
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(person)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime(until)
    .sign(secret);
  io.writeError(`${words.tokenMade(person, until.toISOString().slice(0, 10))}\n`);
  io.write(`${token}\n`);
}
