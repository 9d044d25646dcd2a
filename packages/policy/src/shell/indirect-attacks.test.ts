import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { INDIRECT } from './indirect-attacks.test-data.ts';
import { ShellValidator } from './shell-validator.ts';

const validator = new ShellValidator({
  paths: new PathValidator({ root: '/home/ann/code/work/project' }),
  home: '/home/ann',
});
const withoutHome = new ShellValidator({ paths: new PathValidator({ root: '/srv/build/project' }) });

describe.each(Object.entries(INDIRECT))('[VA-6] refuses where %s', (_, lines) => {
  it.each(lines.map((line) => [line] as const))('%s', (line) => {
    const decisions = [validator, withoutHome].map((one) => one.check(line).verdict.decision);
    expect({ line, decisions }).toEqual({ line, decisions: ['REJECT', 'REJECT'] });
  });
});
