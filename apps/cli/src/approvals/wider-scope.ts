import type { Approval, PolicyRule } from '@countersign/protocol';

export type OfferedScope = Approval['offered_scopes'][number];

const commandTools: readonly string[] = ['execute_command', 'shell_exec', 'shell_background'];

/** The rule that a wider approval amounts to, to be tried on the recorded history before it is granted (RK-5). */
export function ruleOfScope(
  { tool_name, risk_level }: Pick<Approval, 'tool_name' | 'risk_level'>,
  { scope, pattern, max_risk }: OfferedScope,
  includeHigh: boolean,
): PolicyRule {
  const isSession = scope === 'session';
  return {
    id: 'to-be-granted',
    effect: 'allow',
    tool: isSession ? '*' : tool_name,
    ...(pattern !== null &&
      !isSession &&
      (commandTools.includes(tool_name) ? { command: pattern } : { path: pattern })),
    max_risk: includeHigh ? 'HIGH' : isSession ? max_risk : risk_level,
  };
}
