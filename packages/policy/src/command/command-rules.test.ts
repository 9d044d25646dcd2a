import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { commandRules } from '../program/manuals.ts';
import { CommandValidator } from './command-validator.ts';
import { splitExample } from './split-example.test-data.ts';

const validator = new CommandValidator({ paths: new PathValidator({ root: '/home/me/project' }) });

function check(line: string) {
  const [command, ...args] = splitExample(line);
  return validator.check(command, args);
}

describe('[RK-3] every rule of CommandValidator', () => {
  it('has an id of its own and a sentence for the person', () => {
    const ids = commandRules.map(({ id }) => id);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
    for (const { why } of commandRules) expect(why).toMatch(/^[a-z].{10,}[^.]$/);
  });

  for (const rule of commandRules) {
    for (const line of rule.matches) {
      it(`${rule.id} applies to: ${line}`, () => {
        const { verdict, needsPerson } = check(line);
        expect(verdict.reasons.map((reason) => reason.rule)).toContain(rule.id);
        if (rule.needsPerson) expect(verdict.decision === 'REJECT' || needsPerson).toBe(true);
        const order = ['LOW', 'MEDIUM', 'HIGH', 'REJECT'];
        expect(order.indexOf(verdict.decision)).toBeGreaterThanOrEqual(order.indexOf(rule.risk));
      });
    }
    for (const line of rule.doesNotMatch) {
      it(`${rule.id} does not apply to: ${line}`, () => {
        expect(check(line).verdict.reasons.map((reason) => reason.rule)).not.toContain(rule.id);
      });
    }
  }
});
