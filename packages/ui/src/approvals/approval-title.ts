import type { Approval } from '@countersign/protocol';
import { callSummary } from '../text/call-summary.ts';
import type { Words } from '../words/words.ts';

/** One sentence about the request: the server's, or our own where the language has one for this tool. */
export function titleOf(
  { tool_name, tool_params, description }: Pick<Approval, 'tool_name' | 'tool_params' | 'description'>,
  { approval }: Pick<Words, 'approval'>,
): string {
  const own = Object.hasOwn(approval.title, tool_name) ? approval.title[tool_name] : undefined;
  const what = callSummary(tool_params);
  return own && what !== '' ? own(what) : description;
}
