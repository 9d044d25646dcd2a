/** Every sentence that our code gives as a reason has an id in packages/words, with the same English. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue, type ToolDefinition } from '@countersign/protocol';
import { approvalWords } from '@countersign/words';
import { expect, it } from 'vitest';
import { assessCustomCall } from '../packages/policy/src/custom/assess-custom-call.ts';
import { isRefused, ToolCallPolicy } from '../packages/policy/src/index.ts';
import { type Sentence, sayIn, sentences } from '../packages/words/src/said.ts';
import { ruleSentences, ruleSentencesFile, ruleSentencesPath } from './rule-sentences.ts';

const root = join(import.meta.dirname, '..');
/** Sentences that are not in our sources as they stand: Node says some, and others are put together from parts. */
const composed =
  /^(there-no-|unknown-option|option-|address-in-use|database-use|fork-bomb-operand|path-executable|own-policy|workspace-policy|mb-written)/;

type Call = readonly [tool: string, params: object];

/** The example calls of each built-in tool. */
const examples = catalogue.flatMap(({ name }): Call[] => {
  const file = join(root, 'packages/protocol/fixtures/tools', `${name}.json`);
  const { params } = JSON.parse(readFileSync(file, 'utf8')) as { params: object[] };
  return params.map((example) => [name, example]);
});

/** More calls, most of them refused: their reasons are in no table of rules. */
const calls: readonly Call[] = [
  ...examples,
  ['read_file', { path: '.env' }],
  ['read_file', { path: '../a' }],
  ['read_file', { path: 'a\\b' }],
  ['read_file', { path: 'a/'.repeat(3_000) }],
  ['read_file', { path: 'a'.repeat(300) }],
  ['search_files', { pattern: '.env*' }],
  ['write_file', { path: 'a.exe', content: '' }],
  ['write_file', { path: '.git/config', content: '' }],
  ['execute_command', { command: 'rm', args: ['a'] }],
  ['shell_exec', { command: 'ls' }],
  ['shell_exec', { command: 'ls; ((' }],
  ['shell_exec', { command: 'echo x > .git/config' }],
  ['shell_exec', { command: 'b() { b | b & }; b' }],
  ['git_branch', {}],
  ['git_branch', { name: 'b', create: true }],
];
const policy = new ToolCallPolicy({ root: '/workspace' });
const given = calls.flatMap(([tool, params]) => {
  const { verdict } = policy.decide(tool, params);
  return [...verdict.reasons, ...(isRefused(verdict) ? [verdict] : [])];
});
const own = { description: '', network: false, input_schema: {}, category: 'custom' };
const hints = { read_only: true, destructive: true, requires_approval: true };
const custom = assessCustomCall({ name: 'a__b', risk_level: 'MEDIUM', ...own, ...hints }).verdict.reasons;

/**
 * Other sentences that a person reads, found in our sources: why a call is asked about again, why an audit log is
 * broken.
 */
const written = (file: string, sentence: RegExp): string[] =>
  [...readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').matchAll(sentence)].map(
    ([, text]) => text as string,
  );
const stale = [
  ...written('packages/engine/src/claim/claims.ts', /code: '[A-Z_]+', problem: '([^']+)'/g),
  ...written('packages/engine/src/approve/policy-review.ts', /'(your policy [^']+)'/g),
];
const broken = written('packages/store/src/audit-log.ts', /broken\([^;']*'([^']+)'\)/g);

it('finds the sentences in the sources', () => {
  expect(stale.length).toBeGreaterThanOrEqual(5);
  expect(broken.length).toBeGreaterThanOrEqual(7);
});

const textOf = (sentence: Sentence): string =>
  typeof sentence === 'string' ? sentence : 'why' in sentence ? sentence.why : sentence.message;
const all: readonly Sentence[] = [...ruleSentences.values(), ...given, ...custom, ...stale, ...broken];

it.each([...new Map(all.map((sentence) => [textOf(sentence), sentence]))])('[UI-1] %s', (_, sentence) => {
  const russian = sayIn('ru')(sentence);
  expect(russian).toMatch(/[а-яё]{3}/i);
  // Three English words in a row would be a part that was not understood; those of the shell's parser are not ours.
  expect(russian.replace('unterminated arithmetic command', '')).not.toMatch(
    /\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b/,
  );
});

/** A LOW tool asks only for the sake of one file or of a person's own rule; its card then has the server's English sentence. */
const asking = catalogue
  .filter(({ baseRisk }) => baseRisk !== 'LOW')
  .flatMap(({ name, uses = [] }: ToolDefinition) => [name, ...uses.map(({ intent }) => intent)]);
const { en: _, ...otherLanguages } = approvalWords;

it.each(Object.entries(otherLanguages))(
  '[UI-1] has a title in "%s" for each tool that asks',
  (_, { title }) => {
    expect(asking.filter((intent) => !title[intent])).toEqual([]);
  },
);

const english: Readonly<Record<string, string>> = sentences.en;

it('[RK-3] the English of each rule is what packages/words has; else run node tooling/rule-sentences.ts', () => {
  expect(readFileSync(ruleSentencesPath, 'utf8')).toBe(ruleSentencesFile);
});

it('has no sentence that no code uses any more', () => {
  const ours = execFileSync('git', ['ls-files', 'packages', 'apps'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$|^packages\/words\//.test(file))
    .filter((file) => existsSync(join(root, file)));
  const source = ours
    .map((file) => readFileSync(join(root, file), 'utf8'))
    .join('\n')
    .replaceAll("\\'", "'");
  const isSaid = (text: string): boolean =>
    text.split(/\{\w+\}/).every((part) => source.includes(part.trim()));
  const unsaid = Object.entries(english).filter(([id, text]) => !composed.test(id) && !isSaid(text));
  expect(unsaid).toEqual([]);
});
