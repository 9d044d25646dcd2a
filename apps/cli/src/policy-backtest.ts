import type { CallResponse } from '@countersign/client';
import { CountersignError, type PolicyRule, policyRuleSchema } from '@countersign/protocol';
import { type CommandContext, usageOf } from './command-context.ts';
import { readOptions } from './command-options.ts';
import { readTime } from './history-command.ts';
import { readPolicyText } from './policy-check.ts';
import { visible } from './screen/paragraph.ts';
import { serverAccess } from './sign-in/server-access.ts';
import type { Words } from './words.ts';

const usage = usageOf('policy');

/** `countersign policy backtest FILE`: shows what rules would have decided on the recorded history (RK-5). */
export async function backtestRules(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('policy backtest', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  const [path, unexpected] = positionals;
  if (path === undefined) throw usage(words.policy.whichFile);
  if (unexpected !== undefined) throw usage(words.unexpected(unexpected));
  const rules = readRules(path, words);
  const since = values.since === undefined ? undefined : readTime(values.since, words);
  const { client } = serverAccess(values.server, words, env);
  for (const rule of rules) {
    const body = { rule, ...(since !== undefined && { since }) };
    const { success, ...found } = await client.backtestPolicy({ body });
    await terminal.write(
      values.json ? `${JSON.stringify({ rule: rule.id, ...found })}\n` : resultText(rule, found, words),
    );
  }
  return 0;
}

/** Reads a file that holds one rule, or a policy file with several. */
function readRules(path: string, words: Words): PolicyRule[] {
  const { policy } = words;
  const text = readPolicyText(path, words);
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (cause) {
    const problem = policy.notJson(path, (cause as Error).message);
    throw new CountersignError('POLICY_INVALID', { problem }, { cause });
  }
  const rulesOf = (content as { rules?: unknown } | null)?.rules;
  return (Array.isArray(rulesOf) ? rulesOf : [content]).map((one: unknown) => {
    const rule = policyRuleSchema.safeParse(one);
    if (rule.success) return rule.data;
    const [issue] = rule.error.issues;
    const problem = `"${path}": ${issue?.path.join('.') || policy.aRule}: ${issue?.message}`;
    throw new CountersignError('POLICY_INVALID', { problem });
  });
}

type BacktestResult = Omit<CallResponse<'backtestPolicy'>, 'success'>;

function resultText({ id, effect }: PolicyRule, found: BacktestResult, { policy }: Words): string {
  const { considered, matched, would_change, approved_before, rejected_before, examples } = found;
  const lines = [
    `${visible(id)} (${effect})`,
    `  ${policy.matched({ considered, matched, wouldChange: would_change })}`,
    `  ${policy.decided(approved_before, rejected_before)}`,
    ...examples.map(
      ({ tool_id, description, before, after }) =>
        `    ${visible(before)} → ${visible(after)}  ${visible(description)}  (${visible(tool_id)})`,
    ),
  ];
  return `${lines.join('\n')}\n`;
}
