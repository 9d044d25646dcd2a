import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerConfig } from '../config.ts';
import { acceptedEncoding, type PageFile, PageFolder } from './page-folder.ts';
import { refuseOtherMethods } from './routing.ts';

/** Only resources from this server; no inline code or style, no frames, no forms (issue 5, UI-6). */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const pageHeaders = {
  'content-security-policy': pagePolicy,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

/**
 * Serves the files of the built web page, by exact name, without a token. The page keeps its own state after the `#`, so no
 * other paths are needed.
 */
export function registerWebPage(app: FastifyInstance, { webFolder, firstMessage }: ServerConfig): void {
  const page = new PageFolder(webFolder);

  const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    // The path is not decoded, so that an encoded slash, `..` or NUL matches no file.
    const [path = ''] = request.url.split('?', 1);
    const isIndex = path === '/' || path === '/index.html';
    const file = await page.find(isIndex ? '/index.html' : path);
    if (file) return sendFile(request, reply, file, isIndex);
    if (isIndex) return sendNotBuilt(reply);
    reply.callNotFound();
    return reply;
  };
  app.get('/page-settings.json', async () => ({ first_message: firstMessage ?? null }));
  app.route({ method: ['GET', 'HEAD'], url: '/', handler: serve });
  app.route({ method: ['GET', 'HEAD'], url: '/*', handler: serve });
  refuseOtherMethods(app, '/', ['GET', 'HEAD']);
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: PageFile,
  isIndex: boolean,
): Promise<FastifyReply> {
  reply.headers({
    ...pageHeaders,
    'content-type': file.type,
    'cache-control': isIndex
      ? 'no-store'
      : file.isHashed
        ? 'public, max-age=31536000, immutable'
        : 'no-cache',
  });
  if (!isIndex) {
    reply.header('etag', file.etag);
    if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  }
  const encoding = file.isText ? acceptedEncoding(request.headers['accept-encoding']) : undefined;
  if (file.isText) reply.header('vary', 'Accept-Encoding');
  if (encoding) reply.header('content-encoding', encoding);
  return reply.send(await file.bytes(encoding));
}

/** Without style sheets, because none is built. */
const notBuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Countersign: the page is not built yet</title>
<h1>The page is not built yet</h1>
<p>The server works, but there is no web page for it to show. In a checkout of Countersign run</p>
<pre>npm start</pre>
<p>which builds the page first, or build it alone:</p>
<pre>npx vite build apps/web</pre>
<p>Then reload this page. A page that was built elsewhere is named by COUNTERSIGN_WEB_FOLDER.</p>
</html>
`;

const sendNotBuilt = (reply: FastifyReply): FastifyReply =>
  reply
    .code(503)
    .headers({ ...pageHeaders, 'content-type': 'text/html; charset=utf-8' })
    .send(notBuilt);
