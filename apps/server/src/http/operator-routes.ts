import { hash, timingSafeEqual } from 'node:crypto';
import { Refusal } from '@countersign/engine';
import type { FastifyInstance } from 'fastify';
import { isLoopback, type ServerConfig } from '../config.ts';
import { resolveWithin } from '../resolve-within.ts';
import type { ServerOptions } from './create-server.ts';
import { openApiDocument } from './open-api.ts';
import { bearerToken } from './request-guard.ts';

/** How long `/readyz` waits for the store. Short, because load balancers ask every few seconds. */
const READY_MS = 3_000;

/** `/healthz`, `/readyz`, `/metrics`, `/openapi.json`: for operators and authors of clients. */
export function registerOperatorRoutes(
  app: FastifyInstance,
  { store, storage, config, metrics }: Pick<ServerOptions, 'store' | 'storage' | 'config' | 'metrics'>,
): void {
  const document = JSON.stringify(openApiDocument());
  app.get('/openapi.json', (_request, reply) => reply.type('application/json').send(document));

  app.get('/healthz', async () => ({ success: true }));

  app.get('/readyz', async () => {
    // A stalled database reports no error for a while, so limit the time.
    const answer = store.read((tx) => tx.eventBounds('readyz'));
    const problem = await resolveWithin(READY_MS, answer).then(
      (bounds) =>
        bounds === undefined ? new Error(`The store has not answered for ${READY_MS} ms.`) : undefined,
      (cause: unknown) => cause,
    );
    if (problem === undefined) {
      const full = await storage.check();
      if (full) throw full;
      return { success: true };
    }
    app.log.error({ err: problem }, 'store does not answer');
    throw new Refusal('UNAVAILABLE', { problem: 'the database does not answer' });
  });

  app.get('/metrics', async (request, reply) => {
    if (!mayReadMetrics(request.headers.authorization, config)) {
      throw new Refusal('UNAUTHENTICATED', { problem: 'metrics need the metricsToken' });
    }
    return reply.type(metrics.contentType).send(await metrics.metrics());
  });
}

/** Metrics show how much a person works, so they are open only on loopback, and elsewhere need the token. */
function mayReadMetrics(authorization: string | undefined, config: ServerConfig): boolean {
  const { metricsToken, host, publicOrigins } = config;
  if (metricsToken === undefined) return isLoopback(host) && publicOrigins.length === 0;
  const digest = (text: string) => Buffer.from(hash('sha256', text), 'hex');
  return timingSafeEqual(digest(bearerToken(authorization) ?? ''), digest(metricsToken));
}
