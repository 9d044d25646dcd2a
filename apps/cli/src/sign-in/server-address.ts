import { CountersignError } from '@countersign/protocol';
import { type AddressProblem, readServerAddress } from '@countersign/runner-client';
import type { Words } from '../words.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Normalises a named address to the form that credentials use. Errors are in the person's language. */
export function serverAddress(text: string, { server }: Words, env: Environment): string {
  const read = readServerAddress(text, { allowHttp: env.COUNTERSIGN_ALLOW_HTTP === '1' });
  if ('address' in read) return read.address;
  const problems: Record<AddressProblem, string> = {
    malformed: server.badAddress(text),
    secret: server.noSecrets,
    plain: server.plainHttp(read.origin),
  };
  throw new CountersignError('USAGE', {
    problem: problems[read.problem],
    help: 'countersign sign-in --help',
  });
}
