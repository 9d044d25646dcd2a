import { describe, expect, it } from 'vitest';
import { policyFileSchema } from './policy-file.ts';

describe('policyFileSchema', () => {
  it('[RK-5] takes a file that says nothing', () => {
    expect(policyFileSchema.parse({ version: 1 })).toEqual({ version: 1, rules: [] });
  });

  it('[RK-5] adds a program as MEDIUM unless the person says otherwise', () => {
    const { programs } = policyFileSchema.parse({
      version: 1,
      programs: [{ name: 'cargo' }, { name: 'jq', risk: 'LOW' }],
    });
    expect(programs).toEqual([
      { name: 'cargo', risk: 'MEDIUM' },
      { name: 'jq', risk: 'LOW' },
    ]);
  });

  it.each<[object, string]>([
    [{}, 'no version'],
    [{ version: 2 }, 'a version of the future'],
    [{ version: 1, rule: [] }, 'a misspelt field'],
    [{ version: 1, rules: [{ id: 'a', effect: 'permit', tool: '*' }] }, 'an unknown effect'],
    [{ version: 1, rules: [{ id: 'a', effect: 'deny' }] }, 'a rule without a tool'],
    [{ version: 1, programs: [{ name: '../cat' }] }, 'a program by its path'],
  ])('refuses %j: %s', (file) => {
    expect(policyFileSchema.safeParse(file).success).toBe(false);
  });
});
