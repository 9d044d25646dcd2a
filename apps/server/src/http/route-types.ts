import type { Route, RouteName, routes } from '@countersign/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { AuthenticatedCaller } from '../auth/authenticator.ts';

type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never;
type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
type Part<R, Name extends string> = R extends { readonly [K in Name]: infer Schema } ? Schema : undefined;

/** The parsed request that a handler gets. */
export interface Input<R extends Route> {
  readonly caller: R['scopes'] extends 'public' ? undefined : AuthenticatedCaller;
  readonly params: { readonly [Name in ParamNames<R['path']>]: string };
  readonly query: Parsed<Part<R, 'query'>>;
  readonly body: Parsed<Part<R, 'body'>>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** What a handler returns: the body of the 200, or undefined for a stream, whose handler takes over the reply. */
export type Answer<R extends Route> = R['response'] extends z.ZodType ? z.input<R['response']> : undefined;

export type Handler<R extends Route> = (input: Input<R>) => Promise<Answer<R>>;

/** One handler for each route of the protocol's table. A missing handler is a compile error. */
export type Handlers = { readonly [Name in RouteName]: Handler<(typeof routes)[Name]> };
