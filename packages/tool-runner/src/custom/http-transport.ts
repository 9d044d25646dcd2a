import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** Of one answer, which may be a stream that stays open. */
const RESPONSE_BYTES = 32 * 1024 * 1024;

/**
 * MCP over HTTP to the address that the person configured, and to no other: redirects that leave it fail, and its
 * headers go nowhere else. An answer without end is cut off.
 */
export function httpTransport(
  url: string,
  headers: Readonly<Record<string, string>>,
): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...headers } },
    redirectPolicy: 'same-origin',
    fetch: async (input, init) => bounded(await fetch(input, init)),
    reconnectionOptions: {
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: 30_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 5,
    },
  });
}

function bounded(response: Response): Response {
  if (!response.body) return response;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > RESPONSE_BYTES)
        controller.error(new Error(`it answered more than ${RESPONSE_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  const copy = new Response(response.body.pipeThrough(counted), { status, statusText, headers });
  // The transport looks at where an answer came from.
  Object.defineProperty(copy, 'url', { value: response.url });
  Object.defineProperty(copy, 'redirected', { value: response.redirected });
  return copy;
}
