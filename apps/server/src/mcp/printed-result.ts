import { callOutcome, resultText, resultView } from '@countersign/approvals';
import type { JsonValue, ToolOutcome } from '@countersign/protocol';
import { callWords } from '@countersign/words';

/** Agents read English. */
const words = callWords.en;

/** How a call ended, as a person would print it. The same facts are in the structured content beside it. */
export function printedOutcome(outcome: ToolOutcome): string {
  const { tool_name, executed_params } = outcome;
  const edited =
    executed_params === null
      ? []
      : [`The person changed the parameters. It ran with: ${JSON.stringify(executed_params)}`];
  return [...edited, ...printedEnd(tool_name, outcome)].filter((part) => part !== '').join('\n');
}

function printedEnd(tool: string, outcome: ToolOutcome): string[] {
  if (outcome.status === 'rejected') {
    const { reason, user_message } = outcome;
    return [
      reason ? `The person rejected this call: ${reason}` : 'The person rejected this call.',
      user_message ? `They say: ${user_message}` : '',
    ];
  }
  const { result, error } = outcome;
  const view = resultView(tool, {}, result);
  // If another tool failed, its error says it all.
  const printed = error && view.kind !== 'terminal' ? '' : resultText(view, words);
  if (error) return [`${error.code}: ${error.message}`, printed];
  const exit = view.kind === 'terminal' && view.exitCode !== 0 ? callOutcome(view, words) : '';
  const whole = [exit, printed, nextPart(result)].filter((part) => part !== '');
  return whole.length > 0 ? whole : [callOutcome(view, words) || 'Done.'];
}

/** How to read the next part of a file that was not read whole. */
function nextPart(result: JsonValue): string {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return '';
  const { next_offset, truncated } = result;
  if (typeof next_offset === 'number') return `[There is more: read on with offset ${next_offset}.]`;
  return truncated === true && typeof result.content === 'string' ? '[There is more.]' : '';
}
