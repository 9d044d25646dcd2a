import { routes } from '@countersign/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sendRaw } from '../testing/raw-request.ts';
import { type Person, TestServer } from '../testing/test-server.ts';

let server: TestServer;
let ada: Person;
let port: string;

beforeAll(async () => {
  server = await TestServer.start({
    publicOrigins: ['https://countersign.example.org'],
    corsOrigins: ['https://dashboard.example.org'],
  });
  ada = await server.person('ada');
  port = new URL(server.address).port;
});
afterAll(() => server.close());

const fill = (text: string) => text.replace('PORT', port);

/** A POST that would work, but for the headers in question. */
async function post(headers: Record<string, string>): Promise<number | 'close'> {
  const body = '{"title":"x"}';
  const answered = await sendRaw(server.address, {
    method: 'POST',
    path: `/my/projects/${ada.projectId}/sessions`,
    headers: { Authorization: `Bearer ${ada.tokens.person}`, 'Content-Type': 'application/json', ...headers },
    body: [body],
    contentLength: body.length,
  });
  return answered.status;
}

describe('[RE-5] the Host of a request', () => {
  it.each([
    ['127.0.0.1:PORT', 200],
    ['localhost:PORT', 200],
    ['LOCALHOST:PORT', 200],
    ['[::1]:PORT', 200],
    ['countersign.example.org', 200],
    ['countersign.example.org:443', 403],
    ['countersign.example.org:PORT', 403],
    ['127.0.0.1', 403],
    ['127.0.0.1:1', 403],
    ['localhost', 403],
    ['rebound.example:PORT', 403],
    ['127.0.0.1.rebound.example:PORT', 403],
    ['dashboard.example.org', 403],
    ['evil@127.0.0.1:PORT', 403],
  ])('%s gets %i', async (host, status) => {
    expect(await post({ Host: fill(host) })).toBe(status);
  });

  it('is checked for reading as well, with or without a token', async () => {
    const ask = (path: string, headers: Record<string, string>) =>
      sendRaw(server.address, { method: 'GET', path, headers: { Host: 'rebound.example', ...headers } });
    const authorization = { Authorization: `Bearer ${ada.tokens.person}` };
    expect((await ask('/my/projects', authorization)).status).toBe(403);
    expect((await ask('/openapi.json', {})).status).toBe(403);
    expect((await ask('/metrics', {})).status).toBe(403);
    expect((await ask('/healthz', {})).status).toBe(200); // health probes name the IP address as host
  });
});

describe('[RE-5] a request that names two hosts', () => {
  const own = () => new URL(server.address).host;
  const get = async (path: string, host: string | readonly string[]) =>
    (
      await sendRaw(server.address, {
        method: 'GET',
        path,
        headers: { Host: host, Authorization: `Bearer ${ada.tokens.person}` },
      })
    ).status;

  it('in two headers is refused, whichever comes first', async () => {
    expect(await get('/my/projects', [own(), 'evil.example'])).toBe(403);
    expect(await get('/my/projects', ['evil.example', own()])).toBe(403);
    expect(await get('/my/projects', [own(), own()])).toBe(403);
  });

  it('in its address and its header is refused; one that names ours twice is accepted', async () => {
    expect(await get('http://evil.example/my/projects', own())).toBe(403);
    expect(await get(`http://${own()}/my/projects`, 'evil.example')).toBe(403);
    expect(await get(`http://${own()}/my/projects`, own())).toBe(200);
  });
});

it('[RE-4] an unknown method gets a clear error', async () => {
  const ask = async (method: string) =>
    (await sendRaw(server.address, { method, path: '/my/projects', headers: {} })).status;
  expect([await ask('QUERY'), await ask('PROPFIND'), await ask('PATCH')]).toEqual([415, 404, 405]);
});

describe('[RE-5] the Origin of a request', () => {
  it.each([
    ['http://127.0.0.1:PORT', 200],
    ['http://localhost:PORT', 200],
    ['https://countersign.example.org', 200],
    ['https://dashboard.example.org', 200],
    ['https://127.0.0.1:PORT', 403],
    ['http://127.0.0.1:3000', 403],
    ['http://127.0.0.1', 403],
    ['http://countersign.example.org', 403],
    ['https://countersign.example.org:8443', 403],
    ['https://countersign.example.org.evil.example', 403],
    ['null', 403],
    ['', 403],
  ])('%s gets %i', async (origin, status) => {
    expect(await post({ Origin: fill(origin) })).toBe(status);
  });
});

describe('[RE-5] the content type of a body', () => {
  it.each([
    ['application/json', 200],
    ['application/json; charset=utf-8', 200],
    ['APPLICATION/JSON', 200],
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['application/jsonp', 415],
    ['text/plain; application/json', 415],
    ['', 415],
  ])('%s gets %i', async (type, status) => {
    expect(await post({ 'Content-Type': type })).toBe(status);
  });
});

describe('[RE-5] a body without a declared type (founding documents: workflow)', () => {
  const authorization = () => ({ Authorization: `Bearer ${ada.tokens.person}` });
  const undeclared = async (
    headers: Record<string, string>,
    path = `/my/projects/${ada.projectId}/sessions`,
  ) =>
    (
      await sendRaw(server.address, {
        method: 'POST',
        path,
        headers,
        body: ['{"title":"x"}'],
        contentLength: 13,
      })
    ).status;

  it('is accepted from the sample client, which gives fetch a text and no Content-Type', async () => {
    const answered = await fetch(`${server.address}/my/projects/${ada.projectId}/sessions`, {
      method: 'POST',
      headers: authorization(),
      body: JSON.stringify({ title: 'from the sample client' }),
    });
    expect([answered.status, await answered.json()]).toMatchObject([
      200,
      { session: { title: 'from the sample client' } },
    ]);
  });

  it.each<[string, Record<string, string>, number]>([
    ['no type', {}, 200],
    ['no type, where no page is involved', { 'Sec-Fetch-Site': 'none' }, 200],
    ['the type that fetch adds', { 'Content-Type': 'text/plain;charset=UTF-8' }, 200],
    ['a page of ours', { Origin: 'http://127.0.0.1:PORT' }, 415],
    [
      'a text of a page of ours',
      { Origin: 'http://127.0.0.1:PORT', 'Content-Type': 'text/plain;charset=UTF-8' },
      415,
    ],
    ['a page that may call us', { Origin: 'https://dashboard.example.org' }, 415],
    ['a page of another site', { Origin: 'https://evil.example' }, 403],
    ['a page without an origin', { Origin: 'null' }, 403],
    ['a page of another site that hides its Origin', { 'Sec-Fetch-Site': 'cross-site' }, 415],
    ['a page of a neighbour that hides its Origin', { 'Sec-Fetch-Site': 'same-site' }, 415],
    ['a page of ours that hides its Origin', { 'Sec-Fetch-Site': 'same-origin' }, 415],
    ['a text in another encoding', { 'Content-Type': 'text/plain;charset=UTF-16' }, 415],
  ])('%s', async (_, headers, status) => {
    const filled = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)]));
    expect(await undeclared({ ...authorization(), ...filled })).toBe(status);
  });

  it('is read as JSON and as nothing else', async () => {
    const codeFor = async (body: string) => {
      const url = `${server.address}/my/projects/${ada.projectId}/sessions`;
      const answered = await fetch(url, { method: 'POST', headers: authorization(), body });
      return ((await answered.json()) as { code: string }).code;
    };
    expect(await codeFor('title=x')).toBe('INVALID_JSON');
    expect(await codeFor('{"__proto__": {"a": 1}}')).toBe('INVALID_JSON');
  });

  it('gets nothing without a bearer token that we gave: not with a cookie, and not to sign in', async () => {
    const code = new URL(server.running.signInLink() as string).hash.slice('#sign-in='.length);
    const { headers } = await server.send('POST', '/sign-in', { body: { code } });
    const cookie = (headers.get('set-cookie') as string).split(';')[0] as string;
    expect(await undeclared({ Cookie: cookie })).toBe(401);
    expect(await undeclared({ Authorization: 'Bearer made-up', Cookie: cookie })).toBe(401);
    expect(await undeclared({}, '/sign-in')).toBe(415);
    expect(await undeclared(authorization(), '/sign-in')).toBe(415);
  });
});

describe('[RE-5] other origins in a browser', () => {
  const preflight = (origin: string) =>
    server.send('OPTIONS', '/my/projects', { headers: { origin, 'access-control-request-method': 'POST' } });

  it('get nothing unless they are configured', async () => {
    const answered = await preflight('https://other.example');
    expect([answered.status, answered.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });

  it('may call with a bearer when they are, and never with a cookie', async () => {
    const { status, headers } = await preflight('https://dashboard.example.org');
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('https://dashboard.example.org');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    const allowed = headers.get('access-control-allow-methods')?.split(', ');
    expect(allowed).toEqual(expect.arrayContaining(Object.values(routes).map(({ method }) => method)));
  });
});

describe('[RE-5] the cookie', () => {
  async function signIn() {
    const code = new URL(server.running.signInLink() as string).hash.slice('#sign-in='.length);
    const answered = await server.send('POST', '/sign-in', { body: { code } });
    return {
      code,
      token: answered.body.token as string,
      cookie: answered.headers.get('set-cookie') as string,
    };
  }

  it('is for this site, not for scripts, and not for the whole site', async () => {
    const { cookie } = await signIn();
    expect(cookie).toMatch(/^countersign_stream=[\w.-]+; Path=\/my; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
  });

  it('comes for a code that works once', async () => {
    const { code } = await signIn();
    const again = await server.send('POST', '/sign-in', { body: { code } });
    expect([again.status, again.body.code]).toEqual([401, 'UNAUTHENTICATED']);
  });

  it('reads the streams and nothing else', async () => {
    const { cookie } = await signIn();
    const headers = { cookie: cookie.split(';')[0] as string };
    expect((await server.listen('/my/stream', { headers })).status).toBe(200);
    expect((await server.send('GET', '/my/projects', { headers })).status).toBe(401);
    expect((await server.send('GET', '/my/approvals', { headers })).status).toBe(401);
    expect((await server.send('POST', '/my/projects', { headers, body: { name: 'x' } })).status).toBe(401);
  });

  it('does not make its caller a runner', async () => {
    const { cookie } = await signIn();
    const headers = { cookie: cookie.split(';')[0] as string };
    expect((await server.listen('/my/stream?runner=r&workspace=/w', { headers })).status).toBe(403);
  });

  it.each(['cross-site', 'same-site'])('is not taken from a page that is %s', async (site) => {
    const { cookie } = await signIn();
    const headers = { cookie: cookie.split(';')[0] as string, 'sec-fetch-site': site };
    expect((await server.listen('/my/stream', { headers })).status).toBe(403);
  });

  it('is not accepted as a bearer token, nor a bearer token as a cookie', async () => {
    const { cookie, token } = await signIn();
    const value = /=([^;]+)/.exec(cookie)?.[1] as string;
    expect((await server.send('GET', '/my/projects', { token: value })).status).toBe(401);
    expect(
      (await server.listen('/my/stream', { headers: { cookie: `countersign_stream=${token}` } })).status,
    ).toBe(401);
    expect((await server.send('GET', '/my/projects', { token })).status).toBe(200);
  });
});

it('tells browsers to trust nothing in an answer', async () => {
  for (const path of ['/my/projects', '/nowhere', '/openapi.json']) {
    const { headers } = await server.send('GET', path);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
    });
  }
});

it('[RE-5] takes no token from the address', async () => {
  const { person } = ada.tokens;
  expect((await server.send('GET', `/my/projects?token=${person}&access_token=${person}`)).status).toBe(401);
});
