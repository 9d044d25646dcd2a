/** Every sentence that a rule of ours gives as a reason has its Russian one: the page is whole in both languages. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { assessCustomCall } from '../packages/policy/src/custom/assess-custom-call.ts';
import { executingPlaces, isRefused, sensitivePlaces, ToolCallPolicy } from '../packages/policy/src/index.ts';
import { commandRules } from '../packages/policy/src/program/manuals.ts';
import { catastropheList } from '../packages/policy/src/shell/catastrophes.ts';
import { programWarnings, warnings } from '../packages/policy/src/shell/warnings.ts';
import { writeRules } from '../packages/policy/src/write-rules.ts';
import { languages } from '../packages/ui/src/words/words.ts';

const rules = [
  ...commandRules,
  ...Object.values(warnings),
  ...programWarnings,
  ...catastropheList,
  ...writeRules,
];
const places = [...executingPlaces.places, ...sensitivePlaces.places];

/** Calls of each tool, and some that are refused: what is said where no table has it. */
const calls: readonly (readonly [tool: string, params: object])[] = [
  ['read_file', { path: 'a.md' }],
  ['read_file', { path: '.env' }],
  ['read_file', { path: '../a' }],
  ['read_file', { path: 'a\\b' }],
  ['read_file', { path: 'a/'.repeat(3_000) }],
  ['read_file', { path: 'a'.repeat(300) }],
  ['list_directory', { path: '.' }],
  ['search_files', { content: 'x' }],
  ['search_files', { pattern: '.env*' }],
  ['diagnostics', { path: 'a.ts' }],
  ['write_file', { path: 'a.exe', content: '' }],
  ['write_file', { path: '.git/config', content: '' }],
  ['delete_file', { path: 'a' }],
  ['create_directory', { path: 'a' }],
  ['execute_command', { command: 'rm', args: ['a'] }],
  ['shell_exec', { command: 'ls' }],
  ['shell_exec', { command: 'ls; ((' }],
  ['shell_exec', { command: 'echo x > .git/config' }],
  ['shell_exec', { command: 'b() { b | b & }; b' }],
  ['shell_output', { job_id: 'a' }],
  ['git_status', {}],
  ['git_commit', { message: 'm', files: ['a'] }],
  ['git_branch', {}],
  ['git_branch', { name: 'b', create: true }],
  ['git_push', {}],
];
const policy = new ToolCallPolicy({ root: '/workspace' });
const given = calls.flatMap(([tool, params]) => {
  const { verdict } = policy.decide(tool, params);
  return [...verdict.reasons.map(({ why }) => why), ...(isRefused(verdict) ? [verdict.message] : [])];
});
const own = { description: '', network: false, input_schema: {}, category: 'custom' };
const hints = { read_only: true, destructive: true, requires_approval: true };
const custom = assessCustomCall({ name: 'a__b', risk_level: 'MEDIUM', ...own, ...hints }).verdict.reasons.map(
  ({ why }) => why,
);

/** What else a person reads, by where it stands in our sources: why a call is asked about again, why a log is broken. */
const written = (file: string, sentence: RegExp): string[] =>
  [...readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').matchAll(sentence)].map(
    ([, text]) => text as string,
  );
const stale = [
  ...written('packages/engine/src/claim/claims.ts', /code: '[A-Z_]+', problem: '([^']+)'/g),
  ...written('packages/engine/src/approve/policy-review.ts', /'(your policy [^']+)'/g),
];
const broken = written('packages/store/src/audit-log.ts', /broken\([^;']*'([^']+)'\)/g);

it('finds what is written', () => {
  expect(stale.length).toBeGreaterThanOrEqual(5);
  expect(broken.length).toBeGreaterThanOrEqual(7);
});

it.each([
  ...new Set([
    ...rules.map(({ why }) => why),
    ...places.map(({ kind }) => kind),
    ...given,
    ...custom,
    ...stale,
    ...broken,
  ]),
])('[UI-1] %s', (english) => {
  const russian = languages.ru.said(english);
  expect(russian).toMatch(/[а-яё]{3}/i);
  // Three English words in a row would be a part that was not understood; those of the shell's parser are not ours.
  expect(russian.replace('unterminated arithmetic command', '')).not.toMatch(
    /\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b/,
  );
});
