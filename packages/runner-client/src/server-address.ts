export const defaultServer = 'http://127.0.0.1:4180';

/** Why an address is not used: it is none, it has a secret in it, or it would carry the token in the clear. */
export type AddressProblem = 'malformed' | 'secret' | 'plain';

/**
 * An address as tokens are kept for it: origin and path, no slash at the end. A secret in it is refused, because
 * command lines and addresses are seen by others (RE-5); so is a connection that would carry the token in the clear.
 */
export function readServerAddress(
  text: string,
  { allowHttp = false } = {},
): { readonly address: string } | { readonly problem: AddressProblem; readonly origin: string } {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return { problem: 'malformed', origin: text };
  const { origin } = url;
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return { problem: 'secret', origin };
  }
  const isPlain = url.protocol === 'http:' && !isLoopback(url.hostname);
  if (isPlain && !allowHttp) return { problem: 'plain', origin };
  return { address: `${origin}${url.pathname}`.replace(/\/+$/, '') };
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
