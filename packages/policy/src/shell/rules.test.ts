// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text, not a template

import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { codeOptions, executedFiles } from '../program/executed-code.ts';
import { wrappers } from '../program/wrappers.ts';
import { catastropheList } from './catastrophes.ts';
import { ShellValidator } from './shell-validator.ts';
import { programWarnings, type Warning, warnings } from './warnings.ts';

const validator = new ShellValidator({
  paths: new PathValidator({ root: '/home/ann/code/work/project' }),
  home: '/home/ann',
});
const rulesOf = (line: string): string[] => validator.check(line).verdict.reasons.map(({ rule }) => rule);

describe.each(catastropheList.map((rule) => [rule.id, rule] as const))('[VA-6] %s', (id, rule) => {
  it.each(rule.matches)('refuses: %s', (line) => {
    expect({ line, decision: validator.check(line).verdict.decision, rules: rulesOf(line) }).toEqual({
      line,
      decision: 'REJECT',
      rules: [id],
    });
  });
  it.each(rule.doesNotMatch)('does not refuse: %s', (line) => {
    expect({ line, decision: validator.check(line).verdict.decision }).toEqual({ line, decision: 'HIGH' });
  });
});

describe.each(
  [...Object.values<Warning>(warnings), ...programWarnings].map((rule) => [rule.id, rule] as const),
)('[RK-3] %s', (id, rule) => {
  it.each(rule.matches.length > 0 ? rule.matches : [undefined])('warns: %s', (line) => {
    if (line === undefined) return;
    expect({ line, rules: rulesOf(line) }).toEqual({ line, rules: expect.arrayContaining([id]) });
    if (rule.needsPerson)
      expect({ line, ...validator.check(line) }).toMatchObject({ line, needsPerson: true });
  });
  it.each(rule.doesNotMatch)('does not warn: %s', (line) => {
    expect({ line, rules: rulesOf(line) }).toEqual({ line, rules: expect.not.arrayContaining([id]) });
  });
});

describe('[VA-6] wrappers and options that execute', () => {
  it.each([...wrappers, ...codeOptions].flatMap(({ matches }) => matches))('opens: %s', (line) => {
    expect({ line, rules: rulesOf(line) }).toEqual({ line, rules: ['SH-1'] });
  });
  it.each(['git push -u origin main', 'git clean -fd -x build', 'git add -u src', 'git diff -u a b'])(
    'starts nothing but git: %s',
    (line) => {
      expect(validator.check(line).commands).toEqual([{ words: line.split(' ') }]);
    },
  );
});

describe('[VA-6] files that a program executes', () => {
  it.each(executedFiles.flatMap(({ matches }) => matches))('refuses a downloaded one: %s', (line) => {
    expect({ line, rules: rulesOf(line) }).toEqual({ line, rules: ['SH-10'] });
  });
  it.each(executedFiles.flatMap(({ doesNotMatch }) => doesNotMatch))('leaves to the person: %s', (line) => {
    expect({ line, decision: validator.check(line).verdict.decision }).toEqual({ line, decision: 'HIGH' });
  });
});
