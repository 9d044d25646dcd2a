/** Type tests: `tsc` checks them. Running the file only proves that it loads. */
import type { RouteName, routes } from '@countersign/protocol';
import { describe, expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { Client } from './client.ts';
import type { CallInput, CallName, CallResponse, InputOf, ParamName, RepeatableName } from './route-types.ts';

type Routes = typeof routes;

describe('the client is derived from the table', () => {
  it('has a method for each route that answers once, so that a new route has one at once', () => {
    expectTypeOf<Exclude<keyof Client, 'connection'>>().toEqualTypeOf<CallName>();
    expectTypeOf<Exclude<RouteName, CallName>>().toEqualTypeOf<'projectStream' | 'personStream'>();
  });

  it('makes the input of a route that somebody adds', () => {
    interface Added {
      readonly method: 'POST';
      readonly path: '/my/{kind}/things/{thing_id}';
      readonly summary: string;
      readonly scopes: 'public';
      readonly query: z.ZodObject<{ limit: z.ZodDefault<z.ZodCoercedNumber> }>;
      readonly body: z.ZodObject<{ name: z.ZodString }>;
      readonly response: z.ZodString;
    }
    expectTypeOf<InputOf<Added>['params']>().toEqualTypeOf<Record<'kind' | 'thing_id', string>>();
    expectTypeOf<InputOf<Added>['body']>().toEqualTypeOf<{ name: string }>();
    expectTypeOf<InputOf<Added>['query']>().toEqualTypeOf<{ limit?: number } | undefined>();
  });

  it('answers with what the schema gives, for every route', () => {
    expectTypeOf<{ [Name in CallName]: Awaited<ReturnType<Client[Name]>> }>().toEqualTypeOf<{
      [Name in CallName]: z.output<Routes[Name]['response']>;
    }>();
    expectTypeOf<CallResponse<'listApprovals'>['approvals'][number]['risk_level']>().toEqualTypeOf<
      'LOW' | 'MEDIUM' | 'HIGH'
    >();
  });

  it('asks for the names in the path', () => {
    expectTypeOf<ParamName<'/my/projects/{project_id}/tools/{tool_id}/result'>>().toEqualTypeOf<
      'project_id' | 'tool_id'
    >();
    expectTypeOf<ParamName<'/my/approvals'>>().toBeNever();
    expectTypeOf<CallInput<'approve'>['params']>().toEqualTypeOf<
      Record<'project_id' | 'approval_id', string>
    >();
  });
});

describe('a call site', () => {
  const use = (_: (client: Client) => unknown) => {};

  it('may leave out what is optional', () => {
    use((client) => [
      client.listApprovals(),
      client.history(),
      client.history({ query: { limit: 5 } }, { retry: { times: 2 } }),
      client.approve({ params: { project_id: 'p', approval_id: 'a' } }),
    ]);
  });

  it('may not be wrong', () => {
    use((client) => [
      // @ts-expect-error a parameter of the path is missing
      client.approve({ params: { project_id: 'p' } }),
      // @ts-expect-error a required body is missing
      client.putPolicy(),
      // @ts-expect-error a value has the wrong type
      client.history({ query: { limit: 'many' } }),
      // @ts-expect-error the route takes no body
      client.listApprovals({ body: {} }),
      // @ts-expect-error a message sent twice would be two
      client.sendMessage({ params: { project_id: 'p' }, body: { content: '' } }, { retry: { times: 1 } }),
      // @ts-expect-error streams are opened with openStream
      client.personStream,
    ]);
  });

  it('may ask for retries only where repeating is harmless', () => {
    type Once = 'sendMessage' | 'executeTool' | 'startExecution' | 'submitProgress' | 'createToken';
    expectTypeOf<Extract<Once, RepeatableName>>().toBeNever();
    expectTypeOf<'submitResult' | 'approve' | 'history' | 'putPolicy'>().toExtend<RepeatableName>();
  });
});
