/** Every reason that a rule gives has a Russian translation. */
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

/** Calls of each tool, some of them refused: their reasons are in no table of rules. */
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
  // Three English words in a row would be untranslated; messages of the shell parser stay English.
  expect(russian.replace('unterminated arithmetic command', '')).not.toMatch(
    /\b[a-z]{2,} [a-z]{2,} [a-z]{2,}\b/,
  );
});
