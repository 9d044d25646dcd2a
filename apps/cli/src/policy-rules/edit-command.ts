import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPolicyFile } from '@countersign/policy';
import { areSameRules, CountersignError, type PolicyRule } from '@countersign/protocol';
import { type CommandContext, usageOf } from '../command-context.ts';
import { readOptions } from '../command-options.ts';
import { editorOf, runEditor } from '../screen/run-editor.ts';
import { confirmed, personsPolicyFile, ruleLine } from './person-file.ts';
import { backtestLines, ruleHistory } from './rule-history.ts';

const usage = usageOf('policy');

/**
 * `countersign policy edit`: opens a copy of the person's policy file in their editor. The copy replaces the file only if it
 * is valid and nothing else has changed the file meanwhile; otherwise it is kept, and the error says where.
 */
export async function editPolicyCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('policy edit', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  const { policy: said } = words;
  if (positionals[0] !== undefined) throw usage(words.unexpected(positionals[0]));
  const editor = editorOf(env);
  if (editor === undefined) throw usage(said.noEditor(personsPolicyFile(env).path));
  const file = personsPolicyFile(env);
  const before = file.text();
  const copy = join(mkdtempSync(join(tmpdir(), 'countersign-policy-')), 'policy.json'); // the folder is 0700
  writeFileSync(copy, before ?? emptyPolicy, { mode: 0o600 });
  // The terminal sends Ctrl-C to us too, but it is meant for the editor.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  let text: string;
  try {
    text = await edited();
  } finally {
    process.off('SIGINT', ignore);
  }
  if (text === (before ?? emptyPolicy)) {
    discard();
    await terminal.write(`${said.unchanged}\n`);
    return 0;
  }
  const reading = readPolicyFile(text, 'person');
  if (!reading.ok)
    throw new CountersignError('POLICY_INVALID', { problem: said.keptText(reading.problem, copy) });
  await showChanges(reading.policy.file.rules);
  if (!(values.yes || (await confirmed(terminal, said.save(file.path), true)))) {
    await terminal.write(`${said.notSavedText(copy)}\n`);
    return 1;
  }
  try {
    file.replaceText(text.endsWith('\n') ? text : `${text}\n`, before);
  } catch (error) {
    terminal.writeError(`${said.notSavedText(copy)}\n`);
    throw error;
  }
  discard();
  await terminal.write(`${said.saved(file.path)}\n`);
  return 0;

  /** Opens the editor until the text is valid or the person gives up. */
  async function edited(): Promise<string> {
    for (;;) {
      await runEditor(editor as string, copy);
      const now = readFileSync(copy, 'utf8');
      const valid = readPolicyFile(now, 'person');
      if (valid.ok || !terminal.interactive) return now;
      terminal.writeError(`${words.said({ message: valid.problem })}\n`);
      if (!(await confirmed(terminal, said.editAgain, false))) return now;
    }
  }

  async function showChanges(rules: readonly PolicyRule[]): Promise<void> {
    const old = readPolicyFile(before ?? emptyPolicy, 'person');
    const oldRules = old.ok ? old.policy.file.rules : [];
    const has = (list: readonly PolicyRule[], rule: PolicyRule) =>
      list.some((each) => areSameRules(each, rule));
    const history = ruleHistory(values.server, words, env);
    for (const rule of oldRules.filter((rule) => !has(rules, rule)))
      await terminal.write(`- ${ruleLine(rule, words)}\n`);
    for (const rule of rules.filter((rule) => !has(oldRules, rule))) {
      const found = await history.backtest(rule);
      const lines = found ? backtestLines(found, words) : [];
      await terminal.write(`+ ${ruleLine(rule, words)}\n${lines.map((line) => `    ${line}\n`).join('')}`);
    }
    if (history.problem !== undefined) await terminal.write(`${said.noHistory(history.problem)}\n`);
  }

  function discard(): void {
    rmSync(join(copy, '..'), { recursive: true, force: true });
  }
}

const emptyPolicy = `${JSON.stringify({ version: 1, rules: [] }, null, 2)}\n`;
