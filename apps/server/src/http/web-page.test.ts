import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendRaw } from '../testing/raw-request.ts';
import { TestServer } from '../testing/test-server.ts';

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const index = '<!doctype html><script type="module" src="/assets/app-Dk3_x9-Q.js"></script>';
const script = 'console.log("one page");\n'.repeat(400);

let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-page-'));
  const page = join(folder, 'page');
  mkdirSync(join(page, 'assets', '.hidden'), { recursive: true });
  const files = {
    'index.html': index,
    'assets/app-Dk3_x9-Q.js': script,
    'assets/.hidden/a.js': 'hidden',
    'assets/plain.css': 'body {}',
    'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'icon.png': 'not really a picture',
    '.env': 'SECRET=1',
    'program.sh': 'echo no',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(page, name), text);
  writeFileSync(join(folder, 'outside.js'), 'outside');
  symlinkSync(join(folder, 'outside.js'), join(page, 'link.js'));
  symlinkSync(folder, join(page, 'up'));
  server = await TestServer.start({ webFolder: page, firstMessage: '/read_file path=README.md' });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const raw = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  sendRaw(server.address, { method, path, headers: { connection: 'close', ...headers } });

describe('the web page', () => {
  it('[UI-1] is there without a token, under a strict policy, and is never kept', async () => {
    for (const path of ['/', '/index.html', '/?from=mail']) {
      const { status, text, headers } = await server.send('GET', path);
      expect([status, text]).toEqual([200, index]);
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      });
    }
  });

  it.each([
    ['/assets/app-Dk3_x9-Q.js', 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
    ['/assets/plain.css', 'text/css; charset=utf-8', 'no-cache'],
    ['/icon.svg', 'image/svg+xml', 'no-cache'],
    ['/icon.png', 'image/png', 'no-cache'],
  ])('keeps %s as %s: %s', async (path, type, caching) => {
    const { status, headers } = await server.send('GET', path);
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([200, type, caching]);
    const etag = headers.get('etag') as string;
    const again = await server.send('GET', path, { headers: { 'if-none-match': etag } });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('is compressed as the browser takes it', async () => {
    const fetched = async (accept: string) => {
      const { head, text } = await sendRaw(server.address, {
        method: 'HEAD',
        path: '/assets/app-Dk3_x9-Q.js',
        headers: { 'accept-encoding': accept, connection: 'close' },
      });
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
      return { encoding: /content-encoding: (\w+)/i.exec(head)?.[1], length, text };
    };
    const plain = await fetched('identity');
    expect(plain).toEqual({ encoding: undefined, length: script.length, text: '' });
    for (const [accept, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip;q=1, br;q=0', 'gzip'],
      ['GZIP', 'gzip'],
    ] as const) {
      const { length, ...answer } = await fetched(accept);
      expect(answer).toEqual({ encoding, text: '' });
      expect(length).toBeLessThan(script.length / 10);
    }
    // Compare the raw bytes of the response.
    for (const [accept, decode] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const response = await server.running.app.inject({
        url: '/assets/app-Dk3_x9-Q.js',
        headers: { host: new URL(server.address).host, 'accept-encoding': accept },
      });
      expect(response.headers.vary).toBe('Accept-Encoding');
      expect(decode(response.rawPayload).toString()).toBe(script);
    }
    expect((await server.send('GET', '/icon.png')).headers.get('content-encoding')).toBe(null);
  });

  it.each([
    '/.env',
    '/assets/.hidden/a.js',
    '/program.sh',
    '/link.js',
    '/up/outside.js',
    '/../outside.js',
    '/assets/../../outside.js',
    '/assets/..%2f..%2foutside.js',
    '/%2e%2e/outside.js',
    '/..%5coutside.js',
    '/assets%2fplain.css',
    '/assets/plain.css%00.js',
    '/assets/plain.css/',
    '//assets/plain.css',
    '/assets//plain.css',
    '/assets',
    '/assets/',
    '/%',
    '/ASSETS/plain.css',
    '/some/page/of/nobody',
  ])('has nothing at %s', async (path) => {
    const { status, text } = await raw(path);
    expect([status, JSON.parse(text)]).toMatchObject([404, { success: false, code: 'NOT_FOUND' }]);
  });

  it('answers HEAD with the same head, and refuses other methods', async () => {
    const [head, get] = [await raw('/', {}, 'HEAD'), await raw('/')];
    const withoutDate = (text: string) => text.replace(/date: .*\r\n/i, '');
    expect(withoutDate(head.head)).toBe(withoutDate(get.head));
    expect(head.text).toBe('');
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await raw('/', {}, method);
      expect([answer.status, /^allow: (.*)$/im.exec(answer.head)?.[1]]).toEqual([405, 'GET, HEAD']);
    }
    expect((await raw('/assets/plain.css', {}, 'POST')).status).toBe(404);
  });

  it('[RE-5] is for our own host and origin only', async () => {
    expect((await raw('/', { host: 'evil.example' })).status).toBe(403);
    expect((await raw('/assets/plain.css', { origin: 'https://evil.example' })).status).toBe(403);
  });

  it('leaves every other address as it was', async () => {
    const answers = await Promise.all(
      ['/my/projects', '/my/nothing', '/healthz', '/openapi.json'].map((path) => server.send('GET', path)),
    );
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 200, 200]);
  });

  it('tells the page what to suggest first', async () => {
    const { body, headers } = await server.send('GET', '/page-settings.json');
    expect(body).toEqual({ first_message: '/read_file path=README.md' });
    expect(headers.get('cache-control')).toBe('no-store');
  });
});

describe('a page that is not there', () => {
  it('says how to build the page, and serves it once it was built or rebuilt', async () => {
    const page = join(folder, 'later');
    const later = await TestServer.start({ webFolder: page });
    try {
      const missing = await later.send('GET', '/');
      expect([missing.status, missing.headers.get('content-security-policy')]).toEqual([503, policy]);
      expect(missing.text).toContain('npx vite build apps/web');
      expect((await later.send('GET', '/assets/a.js')).status).toBe(404);
      expect((await later.send('GET', '/page-settings.json')).body).toEqual({ first_message: null });

      mkdirSync(page);
      writeFileSync(join(page, 'index.html'), 'first');
      expect(await later.send('GET', '/')).toMatchObject({ status: 200, text: 'first' });
      writeFileSync(join(page, 'index.html'), 'other');
      writeFileSync(join(page, 'new.js'), 'new');
      utimesSync(join(page, 'index.html'), 1, 1);
      expect((await later.send('GET', '/')).text).toBe('other');
      expect((await later.send('GET', '/new.js')).text).toBe('new');
    } finally {
      await later.close();
    }
  });
});
