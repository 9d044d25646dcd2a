import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  realDisk,
  securityCases,
  securityFolder,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as added from './command/added-programs.test-data.ts';
import { spellings } from './command/command-spellings.test-data.ts';
import { NOT_PROGRAMS } from './command/command-validator.test-data.ts';
import { harmlessBuilders } from './command/harmless-builders.ts';
import { NOT_COVERED } from './command/harmless-commands.test-data.ts';
import { harmlessCommands } from './command/harmless-commands.ts';
import * as commandGrants from './command/needs-person.test-data.ts';
import { splitExample } from './command/split-example.test-data.ts';
import {
  executingPlaces,
  isHarmlessCommand,
  isRefused,
  type PolicyDecision,
  readPolicyFile,
  SecretMasker,
  sensitivePlaces,
  ToolCallPolicy,
} from './index.ts';
import { codeOptions, executedFiles } from './program/executed-code.ts';
import { commandRules } from './program/manuals.ts';
import * as lastOptions from './program/options.test-data.ts';
import { wrappers } from './program/wrappers.ts';
import { readableTexts, secretFields, secretSpellings } from './secret-masker.test-data.ts';
import { argumentsOf } from './security-case-arguments.test-data.ts';
import { DISGUISED } from './shell/attacks.test-data.ts';
import { BENIGN } from './shell/benign.test-data.ts';
import { catastropheList } from './shell/catastrophes.ts';
import * as evaluated from './shell/evaluated-text.test-data.ts';
import { INDIRECT } from './shell/indirect-attacks.test-data.ts';
import * as shellGrants from './shell/needs-person.test-data.ts';
import { binaryNames } from './shell/operands.ts';
import * as secrets from './shell/secrets.test-data.ts';
import * as network from './shell/shell-check.test-data.ts';
import { SLOW, TOO_COMPLEX, UNPARSABLE, WRAPPINGS } from './shell/shell-properties.test-data.ts';
import { programWarnings, type Warning, warnings } from './shell/warnings.ts';
import { LEVELS } from './tool-call-policy.test-data.ts';
import type { ToolCallPolicyOptions } from './tool-call-policy.ts';
import { writeRules } from './write-rules.ts';

/**
 * The decision of the policy on every example that we have, one line each, in packages/policy/goldens. Every example goes
 * through `ToolCallPolicy.decide`, so the code behind it can be rewritten freely. Lines are sorted, so the place of an
 * example in the sources does not matter. `vitest -u` rewrites the files.
 */
const golden = (name: string): string => `../goldens/${name}.txt`;

/** A text that is too long to read is shown by its beginning and a digest. */
const LONGEST = 600;
function short(text: string): string {
  if (text.length <= LONGEST) return visible(text);
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 12);
  return `${visible(text.slice(0, LONGEST / 4))}… (${text.length} characters, ${digest})`;
}
const visible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`);
const quoted = (value: unknown): string => short(JSON.stringify(value) ?? 'undefined');

/** All fields of a decision, except empty ones. */
function describeDecision({ verdict, assessed, allowedBy, askedBy, details }: PolicyDecision): string {
  const operands = details?.operands.map(
    ({ path, use, implied, readsFreely }) =>
      `${use}${implied ? ' implied' : ''}${readsFreely ? ' freely' : ''} ${JSON.stringify(path)}`,
  );
  const commands = details?.commands.map(({ words }) => words.map((word) => word ?? null));
  const harmless = details?.commands.every(({ words }) => isHarmlessCommand(words));
  return [
    isRefused(verdict) ? `REJECT ${verdict.code}` : verdict.decision,
    assessed && assessed.decision !== verdict.decision && `assessed ${assessed.decision}`,
    allowedBy && `allowed by ${allowedBy.id}`,
    askedBy && `asked by ${askedBy.id}`,
    ...verdict.reasons.map(
      ({ rule, why, operand }) =>
        `${rule}: ${short(why)}${operand === undefined ? '' : ` (${quoted(operand)})`}`,
    ),
    isRefused(verdict) && `message ${quoted(verdict.message)}`,
    !isRefused(verdict) && verdict.network && 'network',
    details?.needsPerson && 'needs a person',
    commands?.length && harmless && 'harmless',
    operands?.length && short(operands.join(', ')),
    commands?.length && `runs ${quoted(commands)}`,
    details?.environment?.length && `sets ${quoted(details.environment)}`,
  ]
    .filter((part) => typeof part === 'string')
    .join(' | ');
}

/** Only the outcome and the rule that decided it, for calls whose reasons are listed in full in another file. */
function describeOutcome({ verdict, allowedBy, askedBy, details }: PolicyDecision): string {
  return [
    isRefused(verdict) ? `REJECT ${verdict.code}` : verdict.decision,
    allowedBy && `allowed by ${allowedBy.id}`,
    askedBy && `asked by ${askedBy.id}`,
    verdict.reasons.map(({ rule }) => rule).join(' '),
    details?.needsPerson && 'needs a person',
  ]
    .filter((part) => typeof part === 'string')
    .join(' | ');
}

type Call = readonly [tool: string, params: unknown];

const shell = (line: string): Call => ['shell_exec', { command: line }];
function command(line: string): Call {
  const [program, ...args] = splitExample(line);
  return ['execute_command', { command: program, args }];
}

/** A call as it stands at the beginning of its line: a shell line and a command are their text, the rest is JSON. */
function describeCall([tool, params]: Call): string {
  return `${tool} ${quoted(tool === 'shell_exec' ? Object.values(params as object)[0] : params)}`;
}

/** `lines` sorted by code units, each once, so that neither order nor place of the examples shows. */
const fileOf = (lines: readonly string[]): string => `${[...new Set(lines)].sort().join('\n')}\n`;

function decisionsOn(
  calls: readonly Call[],
  options: ToolCallPolicyOptions,
  describe: (decision: PolicyDecision) => string,
): string {
  const policy = new ToolCallPolicy(options);
  return fileOf(calls.map((call) => `${describeCall(call)} ⇒ ${describe(policy.decide(...call))}`));
}

const inHome: ToolCallPolicyOptions = { root: '/home/ann/code/work/project', home: '/home/ann' };
const withoutHome: ToolCallPolicyOptions = { root: '/srv/build/project' };

function withOwnPolicy(file: object): ToolCallPolicyOptions {
  const reading = readPolicyFile(JSON.stringify({ version: 1, ...file }), 'person');
  if (!reading.ok) throw new Error(reading.problem);
  return { ...inHome, policies: [reading.policy] };
}

const all = (lists: Readonly<Record<string, readonly string[]>>): string[] => Object.values(lists).flat();
const examplesOf = (
  rules: readonly { readonly matches: readonly string[]; readonly doesNotMatch?: readonly string[] }[],
): string[] => rules.flatMap(({ matches, doesNotMatch = [] }) => [...matches, ...doesNotMatch]);

const commandExamples = [
  ...examplesOf(commandRules),
  // Builders run only in shell lines.
  ...harmlessCommands
    .filter((entry) => !harmlessBuilders.includes(entry))
    .flatMap(({ covers, doesNotCover = [] }) => [...covers, ...doesNotCover]),
];
const commandAttacks = [
  ...all(spellings),
  ...all(commandGrants),
  ...all(lastOptions),
  ...NOT_COVERED.filter((line) => line !== ''),
];
const addedLines = all(added);
const shellExamples = [
  ...examplesOf(catastropheList),
  ...examplesOf([...Object.values<Warning>(warnings), ...programWarnings]),
  ...examplesOf([...wrappers, ...codeOptions]),
  ...examplesOf(executedFiles),
  ...all(binaryNames),
];
const { withCode, COMPUTED, WRITTEN_OUT, NOT_EXECUTED, UNKNOWN_VALUES, PLAIN, REPLACED } = evaluated;
const evaluatedLines = [
  ...[...COMPUTED, ...WRITTEN_OUT, ...NOT_EXECUTED].flatMap((line) =>
    ['rm -rf /', 'sudo id', 'date'].map((code) => withCode(line, code)),
  ),
  ...UNKNOWN_VALUES,
  ...PLAIN,
  ...REPLACED,
];
const everydayLines = [...all(BENIGN), ...all(shellGrants), ...all(network), ...all(secrets)];
const wrappedLines = examplesOf(catastropheList).flatMap((line) => WRAPPINGS.map((wrap) => wrap(line)));
const pathCalls = examplesOf([...sensitivePlaces.places, ...executingPlaces.places, ...writeRules]).flatMap(
  (path): Call[] => [
    ['read_file', { path }],
    ['write_file', { path, content: 'x' }],
    ['delete_file', { path }],
    ['copy_file', { source: 'a.md', dest: path }],
    command(`cat '${path}'`),
    shell(`cat '${path}'`),
    shell(`echo x > '${path}'`),
  ],
);

const toolCalls = LEVELS.map(([tool, params]): Call => [tool, params]);

describe('[RK-3] the decision on every example stays the same', () => {
  const ownPolicy = withOwnPolicy({
    rules: [
      { id: 'no-docs', effect: 'deny', tool: '*', path: 'docs/**' },
      { id: 'ask-push', effect: 'ask', tool: '*', command: 'git push *' },
      { id: 'allow-git', effect: 'allow', tool: '*', command: 'git *', max_risk: 'HIGH' },
      { id: 'allow-npm', effect: 'allow', tool: '*', command: 'npm *' },
      { id: 'allow-source', effect: 'allow', tool: '*', path: 'src/**', max_risk: 'HIGH' },
    ],
    sensitive_paths: ['.env'],
  });
  const allowAll = withOwnPolicy({
    rules: [{ id: 'all', effect: 'allow', tool: '*', max_risk: 'HIGH' }],
  });
  const addedPrograms = withOwnPolicy({
    programs: 'bash sudo env make curl mkfs mkfs.ext4 docker rm dd cmake jq gh tool'
      .split(' ')
      .map((name) => ({ name })),
  });
  const attackLines = [...all(DISGUISED), ...all(INDIRECT)];
  const commandLines = [...commandExamples, ...commandAttacks];
  const mixed = [...commandLines.map(command), ...[...shellExamples, ...everydayLines].map(shell)];

  it.each<[name: string, calls: readonly Call[], options: ToolCallPolicyOptions]>([
    ['command-rules', commandExamples.map(command), inHome],
    ['command-attacks', commandAttacks.map(command), inHome],
    ['commands-in-a-shell', commandLines.map(shell), inHome],
    ['program-names', NOT_PROGRAMS.map((name): Call => ['execute_command', { command: name }]), inHome],
    ['added-programs', [...addedLines, ...commandAttacks].map(command), addedPrograms],
    ['shell-rules', shellExamples.map(shell), inHome],
    ['shell-attacks', attackLines.map(shell), inHome],
    ['shell-attacks-without-home', attackLines.map(shell), withoutHome],
    ['shell-evaluated-text', evaluatedLines.map(shell), inHome],
    ['shell-everyday', everydayLines.map(shell), inHome],
    ['shell-limits', [...SLOW, ...TOO_COMPLEX, ...UNPARSABLE].map(shell), inHome],
    ['paths', pathCalls, inHome],
    ['tools', toolCalls, inHome],
  ])('%s', async (name, calls, options) => {
    await expect(decisionsOn(calls, options, describeDecision)).toMatchFileSnapshot(golden(name));
  });

  it.each<[name: string, calls: readonly Call[], options: ToolCallPolicyOptions]>([
    ['shell-attacks-wrapped', wrappedLines.map(shell), inHome],
    ['own-policy', [...mixed, ...pathCalls, ...toolCalls], ownPolicy],
    ['own-policy-allows-all', mixed, allowAll],
  ])('%s, in short', async (name, calls, options) => {
    await expect(decisionsOn(calls, options, describeOutcome)).toMatchFileSnapshot(golden(name));
  });
});

describe('[VA-9] the decision on every security case stays the same', () => {
  // Making a workspace is slow. Cases without a set-up share one, because a decision changes nothing.
  let untouched: TemporaryWorkspace;
  beforeAll(() => {
    untouched = temporaryWorkspace();
  });
  afterAll(() => untouched.remove());

  it.each(['commands', 'shell', 'paths'] as const)('%s', async (name) => {
    const lines = securityCases(name).map((one) => {
      const { tool, command, args, cwd, setup = [] } = one.input;
      const params = {
        commands: { command, args },
        shell: { command, cwd },
        paths: name === 'paths' ? argumentsOf(one) : {},
      }[name];
      const workspace = setup.length > 0 ? temporaryWorkspace() : untouched;
      try {
        workspace.apply(setup);
        const policy = new ToolCallPolicy({ root: workspace.root, disk: realDisk, home: '/home/person' });
        const described = describeDecision(policy.decide(tool, workspace.fill(params)))
          .replaceAll(workspace.root, '{workspace}')
          .replaceAll(workspace.outside, '{outside}');
        return `${one.id} ${tool} ${quoted(params)} ⇒ ${described}`;
      } finally {
        if (workspace !== untouched) workspace.remove();
      }
    });
    await expect(fileOf(lines)).toMatchFileSnapshot(golden(`security-${name}`));
  });
});

describe('[DA-3] what is masked stays the same', () => {
  const masker = new SecretMasker({
    known: ['correct-horse-battery', 'horse'],
    digest: (text) => createHash('sha256').update(text).digest('hex').slice(0, 12),
  });
  function masked(value: unknown): string {
    const before = quoted(value);
    const after = quoted(masker.maskValue(value));
    return `${before} ⇒ ${before === after ? 'unchanged' : after}`;
  }

  it('secrets in every spelling', async () => {
    const secret = 'Zk3vQ9xT1mLw7RbY5cNd';
    const spelled = secretSpellings.map((spell) => spell(secret));
    const values = [...spelled, ...readableTexts, ...secretFields, 'correct-horse-battery staple'];
    await expect(fileOf(values.map(masked))).toMatchFileSnapshot(golden('masked-secrets'));
  });

  it.each(['commands', 'shell', 'paths', 'http', 'events'])('the security cases: %s', async (name) => {
    const cases = readFileSync(new URL(`${name}.jsonl`, securityFolder), 'utf8').split('\n');
    const inputs = cases.filter((line) => line !== '').map((line) => JSON.parse(line).input as unknown);
    await expect(fileOf(inputs.map(masked))).toMatchFileSnapshot(golden(`masked-${name}`));
  });
});
