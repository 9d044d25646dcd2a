import { realDisk, type TemporaryWorkspace, temporaryWorkspace } from '@countersign/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PathValidator } from '../path-validator.ts';
import { OFFLINE, ONLINE } from './shell-check.test-data.ts';
import { ShellValidator } from './shell-validator.ts';

const root = '/home/ann/code/work/project';
const validator = new ShellValidator({ paths: new PathValidator({ root }), home: '/home/ann' });
const wordsOf = (line: string): unknown => validator.check(line).commands.map(({ words }) => words);
const needsNetwork = (line: string): unknown => {
  const { verdict } = validator.check(line);
  return verdict.decision === 'REJECT' ? 'REJECT' : verdict.network;
};

describe('[RK-3] what was understood of a line', () => {
  it('lists each simple command with its words, wrappers and nested shells opened', () => {
    expect(wordsOf(`x=src; ls "$x" | env A=b sh -c 'cat a.txt; node b.js'`)).toEqual([
      ['ls', 'src'],
      ['env', 'A=b', 'sh', '-c', 'cat a.txt; node b.js'],
      ['sh', '-c', 'cat a.txt; node b.js'],
      ['cat', 'a.txt'],
      ['node', 'b.js'],
    ]);
  });

  it('leaves words open that are only known at run time', () => {
    expect(wordsOf('cp "$A" out/$(cat name)')).toEqual([
      ['cat', 'name'],
      ['cp', undefined, undefined],
    ]);
  });

  it('keeps patterns and follows loops', () => {
    expect(wordsOf('for f in *.md a; do wc -l "$f"; done')).toEqual([
      ['wc', '-l', '*.md'],
      ['wc', '-l', 'a'],
    ]);
  });

  it('accepts neither a folder nor a pattern of files as a program', () => {
    expect(wordsOf('node --test src')).toEqual([['node', '--test', 'src']]);
    expect(wordsOf('node --test tests/')).toEqual([['node', '--test', 'tests/']]);
    expect(validator.check('node --test tests/').needsPerson).toBe(false);
    expect(validator.check('uv run pytest tests/ -x').needsPerson).toBe(false);
    expect(validator.check('npx eslint src/*.ts').needsPerson).toBe(false);
    expect(validator.check('npx src/*.ts').needsPerson).toBe(true);
    expect(validator.check('npx x src/r?').needsPerson).toBe(true);
  });

  it('names the files of the workspace and what happens to them', () => {
    expect(
      validator.check('cd src && sh build.sh < in.txt > out.txt; ./tool.sh; node ../x.js').operands,
    ).toEqual([
      { path: 'src/in.txt', use: 'read' },
      { path: 'src/out.txt', use: 'write' },
      { path: 'src/in.txt', use: 'run' },
      { path: 'src/build.sh', use: 'run' },
      { path: 'src/tool.sh', use: 'run' },
      { path: 'tool.sh', use: 'run' },
      { path: 'x.js', use: 'run' },
    ]);
  });

  it('starts where cwd says', () => {
    expect(validator.check('cat a', 'src/lib').operands).toEqual([{ path: 'src/lib/a', use: 'read' }]);
    expect(validator.check('rm -rf ../..', 'src/lib').verdict.decision).toBe('REJECT');
    expect(validator.check('rm -rf ..', 'src/lib').verdict.decision).toBe('HIGH');
  });

  it('tells the variables that it hands to its programs', () => {
    const line = 'A=1 x; export B=2; env C=3 y; D=4; declare -x E; TMPDIR=z; F=5';
    expect(validator.check(line).environment).toEqual(['A', 'B', 'C', 'E', 'TMPDIR']);
  });

  it('says nothing of operands when it refuses', () => {
    expect(validator.check('cat a; rm -rf /')).toEqual({
      verdict: {
        decision: 'REJECT',
        code: 'SHELL_CATASTROPHE',
        message:
          'Refused outright: it removes a whole system, a home directory, or everything in one (/). No approval can allow this.',
        reasons: [
          {
            rule: 'SH-1',
            why: 'it removes a whole system, a home directory, or everything in one',
            operand: '/',
          },
        ],
      },
      commands: [{ words: ['cat', 'a'] }, { words: ['rm', '-rf', '/'] }],
      operands: [],
      environment: [],
      needsPerson: false,
    });
  });

  it('[VA-3] tells when a place that executes later is written, also outside', () => {
    const rules = (line: string): string[] => validator.check(line).verdict.reasons.map(({ rule }) => rule);
    expect(rules('echo x > .git/hooks/pre-commit')).toContain('LATER-1');
    expect(rules('tee .vscode/tasks.json < a')).toContain('LATER-4');
    expect(rules('cp a ~/.bashrc')).toEqual(expect.arrayContaining(['LATER-6', 'SHW-7']));
    expect(rules('cat .git/config')).not.toContain('LATER-1');
  });

  it.each(ONLINE)('knows that it needs network: %s', (line) => {
    expect(needsNetwork(line)).toBe(true);
  });

  it.each(OFFLINE)('does not ask for network: %s', (line) => {
    expect(needsNetwork(line)).toBe(false);
  });
});

describe('[VA-6] cwd on a real disk', () => {
  let workspace: TemporaryWorkspace;
  beforeAll(() => {
    workspace = temporaryWorkspace();
  });
  afterAll(() => workspace.remove());
  const outcomeOf = (cwd: string): string => {
    const paths = new PathValidator({ root: workspace.root, disk: realDisk });
    const { verdict } = new ShellValidator({ paths }).check('ls', cwd);
    return verdict.decision === 'REJECT' ? verdict.code : verdict.decision;
  };

  it('is a directory of the workspace', () => {
    expect(['src', '.', workspace.root].map(outcomeOf)).toEqual(['HIGH', 'HIGH', 'HIGH']);
  });
  it('is refused where nothing is there, as list_directory does', () => {
    expect(outcomeOf('missing/folder')).toBe('FILE_NOT_FOUND');
  });
  it('is refused where a file is', () => {
    expect(outcomeOf('README.md')).toBe('NOT_A_DIRECTORY');
  });
  it('is judged by its text without a disk', () => {
    expect(validator.check('ls', 'missing/folder').verdict.decision).toBe('HIGH');
  });
});
