// @vitest-environment happy-dom
import { describe, expect, it, vi } from 'vitest';
import { deviceName, signIn, takeSignInCode, tokenIdOf, tokenStorage } from './sign-in.ts';
import { readFirstMessage } from './signed-in-page.tsx';

const memory = () => {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
};

const answer = (status: number, body: unknown) =>
  vi.fn(async () => new Response(JSON.stringify(body), { status })) as unknown as typeof fetch &
    ReturnType<typeof vi.fn>;

describe('[RE-5] the sign-in link', () => {
  it('gives its code once, and leaves nothing in the address bar', () => {
    const replaceState = vi.fn();
    const location = { hash: '#sign-in=abc', pathname: '/', search: '' };
    expect(takeSignInCode(location, { replaceState })).toBe('abc');
    expect(replaceState.mock.calls).toEqual([[null, '', '/']]);
  });

  it('any other address stays as it is', () => {
    const replaceState = vi.fn();
    expect(takeSignInCode({ hash: '#/chat/s1', pathname: '/', search: '' }, { replaceState })).toBeNull();
    expect(replaceState).not.toHaveBeenCalled();
  });

  it('is redeemed by POST, and the token is kept in origin-scoped storage', async () => {
    const storage = memory();
    const ask = answer(200, { success: true, token: 'the-token', expires_at: '2026-02-21T06:00:00Z' });
    expect(await signIn('a-code-of-sixteen', tokenStorage(storage), ask)).toBe('signed-in');
    expect(ask.mock.calls[0]?.[0]).toBe('/sign-in');
    expect(ask.mock.calls[0]?.[1]).toMatchObject({ method: 'POST', body: '{"code":"a-code-of-sixteen"}' });
    expect([...storage.kept]).toEqual([['countersign.token', 'the-token']]);
  });

  it('that was refused is distinguished from an unreachable server', async () => {
    const tokens = tokenStorage(memory());
    const refused = answer(401, { success: false, error: 'used', code: 'UNAUTHENTICATED' });
    expect(await signIn('used', tokens, refused)).toBe('refused');
    const gone = vi.fn(async () => {
      throw new TypeError('no');
    }) as unknown as typeof fetch;
    expect(await signIn('late', tokens, gone)).toBe('unreachable');
    expect(tokens.read()).toBeNull();
  });
});

describe('the token', () => {
  it('is kept, read and forgotten', () => {
    const tokens = tokenStorage(memory());
    tokens.keep('one');
    expect(tokens.read()).toBe('one');
    tokens.forget();
    expect(tokens.read()).toBeNull();
  });

  it('lasts as long as the page where storage is refused', () => {
    const refuse = () => {
      throw new Error('refused');
    };
    const tokens = tokenStorage({ getItem: refuse, setItem: refuse, removeItem: refuse });
    expect(tokens.read()).toBeNull();
    tokens.keep('one');
    expect(tokens.read()).toBe('one');
    tokens.forget();
    expect(tokens.read()).toBeNull();
  });
});

it('[AP-9] knows which token it is, as long as it is one of ours', () => {
  expect(tokenIdOf(`h.${btoa('{"jti":"a-1"}')}.s`)).toBe('a-1');
  for (const foreign of ['', 'opaque', `h.${btoa('{}')}.s`, `h.${btoa('3')}.s`])
    expect(tokenIdOf(foreign)).toBeUndefined();
});

describe('what the server suggests', () => {
  it.each([
    [200, { first_message: '/git_status' }, '/git_status'],
    [200, { first_message: null }, null],
    [200, 'nonsense', null],
    [404, {}, null],
  ])('%i %j', async (status, body, message) => {
    expect(await readFirstMessage(answer(status, body))).toBe(message);
  });

  it('is nothing when it cannot be asked', async () => {
    const gone = vi.fn(async () => {
      throw new TypeError('no');
    }) as unknown as typeof fetch;
    expect(await readFirstMessage(gone)).toBeNull();
  });
});

it.each([
  ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/156.0 Safari/537.36', 'Chrome on Linux'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 19_0) AppleWebKit/605 Version/19.0 Safari/604', 'Safari on iPhone'],
  ['Mozilla/5.0 (Windows NT 10.0) Gecko Firefox/150.0', 'Firefox on Windows'],
  ['something', 'browser'],
])('[AP-9] names this device for others: %s', (agent, name) => expect(deviceName(agent)).toBe(name));
