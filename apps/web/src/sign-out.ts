import type { Client } from '@countersign/client';
import { tokenIdOf } from './token-id.ts';
import type { TokenStorage } from './token-storage.ts';

/** How long to wait for the server. The token is deleted here in any case. */
const timeoutMs = 3_000;

/** Revokes this browser's token where the server can be reached, so that a copy of it is useless. */
export async function signOut(client: Pick<Client, 'revokeToken'>, tokens: TokenStorage): Promise<void> {
  const tokenId = tokenIdOf(tokens.read() ?? '');
  if (tokenId === undefined) return;
  await client.revokeToken({ params: { token_id: tokenId } }, { timeoutMs }).catch(() => {});
}
