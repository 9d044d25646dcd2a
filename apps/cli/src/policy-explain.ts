import { type Decision, isRefused, type ToolCallPolicy } from '@countersign/policy';
import { approvalTimeoutSeconds, makeVisible, type Reason } from '@countersign/protocol';
import { callFromWords, type TypedCall } from './call-words.ts';
import { toCheckLine } from './policy-check.ts';
import { wrap } from './screen/text-width.ts';
import { styles, type Terminal } from './terminal.ts';

/** Explains the decision on one call to a person, or prints it as JSON. */
export async function explainCall(
  policy: ToolCallPolicy,
  words: readonly string[],
  terminal: Terminal,
  { workspace, json }: { workspace: string; json: boolean },
): Promise<number> {
  const call = callFromWords(words);
  const decision = policy.decide(call.tool, call.args);
  if (!decision.call && isRefused(decision.verdict)) {
    terminal.writeError(`error: ${makeVisible(decision.verdict.message)} [${decision.verdict.code}]\n`);
    return 2;
  }
  await terminal.write(
    json
      ? `${JSON.stringify(toCheckLine(null, decision))}\n`
      : `${explanation(call, decision, workspace, terminal)}\n`,
  );
  return 0;
}

/** The decision in words, top down: what happens, to which call, and why. As wide as the screen, where there is one. */
export function explanation(
  call: TypedCall,
  decision: Decision,
  workspace: string,
  { color, screen }: Pick<Terminal, 'color' | 'screen'>,
): string {
  const style = styles(color);
  const columns = screen?.columns ?? Number.POSITIVE_INFINITY;
  const hang = (lead: string, text: string) =>
    wrap(text, columns - lead.length - 1).map((line, i) => (i === 0 ? lead : ' '.repeat(lead.length)) + line);
  const { verdict } = decision;
  const paint = { LOW: style.green, MEDIUM: style.yellow, HIGH: style.red, REJECT: style.red }[
    verdict.decision
  ];
  const lines: string[] = ['', ...hang('  ', headline(decision)).map((line) => paint(line)), ''];
  lines.push(...hang('  Call       ', describeCall(call)));
  lines.push(...hang('  Workspace  ', makeVisible(workspace)));
  if (!isRefused(verdict)) lines.push(`  Network    ${verdict.network ? 'needed' : 'none'}`);
  lines.push('', '  Why');
  for (const reason of verdict.reasons) {
    const rule = `(${reason.rule})`;
    const [last = '', ...above] = hang('    • ', `${describeReason(reason)}  ${rule}`).reverse();
    const isWhole = last.endsWith(rule);
    lines.push(...above.reverse(), isWhole ? `${last.slice(0, -rule.length)}${style.dim(rule)}` : last);
  }
  lines.push('', '  What happens');
  for (const sentence of consequence(decision)) lines.push(...hang('    ', makeVisible(sentence)));
  if (isRefused(verdict)) lines.push('', `  ${style.dim(`Error code ${verdict.code}`)}`);
  return lines.join('\n');
}

function headline({ verdict, allowedBy }: Decision): string {
  if (allowedBy) return 'ALLOWED by your own policy: runs without asking';
  switch (verdict.decision) {
    case 'LOW':
      return 'LOW risk: runs at once, nobody is asked';
    case 'MEDIUM':
      return 'MEDIUM risk: you are asked first';
    case 'HIGH':
      return 'HIGH risk: you are asked first, and confirm it a second time';
    case 'REJECT':
      return 'REFUSED: it does not run, and nobody is asked';
  }
}

function consequence({ verdict, allowedBy }: Decision): string[] {
  if (isRefused(verdict))
    return ['The agent gets this answer and goes on without the tool:', verdict.message];
  if (allowedBy) return [`Your rule "${allowedBy.id}" answers in your place. The call is recorded.`];
  if (verdict.decision === 'LOW') return ['The call runs on your machine and is recorded.'];
  const minutes = approvalTimeoutSeconds[verdict.decision] / 60;
  return [
    `A card shows you exactly what would run. You have ${minutes} minutes to approve or reject it.`,
    'If you do not answer, it does not run.',
  ];
}

function describeCall({ tool, args }: TypedCall): string {
  const parameters = args !== null && typeof args === 'object' ? Object.entries(args) : [];
  const shown = parameters.map(
    ([name, value]) => `${name}=${shorten(typeof value === 'string' ? value : JSON.stringify(value))}`,
  );
  return makeVisible([tool, ...shown].join('  '));
}

function describeReason({ why, operand }: Reason): string {
  const text = makeVisible(why.charAt(0).toUpperCase() + why.slice(1));
  return operand === undefined || why.includes(operand) ? text : `${text}: ${makeVisible(shorten(operand))}`;
}

const shorten = (text: string): string => {
  const oneLine = text.replaceAll('\n', '⏎');
  return oneLine.length <= 120 ? oneLine : `${oneLine.slice(0, 117)}…`;
};
