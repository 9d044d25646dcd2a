import {
  type ExecutionStatus,
  type Message,
  type ModelResult,
  readModelResult,
  visibleLine,
} from '@countersign/protocol';
import type { CallWords } from '@countersign/words';
import { callOutcome, callTitle } from './call-line.ts';
import { harmlessMarkdown } from './harmless-markdown.ts';
import { resultView } from './result-view.ts';

interface Conversation {
  readonly title: string;
  /** All messages, oldest first. Those that were rewound are left out. */
  readonly messages: readonly Message[];
}

/**
 * A conversation as a Markdown document: the messages, and a line for each call with its outcome. The text of people and
 * models stays Markdown, but can do no harm: see `harmlessMarkdown`.
 */
export function conversationMarkdown({ title, messages }: Conversation, words: CallWords): string {
  const { untitled, you, agent } = words.markdown;
  const live = messages.filter(({ rewound }) => !rewound);
  const results = resultsByCall(live);
  const parts = [`# ${plain(visibleLine(title).trim()) || untitled}`];
  let speaker = '';
  for (const { role, content, model, tool_calls = [], tool_id } of live) {
    if (role === 'tool' || (role === 'system' && tool_id !== undefined)) continue;
    const said = harmlessMarkdown(content.trim());
    const calls = tool_calls.map((call) => callLine(call, results.get(call.tool_call_id), words));
    if (said === '' && calls.length === 0) continue;
    const heading =
      role === 'user' ? you : model === undefined ? agent : `${agent} (${plain(visibleLine(model))})`;
    if (role !== 'system' && (heading !== speaker || role === 'user')) parts.push(`## ${heading}`);
    if (role !== 'system') speaker = heading;
    if (said !== '') parts.push(role === 'system' ? quoted(said) : said);
    if (calls.length > 0) parts.push(calls.join('\n'));
  }
  return `${parts.join('\n\n')}\n`;
}

/** The result of each call, by the call's id, which is unique in a conversation. */
function resultsByCall(messages: readonly Message[]): ReadonlyMap<string, ModelResult> {
  const results = messages.flatMap(({ role, content }) => {
    const result = role === 'tool' ? readModelResult(content) : undefined;
    return result ? [[result.tool_call_id, result] as const] : [];
  });
  return new Map(results);
}

type ToolCall = NonNullable<Message['tool_calls']>[number];

function callLine(call: ToolCall, result: ModelResult | undefined, words: CallWords): string {
  const { tool_name: toolName, tool_params } = call;
  const params = (result && 'executed_params' in result && result.executed_params) || tool_params;
  const title = callTitle({ toolName, params, status: statusOf(result) }, words);
  const outcome = outcomeOf(call, params, result, words);
  return `- ${plain(visibleLine(title))}${outcome === '' ? '' : ` — ${plain(visibleLine(outcome))}`}`;
}

const statusOf = (result: ModelResult | undefined): ExecutionStatus =>
  result?.status === 'success' ? 'completed' : 'cancelled';

function outcomeOf(
  { tool_name: toolName, not_started }: ToolCall,
  params: ToolCall['tool_params'],
  result: ModelResult | undefined,
  words: CallWords,
): string {
  const { markdown } = words;
  // A call that the person stopped has no result in the conversation, whether it had begun or not.
  if (!result) return not_started ? markdown.notStarted : markdown.noResult;
  if (result.status === 'error') return markdown.failed(result.error.message);
  if (result.status === 'success') return callOutcome(resultView(toolName, params, result.result), words);
  return result.user_message === null ? markdown.rejected : markdown.told(result.user_message);
}

/** Text without any meaning in Markdown. */
const plain = (text: string): string => text.replaceAll(/[\\`*_[\]<>#|~!]/g, '\\$&');

const quoted = (text: string): string => text.replaceAll(/^/gm, '> ');
