import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { describeTool, parametersJsonSchema } from './available-tool.ts';
import {
  builtInToolNames,
  catalogue,
  changingToolsPattern,
  findTool,
  gitCommandsPattern,
  parseToolCall,
  resultSchemaOf,
  waitsForCommand,
} from './catalogue.ts';
import type { ToolDefinition } from './definition.ts';

/** Category, name, whether the person is asked, base risk, read-only: the table of TL-1. */
const pinnedTools = [
  ['filesystem', 'read_file', 'auto', 'LOW', true],
  ['filesystem', 'write_file', 'always', 'MEDIUM', false],
  ['filesystem', 'edit_file', 'always', 'MEDIUM', false],
  ['filesystem', 'search_files', 'auto', 'LOW', true],
  ['filesystem', 'delete_file', 'always', 'HIGH', false],
  ['filesystem', 'list_directory', 'auto', 'LOW', true],
  ['filesystem', 'create_directory', 'always', 'MEDIUM', false],
  ['filesystem', 'copy_file', 'always', 'MEDIUM', false],
  ['filesystem', 'move_file', 'always', 'HIGH', false],
  ['command', 'execute_command', 'depends', 'MEDIUM', false],
  ['command', 'reach_host', 'always', 'MEDIUM', false],
  ['shell', 'shell_exec', 'always', 'HIGH', false],
  ['shell', 'shell_background', 'always', 'HIGH', false],
  ['shell', 'shell_output', 'auto', 'LOW', true],
  ['shell', 'shell_kill', 'auto', 'LOW', false],
  ['git', 'git_status', 'auto', 'LOW', true],
  ['git', 'git_diff', 'auto', 'LOW', true],
  ['git', 'git_log', 'auto', 'LOW', true],
  ['git', 'git_commit', 'always', 'MEDIUM', false],
  ['git', 'git_branch', 'depends', 'MEDIUM', false],
  ['git', 'git_push', 'always', 'HIGH', false],
  ['lsp', 'diagnostics', 'auto', 'LOW', true],
  ['lsp', 'symbols', 'auto', 'LOW', true],
  ['lsp', 'hover', 'auto', 'LOW', true],
  ['lsp', 'definition', 'auto', 'LOW', true],
  ['lsp', 'references', 'auto', 'LOW', true],
];

/** Kind, changes, reads besides the named files, and text of each tool: grants, rules and undo depend on them. */
const pinnedFacts = {
  read_file: 'read nothing',
  write_file: 'edit files whole',
  edit_file: 'edit files part',
  search_files: 'search nothing folders',
  delete_file: 'delete files',
  list_directory: 'search nothing folders',
  create_directory: 'edit files',
  copy_file: 'edit files',
  move_file: 'move files',
  execute_command: 'execute anything',
  reach_host: 'execute job',
  shell_exec: 'execute anything',
  shell_background: 'execute anything',
  shell_output: 'read nothing',
  shell_kill: 'execute job',
  git_status: 'read nothing folders',
  git_diff: 'read nothing folders',
  git_log: 'read nothing folders',
  git_commit: 'execute repository',
  git_branch: 'execute repository',
  git_push: 'execute remote',
  diagnostics: 'read nothing',
  symbols: 'read nothing',
  hover: 'read nothing project',
  definition: 'read nothing project',
  references: 'read nothing project',
};

/** Parameters: `?` marks an optional one, `=` a default. */
const pinnedParameters = {
  read_file: 'path start_line? end_line? offset? length? encoding?',
  write_file: 'path content mode="write"',
  edit_file: 'path old new replace_all=false',
  search_files: 'pattern? path? content?',
  delete_file: 'path',
  list_directory: 'path recursive=false pattern="*"',
  create_directory: 'path',
  copy_file: 'source dest',
  move_file: 'source dest',
  execute_command: 'command args=[] timeout=30 network?',
  reach_host: 'host tool_id',
  shell_exec: 'command cwd? timeout=30 network?',
  shell_background: 'command cwd?',
  shell_output: 'job_id',
  shell_kill: 'job_id',
  git_status: 'path?',
  git_diff: 'path? staged=false',
  git_log: 'path? limit=20',
  git_commit: 'message files',
  git_branch: 'name? create=false',
  git_push: 'remote="origin" branch?',
  diagnostics: 'path',
  symbols: 'path',
  hover: 'path line col',
  definition: 'path line col',
  references: 'path line col',
};

const pinnedResults = {
  read_file: 'success content encoding size truncated media_type? start_line? end_line? offset? next_offset?',
  write_file: 'success path size changed_files',
  edit_file: 'success path size changed_files',
  search_files: 'success total_count truncated files',
  delete_file: 'success path changed_files',
  list_directory: 'success total_count truncated files',
  create_directory: 'success path changed_files',
  copy_file: 'success path size changed_files',
  move_file: 'success path size changed_files',
  execute_command:
    'success stdout stderr exit_code execution_time truncated? changed_files? changed_files_incomplete? withheld? conflicts? undoable? not_undoable? error? code?',
  reach_host: 'success host',
  shell_exec:
    'success stdout stderr exit_code execution_time truncated? changed_files? changed_files_incomplete? withheld? conflicts? undoable? not_undoable? error? code?',
  shell_background: 'success job_id',
  shell_output: 'success stdout stderr running exit_code ports? truncated?',
  shell_kill: 'success exit_code',
  git_status: 'success branch head upstream ahead behind files truncated',
  git_diff: 'success files truncated',
  git_log: 'success commits truncated',
  git_commit: 'success commit changed_files changed_files_incomplete?',
  git_branch: 'success current branches',
  git_push: 'success remote branch from to changed_files? changed_files_incomplete?',
  diagnostics: 'success diagnostics truncated',
  symbols: 'success symbols truncated',
  hover: 'success contents text',
  definition: 'success locations truncated outside_workspace?',
  references: 'success locations truncated outside_workspace?',
};

describe('the catalogue', () => {
  it('[TL-1] keeps name, category, approval, base risk and read-only of every tool', () => {
    const actual = catalogue.map((tool: ToolDefinition) => [
      tool.category,
      tool.name,
      tool.baseRisk === 'LOW' ? 'auto' : tool.mayRunUnasked ? 'depends' : 'always',
      tool.baseRisk,
      tool.changes === 'nothing',
    ]);
    expect(actual).toEqual(pinnedTools);
  });

  it('[AP-4] keeps what every tool does, changes and reads, and the patterns that grants hold', () => {
    const factsOf = ({ kind, changes, readsBeyond, holdsText }: ToolDefinition) =>
      [kind, changes, readsBeyond, holdsText].filter(Boolean).join(' ');
    expect(byName(factsOf)).toEqual(pinnedFacts);
    expect(changingToolsPattern).toBe('{write_file,edit_file,create_directory,copy_file,move_file}');
    expect(gitCommandsPattern).toBe('{execute_command,shell_exec,git_branch,git_commit}');
    expect(builtInToolNames.filter(waitsForCommand)).toEqual(['execute_command', 'shell_exec']);
  });

  it('[TL-1] keeps the parameters of every tool and their defaults', () => {
    expect(byName(parametersOf)).toEqual(pinnedParameters);
  });

  it('[TL-2] keeps the fields of every result', () => {
    expect(byName(({ result }) => fieldsOf(z.toJSONSchema(result)))).toEqual(pinnedResults);
  });

  it('[RK-1] never asks about exactly those that are LOW', () => {
    const rows: readonly ToolDefinition[] = catalogue;
    expect(rows.filter((tool) => tool.baseRisk === 'LOW' && tool.mayRunUnasked)).toEqual([]);
    expect(rows.filter((tool) => describeTool(tool).requires_approval === (tool.baseRisk === 'LOW'))).toEqual(
      [],
    );
  });

  it('finds a tool by its name and nothing by what every object has', () => {
    expect(findTool('read_file')?.category).toBe('filesystem');
    expect(['constructor', '__proto__', 'hasOwnProperty', ''].map(findTool)).toEqual(
      Array(4).fill(undefined),
    );
    expect(builtInToolNames).toEqual(Object.keys(pinnedParameters));
  });
});

describe('parseToolCall', () => {
  it('fills in the defaults', () => {
    expect(parseToolCall('execute_command', { command: 'npm' })).toEqual({
      ok: true,
      call: { tool: 'execute_command', params: { command: 'npm', args: [], timeout: 30 } },
    });
  });

  it('treats missing parameters as an empty object', () => {
    const empty = { ok: true, call: { tool: 'git_diff', params: { staged: false } } };
    expect(parseToolCall('git_diff', undefined)).toEqual(empty);
    expect(parseToolCall('git_diff', null)).toEqual(empty);
  });

  it.each([
    ['an unknown parameter', { path: 'a', paht: 'b' }, 'unrecognized key: "paht"'],
    ['a missing one', {}, 'path is missing'],
    ['a wrong type', { path: 7 }, 'path: invalid input: expected string, received number'],
    ['an empty path', { path: '' }, 'path: too small: expected string to have >=1 characters'],
    [
      'a fraction of a line',
      { path: 'a', start_line: 1.5 },
      'start_line: invalid input: expected int, received number',
    ],
    [
      'lines in the wrong order',
      { path: 'a', start_line: 5, end_line: 2 },
      'end_line comes before start_line',
    ],
    [
      'lines and bytes',
      { path: 'a', start_line: 2, offset: 0 },
      'give lines (start_line, end_line) or bytes (offset, length), not both',
    ],
    [
      'lines and a number of bytes',
      { path: 'a', end_line: 2, length: 10 },
      'give lines (start_line, end_line) or bytes (offset, length), not both',
    ],
    ['a part before the file', { path: 'a', offset: -1 }, 'offset: too small: expected number to be >=0'],
    ['an empty part', { path: 'a', length: 0 }, 'length: too small: expected number to be >=1'],
    ['text', 'README.md', 'invalid input: expected object, received string'],
    ['an array', ['README.md'], 'invalid input: expected object, received array'],
    ['a key of all objects', JSON.parse('{"path":"a","__proto__":{}}'), 'unrecognized key: "__proto__"'],
    ['a constructor', { path: 'a', constructor: 1 }, 'unrecognized key: "constructor"'],
  ])('says what is wrong with %s', (_, params, problem) => {
    expect(parseToolCall('read_file', params)).toEqual({
      ok: false,
      error: {
        code: 'INVALID_PARAMS',
        message: `The parameters of read_file are not valid: ${problem}. Correct them and call again.`,
        recoverable: true,
      },
    });
  });

  it('[TL-1] searches by name, by content or both, not by neither', () => {
    expect(parseToolCall('search_files', { pattern: '*.ts', content: 'x' }).ok).toBe(true);
    expect(problemOf('search_files', { path: 'src' })).toContain('give pattern, content or both');
  });

  it('[TL-1] creates no branch without a name', () => {
    expect(parseToolCall('git_branch', {}).ok).toBe(true);
    expect(problemOf('git_branch', { create: true })).toContain('create needs the name of the branch');
  });

  it('[TL-3] leaves a timeout over the maximum to SizeLimiter, which has a code for it', () => {
    expect(parseToolCall('execute_command', { command: 'ls', timeout: 301 }).ok).toBe(true);
  });

  it('pollutes nothing', () => {
    parseToolCall('read_file', JSON.parse('{"path":"a","__proto__":{"polluted":true}}'));
    expect({}).not.toHaveProperty('polluted');
  });

  it.each(['rm', '', 'READ_FILE', 'constructor', '__proto__'])('knows no tool named %j', (tool) => {
    expect(parseToolCall(tool, {})).toEqual({
      ok: false,
      error: {
        code: 'UNKNOWN_TOOL',
        message: `There is no tool named "${tool}". There are: ${builtInToolNames.join(', ')}.`,
        recoverable: true,
      },
    });
  });

  it.each([7, 1n, null, undefined, {}, ['read_file'], Symbol('x')])(
    'does not accept %s as a name',
    (tool) => {
      expect(parseToolCall(tool, {})).toMatchObject({ ok: false, error: { code: 'UNKNOWN_TOOL' } });
    },
  );

  it('answers briefly, however much was sent', () => {
    const manyKeys = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key${index}`, index]));
    const manyProblems = { command: 'ls', args: Array(20_000).fill(1) };
    const messages = [
      problemOf('read_file', { path: 'a', ...manyKeys }),
      problemOf('execute_command', manyProblems),
      problemOf('x'.repeat(1_000_000), {}),
    ];
    expect(messages.map((message) => message.length < 1_000)).toEqual([true, true, true]);
    expect(messages[1]).toContain('; and 19997 more');
  });

  it('takes a large file as it is', () => {
    const content = 'é'.repeat(5_000_000);
    expect(parseToolCall('write_file', { path: 'a.txt', content })).toMatchObject({
      ok: true,
      call: { params: { content } },
    });
  });
});

describe('results', () => {
  const failure = { success: false, error: 'It is gone.', code: 'FILE_NOT_FOUND' };
  const command = { success: true, stdout: '', stderr: '', exit_code: 0, execution_time: 0.1 };

  it.each(catalogue)('[TL-2] $name fails with success false, error and code', (tool) => {
    expect(resultSchemaOf(tool).parse(failure)).toEqual(failure);
  });

  it.each(['error', 'code'])('[TL-2] has no failure without %s', (field) => {
    const without = Object.fromEntries(Object.entries(failure).filter(([name]) => name !== field));
    const taken = catalogue.filter((tool) => resultSchemaOf(tool).safeParse(without).success);
    expect(taken).toEqual([]);
  });

  it('[TL-2] has success false and no error for a command that exited with 1 (founding documents: tools-specification)', () => {
    const exited = { ...command, success: false, exit_code: 1, stderr: '1 failed' };
    expect(resultOf('execute_command', exited)).toEqual({ success: true, data: exited });
    expect(resultOf('execute_command', { ...exited, ...failure }).success).toBe(false);
    expect(resultOf('execute_command', { ...command, success: false }).success).toBe(false);
    expect(resultOf('execute_command', { ...command, exit_code: 1 }).success).toBe(false);
  });

  it('[TL-2] keeps the output of a command that was stopped, beside error and code', () => {
    const stopped = { ...command, ...failure, code: 'COMMAND_TIMEOUT', exit_code: null, stderr: '1 failed' };
    expect(resultOf('execute_command', stopped)).toEqual({ success: true, data: stopped });
    const { code: _, ...withoutCode } = stopped;
    expect(resultOf('execute_command', withoutCode).success).toBe(false);
  });

  it('[TL-4] names base64 as an encoding of results, not as one to ask for', () => {
    const image = { success: true, content: 'aGk=', encoding: 'base64', size: 2, truncated: false };
    expect(resultOf('read_file', image).success).toBe(true);
    expect(parseToolCall('read_file', { path: 'a.png', encoding: 'base64' }).ok).toBe(false);
  });
});

function byName(describeOne: (tool: ToolDefinition) => string): Record<string, string> {
  return Object.fromEntries(catalogue.map((tool) => [tool.name, describeOne(tool)]));
}

function parametersOf(tool: ToolDefinition): string {
  const { properties, required } = parametersJsonSchema(tool);
  return Object.entries(properties)
    .map(([name, schema]) => {
      if (required?.includes(name)) return name;
      return 'default' in schema ? `${name}=${JSON.stringify(schema.default)}` : `${name}?`;
    })
    .join(' ');
}

function fieldsOf({ properties = {}, required = [] }: { properties?: object; required?: string[] }): string {
  return Object.keys(properties)
    .map((name) => (required.includes(name) ? name : `${name}?`))
    .join(' ');
}

function problemOf(tool: string, params: unknown): string {
  const parsed = parseToolCall(tool, params);
  return parsed.ok ? '' : parsed.error.message;
}

function resultOf(name: string, value: unknown) {
  const { success, data } = resultSchemaOf(findTool(name) as ToolDefinition).safeParse(value);
  return success ? { success, data } : { success };
}
