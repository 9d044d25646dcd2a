import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { GRANTABLE, PERSON } from './needs-person.test-data.ts';
import { ShellValidator } from './shell-validator.ts';

const validator = new ShellValidator({
  paths: new PathValidator({ root: '/home/ann/code/work/project' }),
  home: '/home/ann',
});

const needsPerson = (line: string): { line: string; decision: string; needsPerson: boolean } => {
  const { verdict, needsPerson } = validator.check(line);
  return { line, decision: verdict.decision, needsPerson };
};

describe('[RK-5] lines that no grant and no allow rule may answer for', () => {
  it.each(PERSON)('needs a person: %s', (line) => {
    expect(needsPerson(line)).toEqual({ line, decision: 'HIGH', needsPerson: true });
  });
  it.each(GRANTABLE)('may be granted: %s', (line) => {
    expect(needsPerson(line)).toEqual({ line, decision: 'HIGH', needsPerson: false });
  });
});
