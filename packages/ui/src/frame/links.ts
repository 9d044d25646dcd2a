/** The addresses of the page's screens, in the part after `#`, which the server never sees. */
export const links = {
  chat: (sessionId?: string, toolId?: string) =>
    `#/chat${sessionId === undefined ? '' : `/${sessionId}`}${toolId === undefined ? '' : `/${toolId}`}`,
  /** With an approval: at its card. */
  inbox: (approvalId?: string) => `#/approvals${approvalId === undefined ? '' : `/${approvalId}`}`,
  history: () => '#/history',
  call: (toolId: string) => `#/history/${toolId}`,
  metrics: () => '#/metrics',
  permissions: () => '#/permissions',
  runners: () => '#/runners',
} as const;

/** Where the page is. */
export type Location =
  | { readonly screen: 'chat'; readonly sessionId: string | null; readonly toolId: string | null }
  | { readonly screen: 'approvals'; readonly approvalId: string | null }
  | { readonly screen: 'metrics' | 'permissions' | 'runners' }
  | { readonly screen: 'history'; readonly toolId: string | null };

/** Parses an address. An unknown one leads to the chat. */
export function readLocation(hash: string): Location {
  const [, screen, first, second] = hash.replace(/^#/, '').split('/');
  switch (screen) {
    case 'approvals':
      return { screen, approvalId: first || null };
    case 'metrics':
    case 'permissions':
    case 'runners':
      return { screen };
    case 'history':
      return { screen, toolId: first || null };
    default:
      return { screen: 'chat', sessionId: first || null, toolId: second || null };
  }
}
