import { realDisk, temporaryWorkspace } from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { CATASTROPHES, ORDINARY, OUTSIDE, SENSITIVE } from './added-programs.test-data.ts';
import { CommandValidator } from './command-validator.ts';
import { splitExample } from './split-example.test-data.ts';

const names = 'bash sudo env make curl mkfs mkfs.ext4 docker rm dd cmake jq gh tool'.split(' ');
const addedPrograms = new Map(names.map((name) => [name, 'MEDIUM'] as const));
const validator = new CommandValidator({
  paths: new PathValidator({ root: '/home/me/project' }),
  addedPrograms,
  home: '/home/me',
});

function decide(line: string) {
  const [command, ...args] = splitExample(line);
  return validator.check(command, args).verdict;
}

describe('[RK-5] a program that the person added does not lift', () => {
  it.each(CATASTROPHES)('the catastrophes: %s', (line) => {
    expect(decide(line)).toMatchObject({ decision: 'REJECT' });
  });

  it.each(OUTSIDE)('the workspace: %s', (line) => {
    expect(decide(line)).toMatchObject({ decision: 'REJECT' });
  });

  it.each(SENSITIVE)('what is sensitive: %s', (line) => {
    expect(decide(line)).toMatchObject({ decision: 'REJECT' });
  });

  it('a link out of the workspace', () => {
    const workspace = temporaryWorkspace();
    try {
      workspace.apply([{ op: 'symlink', path: 'third', target: '{outside}' }]);
      const paths = new PathValidator({ root: workspace.root, disk: realDisk });
      const real = new CommandValidator({ paths, addedPrograms });
      expect(real.check('tool', ['third/x']).verdict).toMatchObject({ code: 'PATH_OUTSIDE_WORKSPACE' });
      expect(real.check('tool', ['-fthird/x']).verdict).toMatchObject({ code: 'PATH_OUTSIDE_WORKSPACE' });
      expect(real.check('tool', ['docs/guide.md']).operands).toEqual([
        { path: 'docs/guide.md', use: 'read' },
      ]);
    } finally {
      workspace.remove();
    }
  });
});

describe('[RK-5] a program that the person added does its work', () => {
  it.each(ORDINARY)('MEDIUM: %s', (line) => {
    expect(decide(line)).toMatchObject({ decision: 'MEDIUM', reasons: [{ rule: 'CMD-ADDED' }] });
  });

  it('[AP-4] but no grant covers inline code', () => {
    const needsPerson = (line: string) => {
      const [command, ...args] = splitExample(line);
      return validator.check(command, args).needsPerson;
    };
    expect(["bash -c 'echo hi'", 'bash', 'env bash -c id'].map(needsPerson)).toEqual([true, true, true]);
    expect(['bash scripts/x.sh -c', 'make test', 'docker ps'].map(needsPerson)).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('[RK-5] lists the files that inline code names', () => {
    expect(validator.check('bash', ['-c', 'cat docs/guide.md > x.txt']).operands).toEqual(
      expect.arrayContaining([
        { path: 'docs/guide.md', use: 'read' },
        { path: 'x.txt', use: 'write' },
      ]),
    );
  });

  it('says whether it needs network', () => {
    expect(decide('curl https://example.com')).toMatchObject({ decision: 'MEDIUM', network: true });
    expect(decide('make test')).toMatchObject({ network: false });
  });

  it('may have many words', () => {
    const { verdict } = validator.check('tool', Array(4_000).fill("a'b"));
    expect(verdict.decision).toBe('MEDIUM');
  });
});
