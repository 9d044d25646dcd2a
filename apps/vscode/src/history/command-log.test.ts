import type { CountersignEvent } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { wordsFor } from '../words.ts';
import { callLabel, isRunning, isUndoable } from './call-label.ts';
import { CommandLog } from './command-log.ts';

function setUp() {
  let text = '';
  const log = new CommandLog(wordsFor('en'), (more) => {
    text += more;
  });
  const receive = (event: string, data: object) => log.receive({ event, data } as CountersignEvent);
  return {
    call: (tool_id: string, tool_name: string, tool_params: object) =>
      receive('tool.call', { tool_id, tool_name, tool_params }),
    output: (tool_id: string, chunk: string) =>
      receive('tool.progress', { tool_id, output: { stream: 'stdout', chunk } }),
    receive,
    text: () => text,
  };
}

describe('the output of commands', () => {
  it('stands between a line before and a line after', () => {
    const { call, output, receive, text } = setUp();
    call('t1', 'execute_command', { command: 'npm', args: ['test'] });
    output('t1', 'one\ntw');
    // An event with the call's status, but without its parameters.
    call('t1', 'execute_command', {});
    output('t1', 'o');
    receive('tool.result', {
      tool_id: 't1',
      status: 'completed',
      result: { exit_code: 1 },
      exit_code: 1,
      execution_time_ms: 1_234,
    });
    expect(text()).toBe('\n> execute_command npm test\none\ntwo\n[exit code 1 · 1.2 s]\n');
  });

  it('is complete: output that was not streamed follows with the result', () => {
    const { call, output, receive, text } = setUp();
    const end = (tool_id: string, result: { exit_code: number; stdout: string; stderr: string }) =>
      receive('tool.result', {
        tool_id,
        status: 'completed',
        result,
        exit_code: result.exit_code,
        execution_time_ms: 100,
      });
    call('t1', 'execute_command', { command: 'node', args: ['--version'] });
    end('t1', { exit_code: 0, stdout: 'v24\n', stderr: 'old\n' });
    call('t2', 'execute_command', { command: 'npm', args: ['test'] });
    output('t2', 'one\n');
    output('t2', 'two\n');
    end('t2', { exit_code: 0, stdout: 'one\ntwo\ntwo\nthree', stderr: '' });
    call('t3', 'execute_command', { command: 'ls' });
    output('t3', 'lost before\n');
    end('t3', { exit_code: 0, stdout: 'never told\nlost before\nafter\n', stderr: '' });
    call('t4', 'execute_command', { command: 'cat' });
    output('t4', 'something else\n');
    end('t4', { exit_code: 0, stdout: 'head […] tail', stderr: '' });
    expect(text()).toBe(
      [
        '\n> execute_command node --version\nv24\nold\n[exit code 0 · 0.1 s]\n',
        '\n> execute_command npm test\none\ntwo\ntwo\nthree\n[exit code 0 · 0.1 s]\n',
        '\n> execute_command ls\nlost before\nafter\n[exit code 0 · 0.1 s]\n',
        '\n> execute_command cat\nsomething else\n[exit code 0 · 0.1 s]\n',
      ].join(''),
    );
  });

  it('[TL-2] says how a command ended whose long result is missing in the event', () => {
    const { call, output, receive, text } = setUp();
    call('t1', 'shell_exec', { command: 'make' });
    output('t1', 'much\n');
    receive('tool.result', {
      tool_id: 't1',
      status: 'completed',
      result: null,
      omitted: ['result'],
      error: null,
      exit_code: 3,
      execution_time_ms: 4_000,
    });
    call('t2', 'shell_exec', { command: 'slow' });
    output('t2', 'much\n');
    const error = { code: 'COMMAND_TIMEOUT', message: 'It was stopped.' };
    receive('tool.result', { tool_id: 't2', status: 'failed', result: null, error, execution_time_ms: null });
    expect(text()).toBe(
      '\n> shell_exec make\nmuch\n[exit code 3 · 4.0 s]\n\n> shell_exec slow\nmuch\n[failed: It was stopped.]\n',
    );
  });

  it('can neither forge nor colour one of our lines', () => {
    const { call, output, text } = setUp();
    call('t1', 'shell_exec', { command: 'x' });
    output('t1', '\u001b[31mred\r\n');
    expect([text().includes('\u001b'), text().includes('\r'), text()]).toEqual([
      false,
      false,
      expect.stringContaining('red'),
    ]);
  });

  it('leaves out other tools, commands that never began, undos, and progress without output', () => {
    const { call, output, receive, text } = setUp();
    call('t1', 'read_file', { path: 'a' });
    output('t1', 'x');
    call('t2', 'execute_command', { command: 'ls' });
    receive('tool.progress', { tool_id: 't2', output: null });
    receive('tool.result', { tool_id: 't2', status: 'completed', undo_id: 'u', result: null });
    receive('tool.result', { tool_id: 't2', status: 'rejected', result: null });
    receive('agent.state', {});
    expect(text()).toBe('');
  });

  it('ends a silent one, and one that was cancelled', () => {
    const { call, output, receive, text } = setUp();
    call('t1', 'git_commit', { message: 'why' });
    receive('tool.result', { tool_id: 't1', status: 'completed', result: {}, execution_time_ms: null });
    call('t2', 'execute_command', { command: 'node', args: ['wait.js'] });
    output('t2', 'waiting\n');
    receive('tool.result', { tool_id: 't2', status: 'cancelled', result: null, execution_time_ms: 5 });
    expect(text()).toBe(
      '\n> git_commit why\n[done]\n\n> execute_command node wait.js\nwaiting\n[cancelled · 0.0 s]\n',
    );
  });
});

describe('a call on one line', () => {
  it.each([
    ['copy_file', { source: 'a', dest: 'b' }, 'copy_file a → b'],
    ['search_files', { content: 'x\n  y' }, 'search_files x y'],
    ['git_status', {}, 'git_status'],
  ])('%s', (tool, params, label) => {
    expect(callLabel(tool, params)).toBe(label);
  });

  it('runs or can be undone', () => {
    expect([isRunning({ status: 'executing' }), isRunning({ status: 'failed' })]).toEqual([true, false]);
    expect([
      isUndoable({ undoable: true, undone_at: null }),
      isUndoable({ undoable: true, undone_at: '2026-11-16T00:00:00Z' }),
      isUndoable({ undoable: false, undone_at: null }),
    ]).toEqual([true, false, false]);
  });
});
