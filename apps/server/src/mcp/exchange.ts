import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';

/** One HTTP request to `/mcp`, after admission: who asks, and with what. */
export interface Exchange {
  readonly caller: AuthenticatedCaller;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** What the SDK carries from the request to the handlers of its messages. It never sees the token. */
export const authInfoOf = (exchange: Exchange): AuthInfo => ({
  token: '',
  clientId: exchange.caller.tokenId,
  scopes: [exchange.caller.scope],
  extra: { exchange },
});

export function exchangeOf(context: ServerContext): Exchange {
  const exchange = context.http?.authInfo?.extra?.exchange;
  if (exchange === undefined) throw new Error('A message came to /mcp without its request');
  return exchange as Exchange;
}
