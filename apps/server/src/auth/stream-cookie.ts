/**
 * The cookie of a browser. It authorises reading event streams and nothing else: cookies ignore ports, so a page
 * that the agent's own development server shows would carry it too (RE-5).
 */
const NAME = 'countersign_stream';

export function setStreamCookie(token: string, options: { secure: boolean; maxAgeSeconds: number }): string {
  const secure = options.secure ? '; Secure' : '';
  return `${NAME}=${token}; Path=/my; HttpOnly; SameSite=Strict; Max-Age=${options.maxAgeSeconds}${secure}`;
}

export function readStreamCookie(header: string | undefined): string | undefined {
  for (const part of header?.split(';') ?? []) {
    const at = part.indexOf('=');
    if (at > 0 && part.slice(0, at).trim() === NAME) return part.slice(at + 1).trim();
  }
  return undefined;
}
