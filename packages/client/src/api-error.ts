import { type ErrorCode, errorBodySchema } from '@countersign/protocol';
import type { z } from 'zod';

type ErrorBody = z.infer<typeof errorBodySchema>;

export interface ApiErrorDetails {
  readonly standing?: ErrorBody['standing'];
  readonly toolId?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly hasUnknownCode?: boolean;
  readonly cause?: unknown;
}

/** The error of every failed call. Only a call that its caller aborted throws the signal's reason instead. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status; 0 if there was no response. */
  readonly status: number;
  readonly code: ErrorCode;
  /** The earlier decision, if the code is ALREADY_DECIDED (AP-2). */
  readonly standing: ErrorBody['standing'];
  /** Id of the call that was recorded and refused (EX-1). */
  readonly toolId: string | undefined;
  /** Search the server's log for this id. */
  readonly requestId: string | undefined;
  /** From the server's Retry-After header. */
  readonly retryAfterMs: number | undefined;
  /** True if the server sent a code that this client does not know, because the server is newer. */
  readonly hasUnknownCode: boolean;

  constructor(status: number, code: ErrorCode, message: string, details: ApiErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.status = status;
    this.code = code;
    this.standing = details.standing;
    this.toolId = details.toolId;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
    this.hasUnknownCode = details.hasUnknownCode ?? false;
  }

  /** Whether repeating the same request later may succeed: there was no response, or the server asked to wait. */
  get isRetryable(): boolean {
    return this.status === 0 || this.status >= 500 || retryableStatuses.has(this.status);
  }

  /** Whether the connection broke before the response arrived. */
  get isInterrupted(): boolean {
    for (let cause = this.cause; cause instanceof Error; cause = cause.cause)
      if ('code' in cause && brokenConnection.has(cause.code)) return true;
    return false;
  }
}

/** Node's codes for an established connection that broke. Browsers have none; they repeat GET requests themselves. */
const brokenConnection: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

const retryableStatuses: ReadonlySet<number> = new Set([408, 425, 429]);

/** Reads a response that is not 200. A proxy's error page or an unknown code also becomes an ApiError. */
export async function readError(response: Response): Promise<ApiError> {
  const { status } = response;
  const body: unknown = await response.json().catch(() => undefined);
  const retryAfterMs = readRetryAfter(response.headers.get('retry-after'));

  const known = errorBodySchema.safeParse(body);
  if (known.success) {
    const { code, error, standing, tool_id: toolId, request_id: requestId } = known.data;
    return new ApiError(status, code, error, { standing, toolId, requestId, retryAfterMs });
  }
  const newer = errorBodySchema.pick({ success: true, error: true }).safeParse(body);
  const message = newer.success ? newer.data.error : `The server answered with status ${status}.`;
  const code = codesByStatus[status] ?? 'INTERNAL';
  return new ApiError(status, code, message, { retryAfterMs, hasUnknownCode: newer.success });
}

/** Our server sends seconds. A proxy may send a date, which we ignore: the caller's own backoff applies. */
function readRetryAfter(header: string | null): number | undefined {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined;
}

const codesByStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_BODY',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'REQUEST_TIMEOUT',
  413: 'BODY_TOO_LARGE',
  429: 'RATE_LIMITED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
};

/** A message for anything that was thrown. Node's fetch only says "fetch failed"; its cause has the reason. */
export function describeFailure(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  const cause = failure.cause instanceof Error ? describeFailure(failure.cause) : '';
  return cause === '' ? failure.message : `${failure.message} (${cause})`;
}
