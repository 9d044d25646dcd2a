import { meetsExpectation, securityCases } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { ShellValidator } from './shell-validator.ts';

const root = '/home/ann/code/work/project';
const validator = new ShellValidator({ paths: new PathValidator({ root }), home: '/home/ann' });
const fill = (text: string): string => text.replaceAll('{workspace}', root);

describe('[VA-6] the security cases', () => {
  it.each(securityCases('shell').map((one) => [one.id, one] as const))('%s', (_, one) => {
    const { verdict } = validator.check(fill(one.input.command ?? ''), one.input.cwd && fill(one.input.cwd));
    const { decision } = verdict;
    expect({ line: one.input.command, decision, asExpected: meetsExpectation(decision, one.expect) }).toEqual(
      { line: one.input.command, decision, asExpected: true },
    );
  });
});
