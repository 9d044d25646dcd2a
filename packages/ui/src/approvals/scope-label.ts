import type { Approval } from '@countersign/protocol';
import type { Words } from '../words/words.ts';
import { isCommandTool } from './scope-rule.ts';

type OfferedScope = Pick<Approval['offered_scopes'][number], 'scope' | 'pattern'>;

/** What a wider approval covers and for how long, said once, in the page's own words. */
export function scopeLabel(
  { scope, pattern }: OfferedScope,
  tool: string,
  { approval }: Pick<Words, 'approval'>,
): string {
  if (scope === 'session') return approval.scope.session;
  const label = approval.scope[scope](whatOf(pattern, tool, approval));
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

function whatOf(pattern: string | null, tool: string, { covers }: Words['approval']): string {
  if (pattern === null) return covers.tool(tool);
  if (isCommandTool(tool)) {
    return pattern.endsWith(' *') ? covers.commands(pattern.slice(0, -2)) : covers.command(pattern);
  }
  return pattern.endsWith('/**') ? covers.folder(pattern.slice(0, -2)) : covers.file(pattern);
}
