import { createHmac } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import {
  type AgentRuns,
  type Bus,
  Engine,
  type FaultPoints,
  type RunObserver,
  StorageFull,
  type Store,
  systemClock,
} from '@countersign/engine';
import { SecretMasker } from '@countersign/policy';
import { limitsOfOperator } from '@countersign/protocol';
import {
  type DatabaseStore,
  InProcessBus,
  openPostgresStore,
  openSqliteStore,
  PostgresBus,
  StorageHealth,
} from '@countersign/store';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { startAgent } from './agent/start-agent.ts';
import { serverSecret } from './auth/server-secret.ts';
import { SignInCodes } from './auth/sign-in-codes.ts';
import { isLoopback, isPostgres, type ServerConfig, secretSettings } from './config.ts';
import { createServer } from './http/create-server.ts';
import type { Runs } from './http/server-parts.ts';
import { keptPolicyFile } from './kept-policy-file.ts';
import { CallLog, watchCalls } from './observability/call-watcher.ts';
import { createLogger } from './observability/logger.ts';
import { Metrics } from './observability/metrics.ts';
import { Spans } from './observability/spans.ts';
import { killableBus } from './test-kill.ts';

/** The parts that `startAgent` needs. */
export interface AgentParts extends FaultPoints {
  readonly engine: Engine;
  readonly store: Store;
  readonly bus: Bus;
  readonly config: ServerConfig;
  readonly logger: Logger;
  readonly observer: RunObserver;
}

export type Agent = Runs & Pick<AgentRuns, 'close'>;

export interface ServeOptions extends FaultPoints {
  readonly logger?: Logger;
  /** For tests: replaces the configured agent. Its `close` is awaited before the engine is closed. */
  readonly agent?: ((parts: AgentParts) => Promise<Agent>) | undefined;
}

export interface RunningServer {
  /** `http://127.0.0.1:4180` */
  readonly address: string;
  readonly app: FastifyInstance;
  readonly engine: Engine;
  readonly store: Store;
  readonly bus: Bus;
  /** A link that signs the local person in, once, within 60 s. Undefined unless the server is on loopback. */
  signInLink(): string | undefined;
  /** Stops accepting requests, ends the streams, lets running requests finish, and leaves open calls open. */
  close(): Promise<void>;
}

/** Opens the store, starts the engine and listens. */
export async function serve(config: ServerConfig, options: ServeOptions = {}): Promise<RunningServer> {
  const { logger = createLogger(config.logLevel), reached } = options;
  let storage: StorageHealth | undefined;
  const onError = (error: unknown): void => {
    // `storage` logs a full disk once, instead of each failure.
    if (error instanceof StorageFull) storage?.failed(error);
    else logger.error({ err: error }, 'background task failed');
  };
  const secret = serverSecret(config);
  const masker = new SecretMasker({
    known: [...secretSettings]
      .map((name) => config[name] as string | undefined)
      .filter((known) => known !== undefined),
    digest: keyedDigest(secret),
  });
  const metrics = new Metrics();
  const spans = new Spans();
  const observers = [metrics, spans, new CallLog(logger, masker)];
  const opened = await openStore(
    config,
    (plain) => killableBus(watchCalls(plain, observers, onError), reached),
    onError,
  );
  const { store, bus } = opened;
  storage = new StorageHealth(store, {
    path: isPostgres(config.database) || config.database === ':memory:' ? undefined : config.database,
    onFull: (problem) => logger.error({ err: problem }, 'storage full: nothing can be saved'),
    onRoom: () => logger.info('storage has room again'),
  });
  const keyCheck = createHmac('sha256', secret).update('which secret a node signs with').digest('base64url');
  const engine = new Engine({
    store,
    bus,
    clock: systemClock,
    masker,
    limits: limitsOfOperator(config),
    policyFile: keptPolicyFile(config),
    nodeName: `${hostname()}/${process.pid}`,
    keyCheck,
    onError,
    reached,
  });
  metrics.watch(engine, store);
  const parts: AgentParts = { engine, store, bus, config, logger, observer: spans, reached };
  let agent: Agent | undefined;
  let app: FastifyInstance | undefined;
  let stopSweeping: (() => void) | undefined;
  let endUnused = () => {};

  const close = async (): Promise<void> => {
    await closeServer(app, endUnused, config.shutdownSeconds * 1000);
    await agent?.close();
    await engine.leave().catch(onError);
    engine.close();
    stopSweeping?.();
    storage?.stop();
    await opened.close();
  };
  try {
    await engine.start();
    stopSweeping = sweepRegularly(store, config, onError);
    agent = await (options.agent ?? startAgent)(parts);
    const signInCodes = new SignInCodes(secret, config.user);
    app = await createServer({ ...parts, secret, signInCodes, metrics, storage, runs: agent });
    endUnused = trackUnusedConnections(app.server);
    const address = await app.listen({ host: config.host, port: config.port });
    logger.info({ address }, 'listening');
    let closing: Promise<void> | undefined;
    return {
      address,
      app,
      engine,
      store,
      bus,
      signInLink: () => (isLoopback(config.host) ? `${address}/#sign-in=${signInCodes.create()}` : undefined),
      close: () => (closing ??= close()),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Lets running requests finish within the timeout, then ends their connections. */
async function closeServer(
  app: FastifyInstance | undefined,
  endUnused: () => void,
  timeoutMs: number,
): Promise<void> {
  if (!app) return;
  // Clients keep connections open after a request, so close idle ones repeatedly.
  const idle = setInterval(() => {
    app.server.closeIdleConnections();
    endUnused();
  }, 20);
  const late = setTimeout(() => app.server.closeAllConnections(), timeoutMs);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(late);
  }
}

/**
 * Tracks connections that have had no request, such as those that a client opens in advance. Node does not count them as
 * idle, so a stopping server would wait for their timeout. Returns a function that ends them.
 */
function trackUnusedConnections(server: Server): () => void {
  const unused = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage) => unused.delete(socket));
  return () => {
    for (const socket of unused) socket.destroy();
  };
}

interface OpenedStore {
  readonly store: DatabaseStore;
  readonly bus: Bus;
  close(): Promise<void>;
}

async function openStore(
  { database }: ServerConfig,
  watch: (bus: Bus) => Bus,
  onTrouble: (error: unknown) => void,
): Promise<OpenedStore> {
  if (!isPostgres(database)) {
    if (database !== ':memory:') mkdirSync(dirname(database), { recursive: true, mode: 0o700 });
    const bus = watch(new InProcessBus());
    const store = await openSqliteStore({ path: database, bus, onError: onTrouble });
    return { store, bus, close: () => store.close() };
  }
  const postgresBus = await PostgresBus.open({ url: database, onTrouble });
  const bus = watch(postgresBus);
  try {
    const store = await openPostgresStore({ url: database, bus, onError: onTrouble });
    return { store, bus, close: () => store.close().finally(() => postgresBus.close()) };
  } catch (error) {
    await postgresBus.close();
    throw error;
  }
}

/** Deletes expired rows at the start and then hourly (DA-3, EV-2). Returns a stop function. */
function sweepRegularly(
  store: DatabaseStore,
  config: ServerConfig,
  onError: (error: unknown) => void,
): () => void {
  const payloadsMs = config.payloadDays * 24 * 3600 * 1000;
  const sweep = () => void store.sweep({ now: store.now(), payloadsMs }).catch(onError);
  sweep();
  const timer = setInterval(sweep, 3600 * 1000);
  timer.unref();
  return () => clearInterval(timer);
}

function keyedDigest(secret: Uint8Array): (text: string) => string {
  const key = createHmac('sha256', secret).update('digests of masked contents').digest();
  return (text) => createHmac('sha256', key).update(text).digest('hex').slice(0, 16);
}
