import type { Approval, PolicyRule } from '@countersign/protocol';

const commandTools: readonly string[] = ['execute_command', 'shell_exec', 'shell_background'];

/** Whether the patterns of a tool are those of commands; otherwise they are of paths. */
export const isCommandTool = (tool: string): boolean => commandTools.includes(tool);

/** The rule that choosing "always" would save, to be tried on the history first (RK-5). */
export function ruleOfScope(
  tool: string,
  { pattern, max_risk }: Pick<Approval['offered_scopes'][number], 'pattern' | 'max_risk'>,
): PolicyRule {
  const what = pattern === null ? {} : isCommandTool(tool) ? { command: pattern } : { path: pattern };
  return { id: 'to-be-saved', effect: 'allow', tool, max_risk, ...what };
}
