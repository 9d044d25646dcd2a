import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  meetsExpectation,
  realDisk,
  securityCases,
  startSwapping,
  temporaryWorkspace,
} from '@countersign/testing';
import { describe, expect, it } from 'vitest';
import { argumentsOf } from './security-paths.test-data.ts';
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
        // Whichever state each look caught: refused, or the file inside. Nothing else.
        const possible = ['PATH_OUTSIDE_WORKSPACE', 'FILE_NOT_FOUND', 'cur/secret.txt'];
        expect([...seen].filter((outcome) => !possible.includes(outcome))).toEqual([]);
      } finally {
        await stopSwapping();
        workspace.remove();
      }
    },
  );
});

describe('[TL-4] [TL-3] what the disk tells of a file', () => {
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
