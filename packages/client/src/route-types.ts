/** Input and output types of each route, derived from the protocol's table. */
import type { Route, RouteName, routes } from '@countersign/protocol';
import type { z } from 'zod';

type Routes = typeof routes;

/** Routes with a single response. Use `openStream` for the streams. */
export type CallName = {
  [Name in RouteName]: Routes[Name]['response'] extends 'stream' ? never : Name;
}[RouteName];

export type CallResponse<Name extends CallName> = Routes[Name]['response'] extends infer Schema extends
  z.ZodType
  ? z.output<Schema>
  : never;

/** Routes that may be retried: all except a POST that is not marked `repeatable` in the table. */
export type RepeatableName = {
  [Name in CallName]: Routes[Name] extends { readonly method: 'POST'; readonly repeatable?: never }
    ? never
    : Name;
}[CallName];

/** `{ params, query, body }`: each part only if the route has it, and optional if all of its fields are. */
export type CallInput<Name extends CallName> = InputOf<Routes[Name]>;

export type InputOf<R extends Route> = Part<'params', Record<ParamName<R['path']>, string>> &
  Part<'query', R extends { query: infer Query extends z.ZodType } ? QueryInput<Query> : unknown> &
  Part<'body', R extends { body: infer Body extends z.ZodType } ? z.input<Body> : unknown>;

/** Names inside `{…}`. */
export type ParamName<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamName<Rest>
  : never;

/**
 * Keys are optional as in the schema's input, values typed as in its output: the input of `z.coerce.number()` is
 * unknown.
 */
type QueryInput<Query extends z.ZodType> = {
  [Key in keyof z.input<Query>]: Key extends keyof z.output<Query> ? z.output<Query>[Key] : never;
};

type Part<Key extends string, Value> = unknown extends Value
  ? { readonly [K in Key]?: never }
  : [keyof Value] extends [never]
    ? { readonly [K in Key]?: never }
    : Partial<Value> extends Value
      ? { readonly [K in Key]?: Value }
      : { readonly [K in Key]: Value };
