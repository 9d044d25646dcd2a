import { ToolCallPolicy } from '@countersign/policy';
import { describe, expect, it } from 'vitest';
import { orderOfStep } from './tool-step.ts';

const policy = new ToolCallPolicy({ root: '/workspace' });
const order = (...calls: [string, object][]) =>
  orderOfStep(calls.map(([tool, params]) => policy.decide(tool, params)));
const write = (path: string): [string, object] => ['write_file', { path, content: '' }];
const run = (...args: string[]): [string, object] => ['execute_command', { command: 'npm', args }];

describe('[EX-4] orderOfStep', () => {
  it('lets independent calls run in parallel', () => {
    expect(order(write('a.md'), write('b.md'), ['read_file', { path: 'c.md' }])).toEqual([[], [], []]);
  });

  it('puts calls that change the same path in order', () => {
    expect(
      order(write('a.md'), ['edit_file', { path: './a.md', old: 'x', new: 'y' }], write('a.md')),
    ).toEqual([[], [0], [0, 1]]);
    expect(order(['read_file', { path: 'a.md' }], write('a.md'), ['read_file', { path: 'a.md' }])).toEqual([
      [],
      [0],
      [1],
    ]);
    expect(order(write('a.md'), write('A.md'))).toEqual([[], [0]]);
    expect(order(['copy_file', { source: 'a.md', dest: 'b.md' }], write('b.md'))).toEqual([[], [0]]);
  });

  it('puts commands after the writes of that step', () => {
    expect(order(write('a.md'), write('b.md'), run('test'))).toEqual([[], [], [0, 1]]);
    expect(order(['read_file', { path: 'a.md' }], run('test'))).toEqual([[], []]);
  });

  it('compares paths with the folders above them', () => {
    expect(order(['create_directory', { path: 'src' }], write('src/a.md'), write('src2/a.md'))).toEqual([
      [],
      [0],
      [],
    ]);
    expect(order(write('src/a.md'), ['search_files', { pattern: '*.md' }])).toEqual([[], [0]]);
    expect(order(write('src/a.md'), ['list_directory', { path: 'docs' }])).toEqual([[], []]);
  });

  it.each<[string, object]>([
    ['shell_exec', { command: 'mkdir out' }],
    ['execute_command', { command: 'npm', args: ['install'] }],
    ['git_commit', { message: 'm', files: ['src'] }],
    ['git_commit', { message: 'm', files: ['.'] }],
    ['git_push', {}],
    ['git_branch', { name: 'b', create: true }],
  ])('treats %s %j as writing anywhere: it waits for writes, and all wait for it', (tool, params) => {
    expect(order(write('src/a.md'), [tool, params], write('out/x.md'), run('test'))).toEqual([
      [],
      [0],
      [1],
      [0, 1, 2],
    ]);
    expect(order([tool, params], ['read_file', { path: 'b.md' }], ['git_status', {}])).toEqual([
      [],
      [0],
      [0],
    ]);
    expect(order([tool, params], ['shell_output', { job_id: 'j' }])).toEqual([[], []]);
  });

  it('lets harmless commands run beside each other', () => {
    const cat: [string, object] = ['execute_command', { command: 'cat', args: ['a.md'] }];
    expect(order(cat, ['git_status', {}], cat)).toEqual([[], [], []]);
    expect(order(cat, cat, write('b.md'), write('a.md'))).toEqual([[], [], [], [0, 1]]);
  });

  it('waits for nothing where a call was refused', () => {
    expect(order(['write_file', { path: '../x', content: '' }], run('test'))).toEqual([[], []]);
  });
});
