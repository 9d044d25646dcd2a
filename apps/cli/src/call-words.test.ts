import { splitLine } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { callFromWords } from './call-words.ts';

const options = { help: 'countersign policy --help' };

describe('callFromWords', () => {
  it('takes values as the schema of the tool wants them', () => {
    expect(callFromWords(['/read_file', 'path=a=b.md', 'start_line=3'])).toEqual({
      tool: 'read_file',
      args: { path: 'a=b.md', start_line: 3 },
    });
    expect(callFromWords(['edit_file', 'path=a', 'old=1', 'new=2', 'replace_all=true'])).toEqual({
      tool: 'edit_file',
      args: { path: 'a', old: '1', new: '2', replace_all: true },
    });
    expect(callFromWords(['execute_command', 'command=ls', 'args=["-l"]'])).toEqual({
      tool: 'execute_command',
      args: { command: 'ls', args: ['-l'] },
    });
    expect(callFromWords(['unknown', 'x=1'])).toEqual({ tool: 'unknown', args: { x: '1' } });
  });

  it('takes run as a command line without a shell', () => {
    expect(callFromWords(['run', 'npm', 'test', '--', '-x'])).toEqual({
      tool: 'execute_command',
      args: { command: 'npm', args: ['test', '--', '-x'] },
    });
    expect(callFromWords(['run'])).toEqual({ tool: 'execute_command', args: { command: '', args: [] } });
  });

  it('refuses what it does not understand', () => {
    expect(() => callFromWords([])).toThrow(/Name a tool/);
    expect(() => callFromWords(['read_file', '=x'])).toThrow(/NAME=VALUE/);
    expect(() => callFromWords(['read_file', 'start_line=x'])).toThrow(/JSON/);
  });
});

describe('splitLine', () => {
  it.each([
    ['a  b\tc', ['a', 'b', 'c']],
    [`run echo "a b" 'c "d"'`, ['run', 'echo', 'a b', 'c "d"']],
    ['x="a \\" b"', ['x=a " b']],
    ["x=''", ['x=']],
    ['', []],
  ])('%j → %j', (line, words) => {
    expect(splitLine(line, options)).toEqual(words);
  });

  it('says when a quote is not closed', () => {
    expect(() => splitLine('run echo "a', options)).toThrow(/not closed/);
  });
});
