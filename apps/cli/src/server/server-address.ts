import { CountersignError } from '@countersign/protocol';
import type { Words } from '../words.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export const defaultServer = 'http://127.0.0.1:4180';

/**
 * An address as tokens are kept for it: origin and path, no slash at the end. A secret in it is refused, because
 * command lines and addresses are seen by others (RE-5); so is a connection that would carry the token in the clear.
 */
export function serverAddress(text: string, words: Words, env: Environment): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) throw usage(words.server.badAddress(text));
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw usage(words.server.noSecrets);
  }
  const isPlain = url.protocol === 'http:' && !isLoopback(url.hostname);
  if (isPlain && env.COUNTERSIGN_ALLOW_HTTP !== '1') throw usage(words.server.plainHttp(url.origin));
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);

const usage = (problem: string): CountersignError =>
  new CountersignError('USAGE', { problem, help: 'countersign sign-in --help' });
