import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type LoadedPolicy, readPolicyFile, ToolCallPolicy } from '@countersign/policy';
import { CountersignError } from '@countersign/protocol';
import { realDisk } from '@countersign/tool-runner';
import type { CommandContext } from './command-context.ts';
import { checkCalls } from './policy-check.ts';
import { explainCall } from './policy-explain.ts';
import { tryCalls } from './policy-try.ts';

const help = `countersign policy: what would be decided about tool calls. Nothing is executed.

  countersign policy explain [OPTIONS] TOOL [NAME=VALUE …]
      countersign policy explain write_file path=README.md content=hello
      countersign policy explain run npm install express
      countersign policy explain shell_exec command='rm -rf build'
      countersign policy explain read_file '{"path": "src/index.ts"}'

  countersign policy check [OPTIONS] < calls.jsonl
      reads one call a line, {"id"?, "tool", "args"}, and prints one decision a line,
      {"id", "decision": "LOW|MEDIUM|HIGH|REJECT", "code"?, "reasons": [{"rule", "why"}]}

  countersign policy try [OPTIONS]
      type calls in the form of explain, one a line

  countersign policy backtest FILE [--since TIME] [--server URL] [--json]
      what a new rule, or each rule of a policy file, would have decided on your recorded calls; nothing is saved

Options
  --workspace DIR   the workspace the call is made in (default: this directory)
  --policy FILE     apply this policy file as your own (default: none)
  --json            explain: print the decision as JSON
`;

/** `countersign policy …` (RK-4, RK-5). */
export async function policyCommand(argv: readonly string[], context: CommandContext): Promise<number> {
  const { terminal } = context;
  const [action, ...rest] = argv;
  if (action === undefined || action === '--help' || action === '-h' || rest.includes('--help')) {
    await terminal.write(help);
    return 0;
  }
  if (action === 'backtest') return (await import('./policy-backtest.ts')).backtestRules(rest, context);
  const { options, words } = readOptions(rest);
  const workspace = resolve(options.workspace ?? '.');
  if (!statSync(workspace, { throwIfNoEntry: false })?.isDirectory()) {
    throw new CountersignError('WORKSPACE_NOT_FOUND', { path: workspace });
  }
  const policies = options.policy === undefined ? [] : [loadPolicy(options.policy)];
  const policy = new ToolCallPolicy({ root: workspace, disk: realDisk, home: homedir(), policies });
  switch (action) {
    case 'explain':
      return explainCall(policy, words, terminal, { workspace, json: options.json === true });
    case 'check':
      refuseWords(words);
      return checkCalls(policy, terminal);
    case 'try':
      refuseWords(words);
      return tryCalls(policy, terminal, workspace);
    default:
      throw usage(`There is no "policy ${action}"`);
  }
}

interface PolicyOptions {
  readonly workspace?: string | undefined;
  readonly policy?: string | undefined;
  readonly json?: boolean | undefined;
}

/** Options stand before the tool; what follows it belongs to the call, also when it looks like an option. */
function readOptions(argv: readonly string[]): { options: PolicyOptions; words: readonly string[] } {
  const withValue = new Set(['--workspace', '--policy']);
  let end = 0;
  while (end < argv.length && argv[end]?.startsWith('-')) end += withValue.has(argv[end] as string) ? 2 : 1;
  const { values } = parseArgs({
    args: argv.slice(0, end),
    options: { workspace: { type: 'string' }, policy: { type: 'string' }, json: { type: 'boolean' } },
  });
  return { options: values, words: argv.slice(end) };
}

function refuseWords(words: readonly string[]): void {
  if (words.length > 0) throw usage(`"${words[0]}" is not expected here`);
}

function loadPolicy(path: string): LoadedPolicy {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new CountersignError('POLICY_INVALID', { problem: `"${path}" cannot be read` }, { cause });
  }
  const reading = readPolicyFile(text, 'person');
  if (!reading.ok) throw new CountersignError('POLICY_INVALID', { problem: reading.problem });
  return reading.policy;
}

const usage = (problem: string): CountersignError =>
  new CountersignError('USAGE', { problem, help: 'countersign policy --help' });
