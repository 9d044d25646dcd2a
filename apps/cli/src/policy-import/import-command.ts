import { resolve } from 'node:path';
import { readPolicyFile } from '@countersign/policy';
import { CountersignError, makeVisible, type PolicyRule } from '@countersign/protocol';
import { type CommandContext, usageOf } from '../command-context.ts';
import { readOptions } from '../command-options.ts';
import { personsPolicyFile, ruleLine } from '../policy-rules/person-file.ts';
import { type BacktestResult, backtestLines, ruleHistory } from '../policy-rules/rule-history.ts';
import { requireUsable } from '../policy-rules/rules-command.ts';
import { styles } from '../terminal.ts';
import type { Source } from './foreign-rule.ts';
import { readForeignFile, sources, usualFiles } from './sources.ts';
import { type Translation, translateRules } from './translate.ts';

const usage = usageOf('policy');

/** A rule, and what each rule that it becomes would have decided on the recorded calls. */
interface Tried extends Translation {
  readonly backtests: readonly (BacktestResult | undefined)[];
}

/**
 * `countersign policy import claude|codex|gemini|opencode|vscode [FILE]`: shows what the rules of another program become
 * here, and saves those that the person ticks, one by one.
 */
export async function importRulesCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = readOptions('policy import', argv);
  const { terminal, env } = context;
  const words = context.words(values.lang);
  const { policyImport: said } = words;
  const [source, named, unexpected] = positionals;
  if (!isSource(source)) throw usage(said.whichSource(sources.join(', ')));
  if (unexpected !== undefined) throw usage(words.unexpected(unexpected));
  const files =
    named === undefined ? usualFiles(source, resolve(values.workspace ?? '.'), env) : [resolve(named)];
  if (files.length === 0) throw new CountersignError('IMPORT_NOTHING_FOUND', { source });
  const file = personsPolicyFile(env);
  const standing = requireUsable(file).rules;
  const translations = translateRules(
    files.flatMap((path) => readForeignFile(source, path)),
    source,
    standing,
  );
  const history = ruleHistory(values.server, words, env);
  const tried: Tried[] = [];
  for (const translation of translations) {
    const backtests: (BacktestResult | undefined)[] = [];
    for (const rule of translation.rules) backtests.push(await history.backtest(rule));
    tried.push({ ...translation, backtests });
  }
  const chosen = values['all-exact'] ? tried.filter(isSafeToTakeAll) : [];
  if (values.json) {
    const saved = save(chosen.flatMap(({ rules }) => rules));
    for (const one of tried) await terminal.write(`${JSON.stringify(jsonOf(one, saved))}\n`);
    return 0;
  }
  await terminal.write(`${said.title(source, files.map(makeVisible).join(', '))}\n\n`);
  for (const [index, one] of tried.entries()) await terminal.write(`${shown(one, index + 1).join('\n')}\n\n`);
  if (history.problem !== undefined) await terminal.write(`${words.policy.noHistory(history.problem)}\n\n`);
  if (!values['all-exact'] && terminal.interactive) chosen.push(...(await tick()));
  const saved = save(chosen.flatMap(({ rules }) => rules));
  await terminal.write(
    saved.length === 0 ? `${words.policy.notSaved}\n` : `${said.saved(saved.length, file.path)}\n`,
  );
  const lost = tried.filter((one) => one.foreign.effect === 'deny' && !isKept(one, chosen));
  if (lost.length > 0)
    await terminal.write(
      `${said.deniesLeft}\n${lost.map(({ foreign }) => `  ${makeVisible(foreign.text)}\n`).join('')}`,
    );
  return 0;

  /** Asks about each rule that could be saved. */
  async function tick(): Promise<Tried[]> {
    const open = tried.filter(({ rules }) => rules.length > 0);
    const ticked: Tried[] = [];
    if (open.length === 0) return ticked;
    await terminal.write(`${said.howToTick}\n`);
    const prompt = (one: Tried): string =>
      `${tried.indexOf(one) + 1}. ${makeVisible(one.foreign.text)}  y/N/q`;
    for (const one of open) {
      const answer = await typedAnswer(prompt(one));
      if (answer === undefined || /^(q|в)/i.test(answer)) break;
      if (/^(y|yes|д|да)$/i.test(answer)) ticked.push(one);
    }
    return ticked;
  }

  async function typedAnswer(question: string): Promise<string | undefined> {
    for await (const line of terminal.typed(`${question} `)) return line.trim();
    return undefined;
  }

  function save(rules: readonly PolicyRule[]): readonly PolicyRule[] {
    if (rules.length === 0) return [];
    file.update((policy) => {
      const made = { ...policy, rules: [...policy.rules, ...rules] };
      const reading = readPolicyFile(JSON.stringify(made), 'person');
      if (!reading.ok) throw new CountersignError('POLICY_INVALID', { problem: reading.problem });
      return made;
    });
    return rules;
  }

  function shown({ foreign, fit, reason, rules, backtests }: Tried, number: number): string[] {
    const style = styles(terminal.color);
    const paint = { exact: style.green, narrower: style.yellow, impossible: style.red }[fit];
    const why = reason === undefined ? '' : `: ${said.reasons[reason]}`;
    return [
      `${number}. ${words.policy.effects[foreign.effect]}  ${makeVisible(foreign.text)}`,
      `   ${paint(said.fits[fit])}${why}`,
      ...rules.flatMap((rule, index) => [
        `   → ${ruleLine(rule, words)}`,
        ...(backtests[index] ? backtestLines(backtests[index], words, 3) : []).map((line) => `     ${line}`),
      ]),
    ];
  }
}

const isSource = (word: string | undefined): word is Source => sources.some((source) => source === word);

/** For scripts: whatever is exact, and whatever makes Countersign stricter. */
const isSafeToTakeAll = ({ fit, rules, foreign }: Tried): boolean =>
  rules.length > 0 && (fit === 'exact' || foreign.effect !== 'allow');

/** A denial that the built-in rules have anyway is not lost. */
const isKept = (one: Tried, chosen: readonly Tried[]): boolean =>
  chosen.includes(one) || (one.fit === 'exact' && one.rules.length === 0);

function jsonOf({ foreign, fit, reason, rules, backtests }: Tried, saved: readonly PolicyRule[]) {
  return {
    file: foreign.file,
    text: foreign.text,
    effect: foreign.effect,
    fit,
    reason: reason ?? null,
    rules: rules.map((rule, index) => ({
      rule,
      backtest: backtests[index] ?? null,
      saved: saved.includes(rule),
    })),
  };
}
