import { describe, expect, it } from 'vitest';
import { callFromLine, callFromWords } from './typed-call.ts';

const options = { help: '/help' };
const read = (line: string) => callFromLine(line, options);

describe('callFromLine', () => {
  it.each([
    ['/read_file path=README.md', { tool: 'read_file', args: { path: 'README.md' } }],
    ['/read_file path="a b.md" start_line=3', { tool: 'read_file', args: { path: 'a b.md', start_line: 3 } }],
    ['/read_file {"path": "it\'s.md"}', { tool: 'read_file', args: { path: "it's.md" } }],
    [
      '/run npm test -- -x',
      { tool: 'execute_command', args: { command: 'npm', args: ['test', '--', '-x'] } },
    ],
    [
      '/git_commit message="a b" files=a.ts,b.ts',
      { tool: 'git_commit', args: { message: 'a b', files: ['a.ts', 'b.ts'] } },
    ],
    [
      `/git_commit message=x files='["a,b.ts"]'`,
      { tool: 'git_commit', args: { message: 'x', files: ['a,b.ts'] } },
    ],
    [
      '/write_file path=a.md content="one\ntwo"',
      { tool: 'write_file', args: { path: 'a.md', content: 'one\ntwo' } },
    ],
    ['  git_status  ', { tool: 'git_status', args: {} }],
    ['/read_file constructor=1', { tool: 'read_file', args: { constructor: '1' } }],
  ])('[AG-1] %j', (line, call) => {
    expect(read(line)).toEqual(call);
  });

  it('[AG-1] says what it does not understand, and where to find more', () => {
    expect(() => read('/')).toThrow('Name a tool. Run /help to see how it is used.');
    expect(() => read('/read_file README.md')).toThrow('"README.md" is not NAME=VALUE');
    expect(() => read('/read_file {"path": }')).toThrow(/not valid JSON/);
    expect(() => read('/read_file path="a')).toThrow('A " is not closed');
    expect(() => read('/read_file path=a path=b')).toThrow('"path" is given twice');
    expect(() => read('/read_file start_line=x')).toThrow(/not valid JSON/);
  });

  it('takes the schema of a tool that is not in the catalogue', () => {
    const schemaOf = () => ({ properties: { count: { type: 'integer' } } });
    expect(callFromWords(['mine__tool', 'count=3', 'other=3'], { help: '', schemaOf })).toEqual({
      tool: 'mine__tool',
      args: { count: 3, other: '3' },
    });
  });
});
