import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { type LoadedPolicy, readPolicyFile, ToolCallPolicy } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { realDisk } from '@countersign/tool-runner';
import { askedLanguage, type CommandContext, usageOf } from './command-context.ts';
import { helpText, readOptions } from './command-options.ts';
import { checkCalls, readPolicyText } from './policy-check.ts';
import { explainCall } from './policy-explain.ts';
import { tryCalls } from './policy-try.ts';
import type { Words } from './words.ts';

const usage = usageOf('policy');

/** `countersign policy …` (RK-4, RK-5). */
export async function policyCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { terminal } = context;
  const [action, ...rest] = argv;
  if (action === undefined || action === '--help' || action === '-h' || rest.includes('--help')) {
    await terminal.write(helpText('policy', context.words(askedLanguage(argv))));
    return 0;
  }
  if (action === 'backtest') return (await import('./policy-backtest.ts')).backtestRules(rest, context);
  if (action === 'allow' || action === 'ask' || action === 'deny')
    return (await import('./policy-rules/rules-command.ts')).addRuleCommand(action, rest, context);
  if (action === 'list')
    return (await import('./policy-rules/rules-command.ts')).listRulesCommand(rest, context);
  if (action === 'remove')
    return (await import('./policy-rules/rules-command.ts')).removeRuleCommand(rest, context);
  if (action === 'edit')
    return (await import('./policy-rules/edit-command.ts')).editPolicyCommand(rest, context);
  if (action === 'import')
    return (await import('./policy-import/import-command.ts')).importRulesCommand(rest, context);
  const { options, typed } = splitOptions(rest);
  const words = context.words(options.lang);
  const workspace = resolve(options.workspace ?? '.');
  if (!statSync(workspace, { throwIfNoEntry: false })?.isDirectory()) {
    throw new CountersignError('WORKSPACE_NOT_FOUND', { path: workspace });
  }
  const policies = options.policy === undefined ? [] : [loadPolicy(options.policy, words)];
  const policy = new ToolCallPolicy({ root: workspace, disk: realDisk, home: homedir(), policies });
  switch (action) {
    case 'explain':
      return explainCall(policy, typed, terminal, { workspace, json: options.json === true, words });
    case 'check':
      refuseWords(typed, words);
      return checkCalls(policy, terminal, words);
    case 'try':
      refuseWords(typed, words);
      return tryCalls(policy, terminal, { workspace, words });
    default:
      throw usage(words.noCommand(`policy ${action}`));
  }
}

/** Our options stand before the tool; everything after it belongs to the call, even if it looks like an option. */
function splitOptions(argv: readonly string[]) {
  const withValue = new Set(['--workspace', '--policy', '--lang']);
  let end = 0;
  while (end < argv.length && argv[end]?.startsWith('-')) end += withValue.has(argv[end] as string) ? 2 : 1;
  const { values } = readOptions('policy', argv.slice(0, end));
  return { options: values, typed: argv.slice(end) };
}

function refuseWords([first]: readonly string[], words: Words): void {
  if (first !== undefined) throw usage(words.unexpected(first));
}

function loadPolicy(path: string, words: Words): LoadedPolicy {
  const reading = readPolicyFile(readPolicyText(path, words), 'person');
  if (!reading.ok) throw new CountersignError('POLICY_INVALID', { problem: reading.problem });
  return reading.policy;
}
