import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Refusal, StorageFull } from '@countersign/engine';
import {
  CountersignError,
  describeError,
  type ErrorCode,
  type errorBodySchema,
  errorCodes,
} from '@countersign/protocol';
import { isConnectionLoss } from '@countersign/store';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

export type ErrorBody = z.infer<typeof errorBodySchema>;

/** The call was recorded and refused. The response has its id beside the error (EX-1). */
export class RefusedCall extends Error {
  override readonly name = 'RefusedCall';
  readonly code: ErrorCode;
  readonly toolId: string;

  constructor(toolId: string, { code, message }: { code: ErrorCode; message: string }) {
    super(message);
    this.code = code;
    this.toolId = toolId;
  }
}

/** Too many requests. The client may try again after `seconds`. */
export class RateLimited extends Refusal {
  readonly seconds: number;

  constructor(seconds: number) {
    super('RATE_LIMITED', { seconds });
    this.seconds = seconds;
  }
}

/** Too many writes are waiting for their commit, so new work is refused. */
export class Overloaded extends Refusal {
  readonly seconds = 1;

  constructor() {
    super('UNAVAILABLE', { problem: 'it has more to do than it can' });
  }
}

export interface ErrorAnswer {
  readonly status: number;
  readonly body: ErrorBody;
  readonly headers?: Readonly<Record<string, string>>;
  /** True for an internal error, which must be logged. */
  readonly unexpected?: boolean;
}

/** Turns any error into `{success: false, error, code, …}` with the status of its code (RE-3). */
export function toAnswer(error: unknown, requestId: string): ErrorAnswer {
  if (error instanceof RateLimited || error instanceof Overloaded) {
    return { ...answer(error.code, error.message), headers: { 'retry-after': String(error.seconds) } };
  }
  if (error instanceof Refusal) {
    const { standing } = error;
    const more = standing && { standing: standing as NonNullable<ErrorBody['standing']> };
    const headers = error.code === 'UNAUTHENTICATED' ? { 'www-authenticate': 'Bearer' } : undefined;
    return { ...answer(error.code, error.message, more), ...(headers && { headers }) };
  }
  if (error instanceof RefusedCall) return answer(error.code, error.message, { tool_id: error.toolId });
  if (error instanceof StorageFull) {
    // Do not log each request: the full disk was logged once, when it was detected.
    return { ...answer(error.code, error.message), headers: { 'retry-after': '5' } };
  }
  if (error instanceof CountersignError) {
    const response = answer(error.code, error.message, { request_id: requestId });
    return { ...response, unexpected: response.status >= 500 };
  }
  if (isAborted(error)) return refuse('INVALID_BODY', { problem: 'it did not come to its end' });
  if (isConnectionLoss(error)) return databaseGone;
  return fromFramework(error as Partial<FastifyError>) ?? internal(requestId);
}

export function sendAnswer(reply: FastifyReply, { status, body, headers }: ErrorAnswer): FastifyReply {
  if (headers) reply.headers(headers);
  return reply.code(status).send(body);
}

export function answer(code: ErrorCode, message: string, more: Partial<ErrorBody> = {}): ErrorAnswer {
  return { status: errorCodes[code].status, body: { success: false, error: message, code, ...more } };
}

const refuse = (code: ErrorCode, values: Record<string, string | number> = {}): ErrorAnswer =>
  answer(code, describeError(code, values).message);

/** Errors that Fastify throws before a handler runs. */
function fromFramework(error: Partial<FastifyError>): ErrorAnswer | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return refuse('BODY_TOO_LARGE', { limit: bodyLimitOf(error) });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      return refuse('UNSUPPORTED_MEDIA_TYPE');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return refuse('INVALID_BODY', { problem: 'it is not as long as its Content-Length says' });
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return refuse('INVALID_JSON', { problem: 'it does not parse' });
    case 'FST_ERR_BAD_URL':
      return refuse('NOT_FOUND', { what: 'address' });
    default:
      // From JSON.parse, or the content type parser's check for prototype keys.
      return error instanceof SyntaxError && (error as Partial<FastifyError>).statusCode === 400
        ? refuse('INVALID_JSON', { problem: 'it does not parse, or has a key that is not accepted' })
        : undefined;
  }
}

/** True if the client disconnected in the middle of its request, which is not our failure. */
const isAborted = (error: unknown): boolean =>
  error instanceof Error && error.message === 'aborted' && (error as FastifyError).statusCode === 400;

/** For a lost connection before the commit: nothing was written. A commit with an unknown outcome is another error. */
const databaseGone: ErrorAnswer = {
  ...refuse('UNAVAILABLE', { problem: 'the database does not answer' }),
  headers: { 'retry-after': '1' },
  unexpected: true,
};

const limits = new WeakMap<object, number>();
const bodyLimitOf = (error: object): number => limits.get(error) ?? 0;
/** Remembers the body limit of the route, because Fastify's error does not have it. */
export function noteBodyLimit(error: unknown, request: FastifyRequest): void {
  if (typeof error === 'object' && error !== null) limits.set(error, request.routeOptions.bodyLimit);
}

function internal(request_id: string): ErrorAnswer {
  const { message } = describeError('INTERNAL', { request_id });
  return { ...answer('INTERNAL', message, { request_id }), unexpected: true };
}

/** How long a client may continue to send a refused body. */
const DRAIN_MS = 5_000;

/**
 * Responds at once to a body that is too large, and discards the rest of it. Closing the connection while the client sends
 * would reset it, and the client would not see the response.
 */
export function drainBeforeClosing(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, body }: { readonly status: number; readonly body: object },
): FastifyReply {
  reply.hijack();
  const { raw } = reply;
  const text = JSON.stringify(body);
  raw.writeHead(status, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    connection: 'close',
  });
  raw.write(text);
  const close = () => {
    clearTimeout(timer);
    raw.end();
  };
  const timer = setTimeout(close, DRAIN_MS);
  timer.unref();
  request.raw.once('end', close).once('close', close).resume();
  return reply;
}

/** The same as `maxHeaderSize` in create-server.ts. */
const MAX_HEADER_BYTES = 16 * 1024;

/** Responds on the raw connection if a request is not HTTP, has too large a head, or does not arrive in time. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (socket.destroyed || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, code, values } = describe(error.code);
  const body = JSON.stringify({ success: false, error: describeError(code, values).message, code });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  else socket.destroy();
  // Close even if the client continues to send.
  setTimeout(() => socket.destroy(), 1_000).unref();
}

function describe(problem: string | undefined): {
  status: number;
  code: ErrorCode;
  values: Record<string, string | number>;
} {
  switch (problem) {
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, code: 'BODY_TOO_LARGE', values: { limit: MAX_HEADER_BYTES } };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, code: 'REQUEST_TIMEOUT', values: {} };
    default:
      return { status: 400, code: 'INVALID_BODY', values: { problem: 'it is not valid HTTP' } };
  }
}
