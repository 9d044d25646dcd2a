import { hash, timingSafeEqual } from 'node:crypto';
import type { Store } from '@countersign/engine';
import { Refusal } from '@countersign/engine';
import type { FastifyInstance } from 'fastify';
import { isLoopback, type ServerConfig } from '../config.ts';
import { openApiDocument } from './open-api.ts';
import { bearerToken } from './request-guard.ts';

/** Where `/metrics` comes from. */
export interface Watching {
  readonly contentType: string;
  metrics(): Promise<string>;
}

/** `/healthz`, `/readyz`, `/metrics`, `/openapi.json`: for those who run the server or write against it. */
export function registerWatching(
  app: FastifyInstance,
  { store, config, watching }: { store: Store; config: ServerConfig; watching?: Watching },
): void {
  const document = JSON.stringify(openApiDocument());
  app.get('/openapi.json', (_request, reply) => reply.type('application/json').send(document));

  app.get('/healthz', async () => ({ success: true }));

  app.get('/readyz', async () => {
    try {
      await store.read((tx) => tx.eventBounds('readyz'));
    } catch (cause) {
      app.log.error({ err: cause }, 'the store does not answer');
      throw new Refusal('UNAVAILABLE', { problem: 'the database does not answer' });
    }
    return { success: true };
  });

  app.get('/metrics', async (request, reply) => {
    if (!mayReadMetrics(request.headers.authorization, config)) {
      throw new Refusal('UNAUTHENTICATED', { problem: 'metrics need the metricsToken' });
    }
    if (!watching) throw new Refusal('NOT_FOUND', { what: 'metrics' });
    return reply.type(watching.contentType).send(await watching.metrics());
  });
}

/** Counts say how much a person works: on loopback they are open, elsewhere they need the token. */
function mayReadMetrics(authorization: string | undefined, config: ServerConfig): boolean {
  const { metricsToken, host, publicOrigins } = config;
  if (metricsToken === undefined) return isLoopback(host) && publicOrigins.length === 0;
  const digest = (text: string) => Buffer.from(hash('sha256', text), 'hex');
  return timingSafeEqual(digest(bearerToken(authorization) ?? ''), digest(metricsToken));
}
