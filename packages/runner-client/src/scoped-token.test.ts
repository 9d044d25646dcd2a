import type { Client } from '@countersign/client';
import { expect, it } from 'vitest';
import { ScopedToken } from './scoped-token.ts';

/** The person's access to a server whose tokens expire after `seconds`. */
function accessWith(seconds: number): { readonly client: Client; readonly made: string[] } {
  const made: string[] = [];
  const createToken = async () => {
    const token_id = `token-${made.length + 1}`;
    made.push(token_id);
    const expires_at = new Date(Date.now() + seconds * 1000).toISOString();
    return { success: true, token: token_id, details: { token_id, expires_at } };
  };
  const connection = { baseUrl: 'http://127.0.0.1:9', token: () => 'persons' };
  return { client: { connection, createToken } as unknown as Client, made };
}

it.each([
  ['an agent’s, before its time: it was revoked', 'agent', 3600, ['token-1', 'token-1']],
  ['an agent’s, after its time', 'agent', 0, ['token-1', 'token-2']],
  ['a runner’s', 'runner', 3600, ['token-1', 'token-2']],
] as const)('[AP-9] a token that is refused: %s', async (_what, scope, seconds, expected) => {
  const access = accessWith(seconds);
  const { token } = new ScopedToken(access, { name: 'x', scope }).client.connection;
  const first = await token();
  expect([first, await token(first)]).toEqual(expected);
  expect(access.made).toEqual([...new Set(expected)]);
});
