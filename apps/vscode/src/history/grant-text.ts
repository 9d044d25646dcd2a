import { changingToolsPattern, type Grant, gitCommandsPattern, visibleLine } from '@countersign/protocol';
import { pageWords } from '@countersign/words/page';
import type { Words } from '../words.ts';

/** Grants that still count, newest first. */
export const grantsInForce = (grants: readonly Grant[], now: Date): Grant[] =>
  grants
    .filter(
      ({ revoked_at, expires_at }) => revoked_at === null && !(expires_at && new Date(expires_at) <= now),
    )
    .sort((a, b) => (a.created_at < b.created_at ? 1 : -1));

/** What a grant covers and how often it was used, in the words of the page's list. */
export function grantText({ tool, pattern, session_id, max_risk, uses }: Grant, words: Words) {
  const { permissions } = pageWords[words.language];
  const tools = { [changingToolsPattern]: permissions.changes, [gitCommandsPattern]: permissions.git };
  const which = tools[tool] ?? (tool === '*' ? permissions.everyTool : tool);
  const where = session_id === null ? permissions.everywhere : permissions.inSession;
  return {
    label: visibleLine(`${which} · ${pattern ?? permissions.allCalls}`),
    description: [words.approval.risk[max_risk], where, permissions.uses(uses)].join(' · '),
  };
}
