import type { AgentRuns, Bus, Engine, RunnerBindings, Store } from '@countersign/engine';
import type { FastifyBaseLogger } from 'fastify';
import type { AuthenticatedCaller, Authenticator } from '../auth/authenticator.ts';
import type { SignInCodes } from '../auth/sign-in-codes.ts';
import type { TokenIssuer } from '../auth/token-issuer.ts';
import type { ServerConfig } from '../config.ts';

/** What the handlers work with. */
export interface ServerParts {
  readonly engine: Engine;
  readonly store: Store;
  readonly bus: Bus;
  readonly config: ServerConfig;
  readonly authenticator: Authenticator;
  readonly tokens: TokenIssuer;
  readonly bindings: RunnerBindings;
  readonly signInCodes: SignInCodes;
  /** Undefined: no agent is configured. */
  readonly runs: Runs | undefined;
  readonly openStreams: Set<OpenConnection>;
  readonly log: FastifyBaseLogger;
}

/** An open stream, so that it can be ended when its token is revoked or the server stops. */
export interface OpenConnection {
  readonly caller: AuthenticatedCaller;
  readonly end: () => void;
}

/** The agent, as the routes see it (AG-1, AG-3). */
export type Runs = Pick<AgentRuns, 'start' | 'stop' | 'get' | 'model'>;
