import { type Approval, intentOf, visibleLine } from '@countersign/protocol';
import { type ApprovalWords, fill } from '@countersign/words';
import { callSummary } from './call-summary.ts';

type Titled = Pick<Approval, 'agent' | 'tool_name' | 'tool_params' | 'description' | 'preview'>;

/** As the server's own sentence: a title is no place for a whole script. */
const maxLength = 160;
/** As long as a name: it must not tell a story. */
const maxAgentName = 40;

/** One sentence about the request: the server's, or our own where the language has one for this tool. */
export function titleOf(
  { agent, tool_name, tool_params, description, preview }: Titled,
  words: Pick<ApprovalWords, 'title' | 'agent'>,
): string {
  const intent = intentOf(tool_name, tool_params, preview);
  const own = Object.hasOwn(words.title, intent) ? words.title[intent] : undefined;
  const what = visibleLine(callSummary(tool_params));
  if (!own || what === '') return description;
  const who = words.agent(agent.slice(0, maxAgentName).trim());
  return fill(own, { who, what: what.length <= maxLength ? what : `${what.slice(0, maxLength - 1)}…` });
}
