/** Whether it is a token: a server that others reach prints no link, and people paste a token of their issuer. */
export const isToken = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);

const bare = /^[A-Za-z0-9_-]{16,200}$/;

/** Reads what a person pastes to sign in (RE-5): `http://127.0.0.1:4180/#sign-in=CODE`, or the code alone. */
export function readSignInLink(text: string): { server?: string; code: string } | undefined {
  if (bare.test(text)) return { code: text };
  const url = URL.parse(text);
  const code = url?.hash.match(/^#sign-in=(.*)$/)?.[1];
  return url && code !== undefined && bare.test(code)
    ? { server: `${url.origin}${url.pathname}`, code }
    : undefined;
}
