import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { SECRETS } from './secrets.test-data.ts';
import { ShellValidator } from './shell-validator.ts';

const validator = new ShellValidator({
  paths: new PathValidator({ root: '/home/ann/code/work/project' }),
  home: '/home/ann',
});

describe('[VA-2] refuses secrets as operands', () => {
  it.each(SECRETS)('%s', (line) => {
    const { verdict } = validator.check(line);
    expect({ line, code: verdict.decision === 'REJECT' ? verdict.code : verdict.decision }).toEqual({
      line,
      code: 'PATH_SENSITIVE',
    });
  });
});
