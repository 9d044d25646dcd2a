import type { PolicyRule } from '@countersign/protocol';
import type { ApprovalRequest } from '@countersign/tool-runner';
import type { Words } from '../words/words.ts';

export type OfferedScope = ApprovalRequest['offered_scopes'][number];

const commandTools: readonly string[] = ['execute_command', 'shell_exec', 'shell_background'];

/** What a wider approval covers, in words. */
export function scopeLabel({ scope, pattern }: OfferedScope, tool: string, { scope: words }: Words): string {
  if (scope === 'session') return words.session;
  const what = pattern === null ? words.tool(tool) : words.pattern(tool, pattern);
  return scope === 'class' ? words.class(what) : words.always(what);
}

/** The rule that choosing "always" would save, to be tried on the history first (RK-5). */
export function ruleOfScope(tool: string, { pattern, max_risk }: OfferedScope): PolicyRule {
  const what = pattern === null ? {} : commandTools.includes(tool) ? { command: pattern } : { path: pattern };
  return { id: 'to-be-saved', effect: 'allow', tool, max_risk, ...what };
}
