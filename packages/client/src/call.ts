import { describeIssues, type Route } from '@countersign/protocol';
import type { z } from 'zod';
import { ApiError, readError } from './api-error.ts';
import { type Connection, noAnswer, send, sendAuthorised } from './connection.ts';
import { requestPath } from './request-path.ts';

/** A route that answers once, with a body of this schema. */
export type AnswerRoute = Route & { readonly response: z.ZodType };

export interface AnyInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** One request and its answer, parsed. Throws an ApiError, or the signal's reason when the caller aborted. */
export async function call(
  connection: Connection,
  route: AnswerRoute,
  input: AnyInput,
  signal: AbortSignal,
): Promise<unknown> {
  const takesBody = route.body !== undefined;
  const request = {
    method: route.method,
    path: requestPath(route.path, input.params, input.query),
    headers: takesBody ? { ...accept, 'content-type': 'application/json' } : accept,
    body: takesBody ? JSON.stringify(input.body ?? {}) : undefined,
    signal,
  };
  const response = await (route.scopes === 'public' ? send : sendAuthorised)(connection, request);
  return readAnswer(route, response, signal);
}

const accept = { accept: 'application/json' };

async function readAnswer(route: AnswerRoute, response: Response, signal: AbortSignal): Promise<unknown> {
  if (!response.ok) {
    const error = await readError(response);
    signal.throwIfAborted(); // an aborted body would parse as a wrong error
    throw error;
  }
  const text = await response.text().catch((cause: unknown) => {
    throw noAnswer(cause, signal);
  });
  const parsed = parseAnswer(route, text);
  if (parsed.ok) return parsed.answer;

  const what = `The server's answer to ${route.method} ${route.path} is not as agreed: ${parsed.problem}.`;
  throw new ApiError(response.status, 'INTERNAL', `${what} Client and server may differ in version.`);
}

function parseAnswer(
  route: AnswerRoute,
  text: string,
): { ok: true; answer: unknown } | { ok: false; problem: string } {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return { ok: false, problem: 'it is not JSON' };
  }
  const parsed = route.response.safeParse(answer);
  return parsed.success
    ? { ok: true, answer: parsed.data }
    : { ok: false, problem: describeIssues(parsed.error) };
}
