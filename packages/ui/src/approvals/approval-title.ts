import { type Approval, intentOf, visibleLine } from '@countersign/protocol';
import { callSummary } from '../text/call-summary.ts';
import type { Words } from '../words/words.ts';

type Titled = Pick<Approval, 'agent' | 'tool_name' | 'tool_params' | 'description' | 'preview'>;

/** As the server's own sentence: a title is no place for a whole script. */
const maxLength = 160;

/** One sentence about the request: the server's, or our own where the language has one for this tool. */
export function titleOf(
  { agent, tool_name, tool_params, description, preview }: Titled,
  { approval }: Pick<Words, 'approval'>,
): string {
  const intent = intentOf(tool_name, tool_params, preview);
  const own = Object.hasOwn(approval.title, intent) ? approval.title[intent] : undefined;
  const what = visibleLine(callSummary(tool_params));
  if (!own || what === '') return description;
  return own(approval.agent(agent), what.length <= maxLength ? what : `${what.slice(0, maxLength - 1)}…`);
}
