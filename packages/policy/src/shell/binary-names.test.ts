import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { binaryNames } from './operands.ts';
import { ShellValidator } from './shell-validator.ts';

const validator = new ShellValidator({
  paths: new PathValidator({ root: '/home/ann/code/work/project' }),
  home: '/home/ann',
});
const outcomeOf = (line: string): string => {
  const { verdict } = validator.check(line);
  return verdict.decision === 'REJECT' ? verdict.code : verdict.decision;
};

describe('[TL-4] names of binaries in shell lines', () => {
  it.each(binaryNames.refused)('refuses: %s', (line) => {
    expect({ line, outcome: outcomeOf(line) }).toEqual({ line, outcome: 'EXTENSION_REFUSED' });
  });
  it.each(binaryNames.allowed)('leaves to the person: %s', (line) => {
    expect({ line, outcome: outcomeOf(line) }).toEqual({ line, outcome: 'HIGH' });
  });
});
