import type { FastifyReply, FastifyRequest } from 'fastify';

/** As long as this a client may go on sending what nobody reads. */
const DRAIN_MS = 5_000;

/**
 * Answers a body that is too large at once, and throws away what still comes: closing while the client sends would
 * reset the connection, and the client would see that instead of the answer.
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
