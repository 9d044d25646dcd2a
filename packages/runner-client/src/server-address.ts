export const defaultServer = 'http://127.0.0.1:4180';

/** Why an address is refused: malformed, contains a secret, or would send the token unencrypted. */
export type AddressProblem = 'malformed' | 'secret' | 'plain';

/**
 * Normalises an address, by which tokens are stored: origin and path, without a slash at the end. An address with a
 * secret is refused, because others can see command lines and addresses (RE-5); so is one that would send the token
 * unencrypted.
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
