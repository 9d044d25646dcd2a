import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { DISGUISED } from './attacks.test-data.ts';
import { ShellValidator } from './shell-validator.ts';

const validator = new ShellValidator({
  paths: new PathValidator({ root: '/home/ann/code/work/project' }),
  home: '/home/ann',
});
const withoutHome = new ShellValidator({ paths: new PathValidator({ root: '/srv/build/project' }) });

describe.each(Object.entries(DISGUISED))('[VA-6] refuses where %s', (_, lines) => {
  it.each(lines.map((line) => [line] as const))('%s', (line) => {
    expect({ line, decision: validator.check(line).verdict.decision }).toEqual({ line, decision: 'REJECT' });
  });
  it.each(lines.map((line) => [line] as const))('without knowing the home: %s', (line) => {
    const known = /\$\{PWD%%|work$|HOME%/.test(line) || withoutHome.check(line).verdict.decision === 'REJECT';
    expect({ line, known }).toEqual({ line, known: true });
  });
});
