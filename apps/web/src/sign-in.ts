import { ApiError, createClient } from '@countersign/client';
import type { TokenStorage } from './token-storage.ts';

const prefix = '#sign-in=';

/** Takes the one-time code out of the address bar, before anything else can see or keep it. */
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

/** Stores a token that the person pasted, if the server accepts it. A server that others can reach prints no link. */
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
