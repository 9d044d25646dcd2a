import { type Approval, findTool } from '@countersign/protocol';
import { visibleText } from '../text/visible.tsx';
import type { Words } from '../words/words.ts';

/** A screen that is locked shows one line of it. */
const maxLength = 120;

/**
 * Text for a notification, which may appear on a locked screen: a path or a program, never arguments, shell lines or
 * contents, which may hold a password.
 */
export function notificationText(
  { risk_level, tool_name, tool_params }: Pick<Approval, 'risk_level' | 'tool_name' | 'tool_params'>,
  { risk }: Pick<Words, 'risk'>,
): string {
  const { path, dest, command } = tool_params;
  const what = findTool(tool_name)?.category === 'command' ? command : (path ?? dest);
  const text = [`${risk[risk_level]}:`, tool_name, ...(typeof what === 'string' ? [what] : [])].join(' ');
  const visible = visibleText(text);
  return visible.length <= maxLength ? visible : `${visible.slice(0, maxLength - 1)}…`;
}
