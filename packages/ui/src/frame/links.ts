/** The addresses of the page's screens: the part after `#`, which browsers do not send to the server. */
export const links = {
  chat: (sessionId?: string, toolId?: string) =>
    `#/chat${sessionId === undefined ? '' : `/${sessionId}`}${toolId === undefined ? '' : `/${toolId}`}`,
  /** With an id, the inbox opens at that card. */
  inbox: (approvalId?: string) => `#/approvals${approvalId === undefined ? '' : `/${approvalId}`}`,
  history: () => '#/history',
  call: (toolId: string) => `#/history/${toolId}`,
  metrics: () => '#/metrics',
  permissions: () => '#/permissions',
  runners: () => '#/runners',
} as const;

/** Goes to a screen as a click on its link does. The editor's webview has no address, so only links work there. */
export function followLink(href: string): void {
  const link = document.createElement('a');
  link.href = href;
  document.body.append(link);
  link.click();
  link.remove();
}

/** The screen that the page shows. */
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
