import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PolicyRule } from '@countersign/protocol';
import {
  meetsExpectation,
  realDisk,
  securityCases,
  startSwapping,
  temporaryWorkspace,
} from '@countersign/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { readPolicyFile } from './policy-rules.ts';
import { argumentsOf } from './security-case-arguments.test-data.ts';
import { ToolCallPolicy } from './tool-call-policy.ts';
import { isRefused } from './verdict.ts';

const cases = securityCases('paths');

describe('[VA-9] security/paths.jsonl, on a real disk', () => {
  it.each(
    cases
      .filter(({ input }) => !input.race)
      .map((testCase) => [testCase.id, testCase.why, testCase] as const),
  )('%s %s', (_id, _why, testCase) => {
    const workspace = temporaryWorkspace();
    try {
      workspace.apply(testCase.input.setup ?? []);
      const policy = new ToolCallPolicy({ root: workspace.root, disk: realDisk, home: '/home/person' });
      const { verdict } = policy.decide(testCase.input.tool, workspace.fill(argumentsOf(testCase)));
      expect([
        verdict.decision,
        meetsExpectation(verdict.decision, testCase.expect),
        verdict.reasons,
      ]).toEqual([verdict.decision, true, verdict.reasons]);
    } finally {
      workspace.remove();
    }
  });

  it.each(cases.filter(({ input }) => input.race).map((testCase) => [testCase.id, testCase] as const))(
    '%s: while a link is swapped in and out, what is allowed is inside',
    async (_id, testCase) => {
      const { race } = testCase.input;
      if (!race) throw new Error('a race case without a race');
      const workspace = temporaryWorkspace();
      workspace.apply(testCase.input.setup ?? []);
      const stopSwapping = await startSwapping(workspace, race);
      try {
        const policy = new ToolCallPolicy({ root: workspace.root, disk: realDisk });
        const seen = new Set<string>();
        for (let i = 0; i < race.iterations * 20; i++) {
          const { verdict, details } = policy.decide(testCase.input.tool, argumentsOf(testCase));
          if (isRefused(verdict)) seen.add(verdict.code);
          else seen.add(details?.operands.map(({ path }) => path).join() ?? '');
        }
        // Each call is refused or gets the file inside, whichever state of the link it saw.
        const possible = ['PATH_OUTSIDE_WORKSPACE', 'FILE_NOT_FOUND', 'cur/secret.txt'];
        expect([...seen].filter((outcome) => !possible.includes(outcome))).toEqual([]);
      } finally {
        await stopSwapping();
        workspace.remove();
      }
    },
  );
});

describe('[TL-4] [TL-3] reads size, kind and links of a file from the disk', () => {
  it('refuses to read a directory, a binary, a huge or a missing file, each with its code', () => {
    const workspace = temporaryWorkspace();
    workspace.apply([
      { op: 'bytes', path: 'lib.o', base64: 'f0VMRgEBAQAAAAAAAAAAAAEAAwABAAAA' },
      { op: 'sparse', path: 'large.csv', size: 104_857_601 },
      { op: 'sparse', path: 'allowed.csv', size: 1000 },
    ]);
    mkdirSync(join(workspace.root, 'empty'));
    writeFileSync(join(workspace.root, 'picture.png'), Buffer.from('iVBORw0KGgoAAAANSUhEUg==', 'base64'));
    const policy = new ToolCallPolicy({ root: workspace.root, disk: realDisk });
    const codeOf = (tool: string, args: object): string => {
      const { verdict } = policy.decide(tool, args);
      return isRefused(verdict) ? verdict.code : verdict.decision;
    };
    expect(codeOf('read_file', { path: 'src' })).toBe('IS_A_DIRECTORY');
    expect(codeOf('read_file', { path: '.' })).toBe('PATH_IS_ROOT');
    expect(codeOf('read_file', { path: 'lib.o' })).toBe('BINARY_FILE');
    expect(codeOf('edit_file', { path: 'lib.o', old: 'a', new: 'b' })).toBe('BINARY_FILE');
    expect(codeOf('copy_file', { source: 'lib.o', dest: 'x.md' })).toBe('MEDIUM');
    expect(codeOf('read_file', { path: 'large.csv' })).toBe('FILE_TOO_LARGE');
    expect(codeOf('read_file', { path: 'missing.md' })).toBe('FILE_NOT_FOUND');
    expect(codeOf('read_file', { path: 'picture.png' })).toBe('LOW');
    expect(codeOf('delete_file', { path: 'empty' })).toBe('IS_A_DIRECTORY');
    expect(codeOf('delete_file', { path: 'large.csv' })).toBe('HIGH');
    expect(codeOf('list_directory', { path: 'README.md' })).toBe('NOT_A_DIRECTORY');
    expect(codeOf('list_directory', { path: 'nowhere' })).toBe('FILE_NOT_FOUND');
    expect(codeOf('create_directory', { path: 'README.md' })).toBe('FILE_EXISTS');
    expect(codeOf('create_directory', { path: '.' })).toBe('PATH_IS_ROOT');
    expect(codeOf('write_file', { path: 'src', content: '' })).toBe('IS_A_DIRECTORY');
    expect(codeOf('write_file', { path: 'new.md/', content: '' })).toBe('IS_A_DIRECTORY');
    workspace.remove();
  });
});

describe('[RK-2] move_file is judged as copying and deleting together', () => {
  const workspace = temporaryWorkspace();
  afterAll(() => workspace.remove());
  workspace.apply([
    { op: 'file', path: 'a.md', content: 'x' },
    { op: 'file', path: '.env', content: 'TOKEN=x' },
    { op: 'file', path: '.husky/pre-commit', content: 'x' },
    { op: 'file', path: '{outside}/x.md', content: 'x' },
    { op: 'symlink', path: 'out.md', target: '{outside}/x.md' },
    { op: 'symlink', path: 'secret.md', target: '.env' },
    { op: 'sparse', path: 'large.csv', size: 104_857_601 },
  ]);
  mkdirSync(join(workspace.root, 'd'));
  const decide = (source: string, dest: string, rules: readonly PolicyRule[] = []) => {
    const reading = readPolicyFile(JSON.stringify({ version: 1, rules }), 'person');
    if (!reading.ok) throw new Error(reading.problem);
    const policy = new ToolCallPolicy({ root: workspace.root, disk: realDisk, policies: [reading.policy] });
    return policy.decide('move_file', { source, dest });
  };
  const outcomeOf = (...asked: Parameters<typeof decide>): string => {
    const { verdict } = decide(...asked);
    return isRefused(verdict) ? verdict.code : verdict.decision;
  };

  it.each([
    ['a.md', 'b.md', 'HIGH'],
    ['a.md', 'made/b.md', 'HIGH'],
    ['a.md', '.git/hooks/pre-commit', 'HIGH'],
    ['.husky/pre-commit', 'b.md', 'HIGH'],
    ['a.md', 'b.exe', 'EXTENSION_REFUSED'],
    ['a.md', '.env', 'PATH_SENSITIVE'],
    ['.env', 'b.md', 'PATH_SENSITIVE'],
    ['secret.md', 'b.md', 'PATH_SENSITIVE'],
    ['a.md', 'secret.md', 'PATH_SENSITIVE'],
    ['a.md', '../b.md', 'PATH_OUTSIDE_WORKSPACE'],
    ['../x.md', 'b.md', 'PATH_OUTSIDE_WORKSPACE'],
    ['out.md', 'b.md', 'PATH_OUTSIDE_WORKSPACE'],
    ['a.md', 'out.md', 'PATH_OUTSIDE_WORKSPACE'],
    ['none.md', 'b.md', 'FILE_NOT_FOUND'],
    ['large.csv', 'b.csv', 'FILE_TOO_LARGE'],
    ['d', 'b', 'IS_A_DIRECTORY'],
    ['a.md', 'd', 'IS_A_DIRECTORY'],
    ['a.md', 'b.md/', 'IS_A_DIRECTORY'],
  ])('%s to %s is %s', (source, dest, expected) => {
    expect(outcomeOf(source, dest)).toBe(expected);
  });

  it('names the reasons of both, and both files as written', () => {
    const { verdict, details } = decide('.husky/pre-commit', '.vscode/tasks.json');
    expect(verdict.reasons.map(({ rule, operand }) => `${rule} ${operand}`)).toEqual(
      expect.arrayContaining([
        'DELETE-1 .husky/pre-commit',
        expect.stringMatching(/^LATER-.* \.husky\/pre-commit$/),
        expect.stringMatching(/^LATER-.* \.vscode\/tasks\.json$/),
      ]),
    );
    expect(details?.operands.map(({ path, use }) => `${use} ${path}`)).toEqual([
      'write .husky/pre-commit',
      'write .vscode/tasks.json',
    ]);
  });

  it('[VA-3] no grant covers it where one end is executed later', () => {
    const needsPerson = (source: string, dest: string) => decide(source, dest).details?.needsPerson;
    expect(needsPerson('a.md', 'b.md')).toBe(false);
    expect(needsPerson('.husky/pre-commit', 'b.md')).toBe(true);
    expect(needsPerson('a.md', '.vscode/tasks.json')).toBe(true);
  });

  it('[RK-5] a rule that denies one end denies it, and one that allows must cover both', () => {
    const rule = (effect: 'allow' | 'deny', path: string): PolicyRule => ({
      id: 'r',
      effect,
      tool: 'move_file',
      path,
      ...(effect === 'allow' && { max_risk: 'HIGH' }),
    });
    expect(outcomeOf('a.md', 'made/b.md', [rule('deny', 'made/**')])).toBe('DENIED_BY_POLICY');
    expect(outcomeOf('a.md', 'made/b.md', [rule('deny', 'a.md')])).toBe('DENIED_BY_POLICY');
    const isAsked = (rules: PolicyRule[]) => decide('a.md', 'made/b.md', rules).allowedBy === undefined;
    expect(isAsked([rule('allow', 'made/**')])).toBe(true);
    expect(isAsked([rule('allow', 'a.md')])).toBe(true);
    expect(isAsked([rule('allow', '**')])).toBe(false);
  });
});
