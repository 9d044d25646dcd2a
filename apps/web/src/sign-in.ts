import { ApiError, type Client, createClient } from '@countersign/client';

const prefix = '#sign-in=';

/** Removes the one-time code from the address bar, before anything else can read or store it. */
export function takeSignInCode(
  location: Pick<Location, 'hash' | 'pathname' | 'search'>,
  history: Pick<History, 'replaceState'>,
): string | null {
  if (!location.hash.startsWith(prefix)) return null;
  const code = location.hash.slice(prefix.length);
  history.replaceState(null, '', `${location.pathname}${location.search}`);
  return code;
}

export type SignInOutcome = 'signed-in' | 'refused' | 'token-refused' | 'unreachable';

/** Stores a pasted token if the server accepts it. For servers that other machines can reach: they print no link. */
export async function signInWithToken(
  token: string,
  tokens: TokenStorage,
  fetchWith?: typeof fetch,
): Promise<SignInOutcome> {
  const client = createClient({ baseUrl: '', token: () => token, fetch: fetchWith });
  try {
    await client.listProjects();
    tokens.keep(token);
    return 'signed-in';
  } catch (error) {
    const isRefused = error instanceof ApiError && error.status >= 400 && error.status < 500;
    return isRefused ? 'token-refused' : 'unreachable';
  }
}

/** Exchanges the code for a token and stores it. A code works once, so this is never retried automatically. */
export async function signIn(
  code: string,
  tokens: TokenStorage,
  fetchWith?: typeof fetch,
): Promise<SignInOutcome> {
  const client = createClient({ baseUrl: '', token: () => '', fetch: fetchWith });
  try {
    const { token } = await client.signIn({ body: { code } });
    tokens.keep(token);
    return 'signed-in';
  } catch (error) {
    return error instanceof ApiError && error.status === 0 ? 'unreachable' : 'refused';
  }
}

/** How long signing out waits for the server. The browser forgets the token in any case. */
const timeoutMs = 3_000;

/** Revokes this browser's token if the server can be reached, so that a copy of the token is useless. */
export async function signOut(client: Pick<Client, 'revokeToken'>, tokens: TokenStorage): Promise<void> {
  const tokenId = tokenIdOf(tokens.read() ?? '');
  if (tokenId === undefined) return;
  await client.revokeToken({ params: { token_id: tokenId } }, { timeoutMs }).catch(() => {});
}

/** Reads the id of a token from its claims. Returns undefined for a token of another format. */
export function tokenIdOf(token: string): string | undefined {
  try {
    const payload = token.split('.')[1] ?? '';
    const claims: unknown = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
    const isObject = typeof claims === 'object' && claims !== null && 'jti' in claims;
    return isObject && typeof claims.jti === 'string' ? claims.jti : undefined;
  } catch {
    return undefined;
  }
}

const systems: readonly (readonly [RegExp, string])[] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Macintosh/, 'Mac'],
  [/Linux/, 'Linux'],
];

const browsers: readonly (readonly [RegExp, string])[] = [
  [/Edg\//, 'Edge'],
  [/Firefox\//, 'Firefox'],
  [/Chrom(e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
];

/** The name that other devices show for a decision made here: "Chrome on Linux". */
export function deviceName(userAgent: string): string {
  const nameIn = (names: typeof systems) => names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const browser = nameIn(browsers) ?? 'browser';
  const system = nameIn(systems);
  return system === undefined ? browser : `${browser} on ${system}`;
}

/**
 * This browser's bearer token. It is kept in origin-scoped storage: unlike a cookie, pages on other ports cannot read
 * it (RE-5).
 */
export interface TokenStorage {
  read(): string | null;
  keep(token: string): void;
  forget(): void;
}

const key = 'countersign.token';

/** Stores the token in `localStorage`. If the browser refuses, the token lasts until the page is closed. */
export function tokenStorage(storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>): TokenStorage {
  let inMemory: string | null = null;
  const guarded = <T>(use: () => T, otherwise: T): T => {
    try {
      return use();
    } catch {
      return otherwise;
    }
  };
  return {
    read: () => inMemory ?? guarded(() => storage.getItem(key), null),
    keep(token) {
      inMemory = token;
      guarded(() => storage.setItem(key, token), undefined);
    },
    forget() {
      inMemory = null;
      guarded(() => storage.removeItem(key), undefined);
    },
  };
}
