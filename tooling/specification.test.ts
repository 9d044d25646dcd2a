/** The rules in the specification match the rule ids in sources, tests and documents. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtInToolNames } from '@countersign/protocol';
import { expect, it } from 'vitest';
import { repositoryRoot } from './set-up.mjs';

const read = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8');
const specification = read('docs/specification.md');

/** A paragraph that begins with `**AP-3**` defines the rule AP-3. */
const rules = [...specification.matchAll(/^\*\*([A-Z]{2}-\d+)\*\*/gm)].map(([, id = '']) => id);
const families = [...new Set(rules.map((id) => id.slice(0, 2)))];
const ruleId = new RegExp(`\\b(?:${families.join('|')})-\\d+\\b`, 'g');

const [, untestedSection = ''] = specification.split('## 14. Rules without a test of their own');
const untested = [...untestedSection.matchAll(/^\| ([A-Z]{2}-\d+) \| \S/gm)].map(([, id = '']) => id);

const files = execFileSync('git', ['ls-files'], { cwd: repositoryRoot, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((path) => /\.(?:ts|tsx|mjs|el|md)$/.test(path));
const isTest = (path: string): boolean =>
  /\.test\.tsx?$|-contract\.ts$/.test(path) || /^tests\/|^apps\/emacs\/test\//.test(path);

it('defines each rule once', () => {
  expect(rules.filter((id, index) => rules.indexOf(id) !== index)).toEqual([]);
  expect(rules.length).toBeGreaterThan(70);
});

it('defines every rule that sources, tests and documents name', () => {
  const unknown = files.flatMap((path) =>
    (read(path).match(ruleId) ?? []).filter((id) => !rules.includes(id)).map((id) => `${path}: ${id}`),
  );
  expect(unknown).toEqual([]);
});

it('[TL-1] lists the tools of the catalogue, and marks the others as not built', () => {
  const [, table = ''] = specification.split(/^\*\*TL-1\*\*/m);
  const [rows = ''] = table.split(/^\*\*TL-2\*\*/m);
  const tools = [...rows.matchAll(/^\| \w* ?\| (`[^|]+) \|/gm)].map(([, cell = '']) => cell);
  const named = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
  const [, unbuilt = ''] = specification.match(/^\| TL-1 \| ([^|]+) \|/m) ?? [];
  const isUnbuilt = (cell: string) => cell.includes('(not built yet: section 13)');
  expect(tools.filter((cell) => !isUnbuilt(cell)).flatMap(named)).toEqual(builtInToolNames);
  expect(named(unbuilt)).toEqual(expect.arrayContaining(tools.filter(isUnbuilt).flatMap(named)));
});

it('has a test for every rule, or a reason why there is none', () => {
  const tests = files.filter(isTest).map(read).join('\n');
  const proven = new Set((tests.match(/\[[A-Z]{2}-\d+\]/g) ?? []).map((id) => id.slice(1, -1)));
  expect(rules.filter((id) => !proven.has(id) && !untested.includes(id))).toEqual([]);
  // A rule that has a test must leave the list of untested rules.
  expect(untested.filter((id) => proven.has(id))).toEqual([]);
});

it('is complete: the repository names no document outside itself', () => {
  const elsewhere = /\b(?:SPEC|STYLE|DESIGN|TECH-NOTES)\.md\b|\b[Tt]he seeds\b|\bseeds[/:]/;
  const named = files.filter(
    (path) => path !== 'tooling/specification.test.ts' && elsewhere.test(read(path)),
  );
  expect(named).toEqual([]);
});
