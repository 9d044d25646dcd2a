import { readPolicyFile } from '@countersign/policy';
import { areSameRules, CountersignError, type PolicyFile, type PolicyRule } from '@countersign/protocol';
import type { PersonsPolicyFile } from '@countersign/tool-runner';
import { type CommandContext, usageOf } from '../command-context.ts';
import { readOptions } from '../command-options.ts';
import { confirmed, personsPolicyFile, ruleLine } from './person-file.ts';
import { backtestLines, ruleHistory } from './rule-history.ts';
import { type Effect, ruleOfWords } from './rule-of-words.ts';

const usage = usageOf('policy');

/** `countersign policy allow|ask|deny PATTERN`: adds a rule to the person's own policy file (RK-5). */
export async function addRuleCommand(
  effect: Effect,
  argv: readonly string[],
  context: CommandContext,
): Promise<number> {
  const { values, positionals } = readOptions('policy add', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  const file = personsPolicyFile(env);
  const before = requireUsable(file);
  const rule = ruleOfWords({ ...values, effect, command: positionals }, before.rules, words);
  const standing = before.rules.find((each) => areSameRules({ ...each, id: rule.id }, rule));
  if (standing) {
    await say(
      { saved: false, rule: standing, path: file.path },
      words.policy.alreadyThere(ruleLine(standing, words)),
    );
    return 0;
  }
  requireValid({ ...before, rules: [...before.rules, rule] });
  const history = ruleHistory(values.server, words, env);
  const found = await history.backtest(rule);
  if (!values.json) {
    const lines = found ? backtestLines(found, words) : [words.policy.noHistory(history.problem ?? '')];
    await terminal.write(`${ruleLine(rule, words)}\n${lines.map((line) => `  ${line}\n`).join('')}`);
  }
  const isWanted =
    !values['dry-run'] &&
    (values.yes || values.json || (await confirmed(terminal, words.policy.save(file.path), true)));
  if (isWanted) file.update((policy) => ({ ...policy, rules: [...policy.rules, rule] }));
  const outcome = isWanted ? words.policy.saved(file.path) : words.policy.notSaved;
  await say({ saved: isWanted, rule, path: file.path, ...(found && { backtest: found }) }, outcome);
  return isWanted || values['dry-run'] ? 0 : 1;

  function say(result: object, text: string): Promise<void> {
    return terminal.write(values.json ? `${JSON.stringify(result)}\n` : `${text}\n`);
  }
}

/** `countersign policy list`: the rules of the file, and where it is. */
export async function listRulesCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('policy list', argv);
  const words = context.words(values.lang);
  if (positionals[0] !== undefined) throw usage(words.unexpected(positionals[0]));
  const file = personsPolicyFile(context.env);
  const policy = requireUsable(file);
  if (values.json) {
    await context.terminal.write(`${JSON.stringify({ path: file.path, policy })}\n`);
    return 0;
  }
  const lines = policy.rules.map((rule) => `  ${ruleLine(rule, words)}\n`).join('');
  await context.terminal.write(`${file.path}\n${lines || `  ${words.policy.noRules}\n`}`);
  return 0;
}

/** `countersign policy remove ID`. */
export async function removeRuleCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('policy list', argv);
  const words = context.words(values.lang);
  const [id, unexpected] = positionals;
  if (id === undefined) throw usage(words.policy.whichId);
  if (unexpected !== undefined) throw usage(words.unexpected(unexpected));
  const file = personsPolicyFile(context.env);
  let removed: PolicyRule | undefined;
  file.update((policy) => {
    removed = policy.rules.find((rule) => rule.id === id);
    if (!removed) throw usage(words.policy.noRule(id));
    return { ...policy, rules: policy.rules.filter((rule) => rule.id !== id) };
  });
  const result = { removed, path: file.path };
  await context.terminal.write(
    values.json
      ? `${JSON.stringify(result)}\n`
      : `${words.policy.removed(ruleLine(removed as PolicyRule, words))}\n`,
  );
  return 0;
}

/** The rules of the file. Throws POLICY_INVALID if it cannot be used: `policy edit` corrects it. */
export function requireUsable(file: PersonsPolicyFile): PolicyFile {
  const reading = file.read();
  if (!reading.ok) throw new CountersignError('POLICY_INVALID', { problem: reading.problem });
  return reading.policy.file;
}

function requireValid(policy: PolicyFile): void {
  const reading = readPolicyFile(JSON.stringify(policy), 'person');
  if (!reading.ok) throw new CountersignError('POLICY_INVALID', { problem: reading.problem });
}
