import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { BENIGN } from './benign.test-data.ts';
import { ShellValidator } from './shell-validator.ts';

const validator = new ShellValidator({
  paths: new PathValidator({ root: '/home/ann/code/work/project' }),
  home: '/home/ann',
});

describe.each(Object.entries(BENIGN))('[VA-9] does not refuse %s', (_, lines) => {
  it.each(lines.map((line) => [line] as const))('%s', (line) => {
    const { verdict } = validator.check(line);
    expect({
      line,
      decision: verdict.decision,
      reasons: verdict.decision === 'REJECT' ? verdict.reasons : [],
    }).toEqual({ line, decision: 'HIGH', reasons: [] });
  });
});
