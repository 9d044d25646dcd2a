import { describe, expect, it } from 'vitest';
import { writeRuleFor, writeRules } from './write-rules.ts';

describe('[RK-2] write rules', () => {
  it.each(writeRules.map((rule) => [rule.id, rule] as const))('%s holds for its own examples', (id, rule) => {
    expect(rule.matches.filter((path) => writeRuleFor(path).id !== id)).toEqual([]);
    expect(rule.doesNotMatch.filter((path) => writeRuleFor(path).id === id)).toEqual([]);
  });
});
