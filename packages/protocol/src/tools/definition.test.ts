import { describe, expect, it } from 'vitest';
import { parseToolCall } from './catalogue.ts';
import { shortPath } from './definition.ts';

describe('shortPath', () => {
  it.each([
    [`${'./'.repeat(300)}a.txt`, 'a.txt'],
    ['a//b', 'a/b'],
    ['a/./b', 'a/b'],
    ['///w//a', '/w/a'],
    ['.', '.'],
    ['./', '.'],
    ['/', '/'],
    ['/./', '/'],
    ['src///', 'src/'],
    ['src/.', 'src/'],
    ['...', '...'],
    ['.env', '.env'],
  ])('[AP-7] %j is %j', (path, short) => {
    expect([shortPath(path), shortPath(short)]).toEqual([short, short]);
  });

  it('keeps `..`, which after a link does not lead where the text suggests', () => {
    expect(shortPath('./a/x/.././b')).toBe('a/x/../b');
  });

  it('keeps `./` where the name would be read as something else without it', () => {
    for (const path of ['./-x', './:x', './~/x', './C:/x']) expect(shortPath(`././${path}`)).toBe(path);
  });
});

it('[AP-7] every path parameter of every tool is parsed to its short form', () => {
  const path = `${'./'.repeat(300)}a//b`;
  const calls: [string, Record<string, unknown>][] = [
    ['read_file', { path }],
    ['write_file', { path, content: '' }],
    ['edit_file', { path, old: 'a', new: 'b' }],
    ['search_files', { path, content: 'x' }],
    ['delete_file', { path }],
    ['list_directory', { path }],
    ['create_directory', { path }],
    ['copy_file', { source: path, dest: path }],
    ['move_file', { source: path, dest: path }],
    ['shell_exec', { command: 'ls', cwd: path }],
    ['shell_background', { command: 'ls', cwd: path }],
    ['git_status', { path }],
    ['git_diff', { path }],
    ['git_log', { path }],
    ['git_commit', { message: 'm', files: [path, path] }],
    ['diagnostics', { path }],
    ['symbols', { path }],
    ['hover', { path, line: 1, col: 1 }],
    ['definition', { path, line: 1, col: 1 }],
    ['references', { path, line: 1, col: 1 }],
  ];
  for (const [tool, params] of calls) {
    const parsed = parseToolCall(tool, params);
    const written = JSON.stringify(parsed);
    expect([tool, parsed.ok, written.includes('./'), written.includes('"a/b"')]).toEqual([
      tool,
      true,
      false,
      true,
    ]);
  }
});
