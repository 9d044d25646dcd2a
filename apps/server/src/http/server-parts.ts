import type { AgentRuns, Bus, Engine, RunnerBindings, Store } from '@countersign/engine';
import type { FastifyBaseLogger } from 'fastify';
import type { AuthenticatedCaller, Authenticator } from '../auth/authenticator.ts';
import type { SignInCodes } from '../auth/sign-in-codes.ts';
import type { TokenIssuer } from '../auth/token-issuer.ts';
import type { ServerConfig } from '../config.ts';

/** The parts of the server that handlers use. */
export interface ServerParts {
  readonly engine: Engine;
  readonly store: Store;
  readonly bus: Bus;
  readonly config: ServerConfig;
  readonly authenticator: Authenticator;
  readonly tokens: TokenIssuer;
  readonly bindings: RunnerBindings;
  readonly signInCodes: SignInCodes;
  readonly runs: Runs;
  readonly openStreams: Set<OpenConnection>;
  readonly log: FastifyBaseLogger;
}

/** An open stream, so that it can be ended when its token is revoked or the server stops. */
export interface OpenConnection {
  readonly caller: AuthenticatedCaller;
  readonly end: () => void;
}

/** The part of the agent that routes use (AG-1, AG-3). */
export type Runs = Pick<AgentRuns, 'start' | 'sendQueued' | 'stop' | 'get' | 'model'>;
