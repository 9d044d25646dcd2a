import { realDisk, type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { buildTools } from '../program/build/build-manuals.ts';
import { lineProgramRules } from '../program/line-manuals.ts';
import { LineAssessor, lineRules } from './line-assessor.ts';

const order = ['LOW', 'MEDIUM', 'HIGH', 'REJECT'];

let workspace: TemporaryWorkspace;
let lines: LineAssessor;
beforeAll(() => {
  workspace = temporaryWorkspace();
  workspace.apply([
    { op: 'file', path: 'node_modules/.bin/some-tool', content: '' },
    { op: 'file', path: '.venv/bin/some-tool', content: '' },
  ]);
  lines = new LineAssessor({ paths: new PathValidator({ root: workspace.root, disk: realDisk }) });
});
afterAll(() => workspace.remove());

const check = (line: string) => lines.check(line);
const rulesOf = (line: string): string[] => check(line).verdict.reasons.map(({ rule }) => rule);

describe('[RK-3] every rule of shell lines', () => {
  const all = [...lineRules, ...lineProgramRules];

  it('has an id of its own and a sentence for the person', () => {
    const ids = all.map(({ id }) => id);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
    for (const { why } of all) expect(why).toMatch(/^[a-z].{10,}[^.]$/);
  });

  for (const rule of all) {
    it.each(rule.matches)(`${rule.id} applies to: %s`, (line) => {
      const { verdict, needsPerson } = check(line);
      expect({ line, rules: rulesOf(line) }).toEqual({ line, rules: expect.arrayContaining([rule.id]) });
      expect(order.indexOf(verdict.decision)).toBeGreaterThanOrEqual(order.indexOf(rule.risk));
      if (rule.needsPerson) expect(needsPerson).toBe(true);
    });
    it.each(rule.doesNotMatch)(`${rule.id} does not apply to: %s`, (line) => {
      expect({ line, rules: rulesOf(line) }).toEqual({ line, rules: expect.not.arrayContaining([rule.id]) });
    });
  }
});

describe('[RK-2] programs that build and test', () => {
  const examples = (pick: (tool: (typeof buildTools)[number]) => string | undefined): string[] =>
    buildTools.flatMap((tool) => pick(tool)?.split('; ') ?? []);
  const outcome = (line: string): object => {
    const { verdict } = check(line);
    return { line, decision: verdict.decision, network: verdict.decision !== 'REJECT' && verdict.network };
  };

  it.each(examples(({ medium }) => medium))('MEDIUM without network: %s', (line) => {
    expect(outcome(line)).toEqual({ line, decision: 'MEDIUM', network: false });
  });
  it.each(examples(({ online }) => online))('MEDIUM with network: %s', (line) => {
    expect(outcome(line)).toEqual({ line, decision: 'MEDIUM', network: true });
  });
  it.each(examples(({ high }) => high))('HIGH: %s', (line) => {
    expect({ line, decision: check(line).verdict.decision }).toEqual({ line, decision: 'HIGH' });
  });
});
