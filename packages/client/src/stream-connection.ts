import { timing } from '@countersign/protocol';
import { ApiError, readError } from './api-error.ts';
import { type Clock, Deadline } from './clock.ts';
import { type Connection, connectionFailure, sendAuthorised } from './connection.ts';
import { type SseFrame, SseParser } from './sse-parser.ts';

export interface StreamConnectionOptions {
  readonly connection: Connection;
  readonly path: () => string;
  readonly lastEventId: string | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onOpen: () => void;
  readonly onFrame: (frame: SseFrame) => void;
  readonly onRetryHint: (ms: number) => void;
}

/** After three missed heartbeats the connection counts as dead (EV-4). */
const silenceMs = 3 * timing.streamHeartbeatSeconds * 1000;

/** Opens one connection and reads it to its end. Returns why it ended; throws the signal's reason if that aborted. */
export async function listenOnce(options: StreamConnectionOptions): Promise<ApiError> {
  const { connection, clock, signal } = options;
  const watchdog = new Deadline(clock, silenceMs, silenceError, signal);
  try {
    const response = await sendAuthorised(connection, {
      method: 'GET',
      path: options.path(),
      headers: {
        accept: 'text/event-stream',
        ...(options.lastEventId !== undefined && { 'last-event-id': options.lastEventId }),
      },
      signal: watchdog.signal,
    });
    if (!response.ok) return await readError(response);
    return await readEvents(response, watchdog, options);
  } catch (failure) {
    signal.throwIfAborted();
    return failure instanceof ApiError ? failure : (connectionFailure(failure, watchdog.signal) as ApiError);
  } finally {
    watchdog.release();
  }
}

async function readEvents(
  response: Response,
  watchdog: Deadline,
  { signal, onOpen, onFrame, onRetryHint }: StreamConnectionOptions,
): Promise<ApiError> {
  const { body, status } = response;
  const type = response.headers.get('content-type') ?? 'nothing';
  if (body === null || !type.startsWith('text/event-stream')) {
    await body?.cancel();
    return new ApiError(status, 'INTERNAL', `The server answered with ${type} instead of an event stream.`);
  }

  onOpen();
  const parser = new SseParser();
  const reader = body.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      watchdog.extend();
      for (const frame of parser.push(read.value)) {
        onFrame(frame);
        signal.throwIfAborted(); // the listener may have closed the stream
      }
      if (parser.retryMs !== undefined) onRetryHint(parser.retryMs);
    }
  } finally {
    await reader.cancel().catch(() => {}); // a failure was reported above
  }
  return new ApiError(0, 'UNAVAILABLE', 'The server closed the stream. It is opened again.');
}

function silenceError(): ApiError {
  const message = `Nothing came for ${silenceMs / 1000} s. The stream is opened again.`;
  return new ApiError(0, 'REQUEST_TIMEOUT', message);
}
