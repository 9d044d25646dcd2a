import { isRefused, type PolicyDecision, type ToolCallPolicy } from '@countersign/policy';
import { approvalTimeoutSeconds, makeVisible, type Reason } from '@countersign/protocol';
import { callFromWords, type TypedCall } from './call-words.ts';
import { toCheckLine } from './policy-check.ts';
import { wrap } from './screen/text-width.ts';
import { styles, type Terminal } from './terminal.ts';
import type { Words } from './words.ts';

/** Explains the decision on one call to a person, or prints it as JSON. */
export async function explainCall(
  policy: ToolCallPolicy,
  typed: readonly string[],
  terminal: Terminal,
  { workspace, json, words }: { workspace: string; json: boolean; words: Words },
): Promise<number> {
  const call = callFromWords(typed);
  const decision = policy.decide(call.tool, call.args);
  if (!decision.call && isRefused(decision.verdict)) {
    const { message, code } = decision.verdict;
    terminal.writeError(`${words.error}: ${makeVisible(words.said({ code, message }))} [${code}]\n`);
    return 2;
  }
  await terminal.write(
    json
      ? `${JSON.stringify(toCheckLine(null, decision))}\n`
      : `${explanation(call, decision, { workspace, words }, terminal)}\n`,
  );
  return 0;
}

/** Explains a decision: what happens, to which call, and why. Wraps lines to the screen, if there is one. */
export function explanation(
  call: TypedCall,
  decision: PolicyDecision,
  { workspace, words }: { readonly workspace: string; readonly words: Words },
  { color, screen }: Pick<Terminal, 'color' | 'screen'>,
): string {
  const style = styles(color);
  const columns = screen?.columns ?? Number.POSITIVE_INFINITY;
  const hang = (lead: string, text: string) =>
    wrap(text, columns - lead.length - 1).map((line, i) => (i === 0 ? lead : ' '.repeat(lead.length)) + line);
  const { policy } = words;
  const labels = [policy.call, policy.workspace, policy.network];
  const labelColumns = Math.max(...labels.map((label) => label.length)) + 2;
  const labelled = (label: string, text: string) => hang(`  ${label.padEnd(labelColumns)}`, text);
  const { verdict } = decision;
  const paint = { LOW: style.green, MEDIUM: style.yellow, HIGH: style.red, REJECT: style.red }[
    verdict.decision
  ];
  const lines: string[] = ['', ...hang('  ', headline(decision, policy)).map((line) => paint(line)), ''];
  lines.push(...labelled(policy.call, describeCall(call)));
  lines.push(...labelled(policy.workspace, makeVisible(workspace)));
  if (!isRefused(verdict))
    lines.push(...labelled(policy.network, verdict.network ? policy.networkNeeded : policy.networkNone));
  lines.push('', `  ${policy.why}`);
  for (const reason of verdict.reasons) {
    const rule = `(${reason.rule})`;
    const [last = '', ...above] = hang('    • ', `${describeReason(reason, words)}  ${rule}`).reverse();
    const isWhole = last.endsWith(rule);
    lines.push(...above.reverse(), isWhole ? `${last.slice(0, -rule.length)}${style.dim(rule)}` : last);
  }
  lines.push('', `  ${policy.whatHappens}`);
  for (const sentence of consequence(decision, words)) lines.push(...hang('    ', makeVisible(sentence)));
  if (isRefused(verdict)) lines.push('', `  ${style.dim(policy.errorCode(verdict.code))}`);
  return lines.join('\n');
}

const headline = ({ verdict, allowedBy }: PolicyDecision, { headline: lines }: Words['policy']): string =>
  lines[allowedBy ? 'allowed' : verdict.decision];

function consequence(decision: PolicyDecision, { policy, said }: Words): string[] {
  const { verdict, allowedBy, allowedWith = [] } = decision;
  if (isRefused(verdict)) return [policy.refused, said(verdict)];
  if (allowedBy && allowedWith.length > 0)
    return [policy.rulesAnswer([allowedBy, ...allowedWith].map(({ id }) => id).join(', '))];
  if (allowedBy) return [policy.ruleAnswers(allowedBy.id)];
  if (verdict.decision === 'LOW') return [policy.runs];
  return [policy.card(approvalTimeoutSeconds[verdict.decision] / 60), policy.unanswered];
}

function describeCall({ tool, args }: TypedCall): string {
  const parameters = args !== null && typeof args === 'object' ? Object.entries(args) : [];
  const shown = parameters.map(
    ([name, value]) => `${name}=${shorten(typeof value === 'string' ? value : JSON.stringify(value))}`,
  );
  return makeVisible([tool, ...shown].join('  '));
}

function describeReason(reason: Reason, { said }: Words): string {
  const { why, operand } = reason;
  const sentence = said(reason);
  const text = makeVisible(sentence.charAt(0).toUpperCase() + sentence.slice(1));
  return operand === undefined || why.includes(operand) ? text : `${text}: ${makeVisible(shorten(operand))}`;
}

const shorten = (text: string): string => {
  const oneLine = text.replaceAll('\n', '⏎');
  return oneLine.length <= 120 ? oneLine : `${oneLine.slice(0, 117)}…`;
};
