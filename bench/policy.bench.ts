import {
  CommandValidator,
  PathValidator,
  readPolicyFile,
  SecretMasker,
  ShellValidator,
  ToolCallPolicy,
} from '@countersign/policy';
import { parseToolCall } from '@countersign/protocol';
import { realDisk, type SecurityCase, securityCases, temporaryWorkspace } from '@countersign/testing';
import { measure } from './measure.ts';
import type { Bench, Row } from './results.ts';

const microsecond = 1_000;

/** Decisions of each validator, one at a time, over the cases of security/ in turn. */
const policyBench: Bench = {
  name: 'policy: one decision',
  async run(): Promise<readonly Row[]> {
    const workspace = temporaryWorkspace();
    try {
      return decisions(workspace.root);
    } finally {
      workspace.remove();
    }
  },
};
export default policyBench;

function decisions(root: string): readonly Row[] {
  const byText = new PathValidator({ root });
  const onDisk = new PathValidator({ root, disk: realDisk });
  const commands = new CommandValidator({ paths: byText });
  const shell = new ShellValidator({ paths: byText });
  const policy = new ToolCallPolicy({ root });
  const policyOnDisk = new ToolCallPolicy({ root, disk: realDisk });
  const manyRules = new ToolCallPolicy({ root, policies: [policyOf(100)] });
  const masker = new SecretMasker({ digest: () => '' });
  const paths = inTurns([
    'README.md',
    'src/app.ts',
    'docs/../src/utils/helper.js',
    '../x',
    'config/.env',
    `${root}/package.json`,
  ]);
  const commandCases = inTurns(securityCases('commands'));
  const shellCases = inTurns(securityCases('shell'));
  const calls = inTurns(securityCases('paths').map(({ input }) => ({ tool: input.tool, args: input.args })));
  const checkCommand = ({ input }: SecurityCase) => commands.check(input.command, input.args);
  const rows = measure({
    'PathValidator, text only': () => byText.check(paths()),
    'PathValidator, real disk': () => onDisk.check(paths()),
    'CommandValidator, text only': () => checkCommand(commandCases()),
    ShellValidator: () => shell.check(shellCases().input.command),
    'file tools, text only': () => decide(policy, calls()),
    'file tools, real disk': () => decide(policyOnDisk, calls()),
    'file tools, 100 policy rules': () => decide(manyRules, calls()),
    'parameters of a call': () => parseToolCall('edit_file', { path: 'a.ts', old: 'x', new: 'y' }),
    'masking 200 characters': () => masker.maskText(text),
  });
  const limits: Readonly<Record<string, number>> = {
    'CommandValidator, text only': 20 * microsecond,
    ShellValidator: 200 * microsecond,
  };
  return rows.map((row) => {
    const limit = limits[row.name];
    return limit === undefined ? row : { ...row, limit };
  });
}

const decide = (policy: ToolCallPolicy, { tool, args }: { tool: string; args: unknown }) =>
  policy.decide(tool, args);

const text =
  'curl -H "Authorization: Bearer abcdefghijklmnop" https://example.org/api?token=1234567890 '.padEnd(
    200,
    'x',
  );

/** A policy of many rules that all miss, so that the whole list is checked for each call. */
function policyOf(count: number) {
  const rules = Array.from({ length: count }, (_, i) => ({
    id: `r${i}`,
    effect: 'deny',
    tool: '*',
    path: `never/${i}/**`,
  }));
  const reading = readPolicyFile(JSON.stringify({ version: 1, rules }), 'person');
  if (!reading.ok) throw new Error(reading.problem);
  return reading.policy;
}

/** Returns the values one after the other, over and over. */
function inTurns<T>(values: readonly T[]): () => T {
  let next = 0;
  return () => values[next++ % values.length] as T;
}
