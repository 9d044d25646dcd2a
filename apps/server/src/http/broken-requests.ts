import type { Socket } from 'node:net';
import { describeError, type ErrorCode } from '@countersign/protocol';

/** Node's own limit for the head of a request. */
const MAX_HEADER_BYTES = 16 * 1024;

/** What is no HTTP, has a head that is too large, or does not arrive in time, is told so on the bare connection. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (socket.destroyed || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, reason, code, values } = describe(error.code);
  const body = JSON.stringify({ success: false, error: describeError(code, values).message, code });
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  else socket.destroy();
  // Whoever goes on sending is not listened to for long.
  setTimeout(() => socket.destroy(), 1_000).unref();
}

function describe(problem: string | undefined): {
  status: number;
  reason: string;
  code: ErrorCode;
  values: Record<string, string | number>;
} {
  switch (problem) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        status: 431,
        reason: 'Request Header Fields Too Large',
        code: 'BODY_TOO_LARGE',
        values: { limit: MAX_HEADER_BYTES },
      };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, reason: 'Request Timeout', code: 'REQUEST_TIMEOUT', values: {} };
    default:
      return {
        status: 400,
        reason: 'Bad Request',
        code: 'INVALID_BODY',
        values: { problem: 'it is not valid HTTP' },
      };
  }
}
