import { ApiError } from '@countersign/client';
import type { CountersignEvent, EventPayload } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { ActivityLines } from './activity-line.ts';
import { streamWords } from './sign-in/stream-words.ts';
import { statusMark } from './status-mark.ts';
import { wordsFor } from './words.ts';

const words = wordsFor({});
const timestamp = '2026-11-15T12:00:00Z';
const place = { tool_id: 't', project_id: 'p', session_id: 's' };
const called: CountersignEvent = {
  event: 'tool.call',
  data: {
    ...place,
    tool_call_id: 'c',
    tool_name: 'execute_command',
    tool_params: { command: 'npm', args: ['test'], timeout: 30 },
    risk_level: 'MEDIUM',
    requires_approval: true,
    status: 'pending',
    context: { message_id: null, run_id: null, step: null, excerpt: '' },
    timestamp,
  },
};
const ended = (over: Partial<EventPayload<'tool.result'>>): CountersignEvent => ({
  event: 'tool.result',
  data: {
    ...place,
    tool_call_id: 'c',
    tool_name: 'execute_command',
    status: 'completed',
    result: null,
    error: null,
    execution_time_ms: null,
    late: false,
    timestamp,
    ...over,
  },
});
const error = { code: 'COMMAND_FAILED', message: 'npm was killed\u001b[2J', recoverable: true } as const;

const output = (lines: number, more: object = {}) => ({
  success: true,
  stdout: Array.from({ length: lines }, (_, i) => `line ${i + 1}\n`).join(''),
  stderr: '',
  exit_code: 0,
  execution_time: 0.1,
  ...more,
});

describe('what happens to calls, in lines', () => {
  it('prints each ended call in the tense of its state, with outcome and duration, and a failure with its reason', () => {
    const activity = new ActivityLines(words, false);
    expect(activity.receive(called, 80)).toEqual([]);
    expect(activity.running).toEqual(['Running npm test']);
    // An event with the call's status, but without its parameters.
    const executing = { ...called.data, tool_params: {}, omitted: ['tool_params'], status: 'executing' };
    expect(activity.receive({ event: 'tool.call', data: executing } as CountersignEvent, 80)).toEqual([]);
    expect(activity.running).toEqual(['Running npm test']);
    expect(activity.receive(ended({ result: output(2), execution_time_ms: 1_234 }), 80)).toEqual([
      '✓ Ran npm test · 2 lines · 1.2 s',
      '  line 1',
      '  line 2',
    ]);
    expect([activity.running, activity.ended]).toEqual([[], 1]);
    activity.receive(called, 80);
    expect(activity.receive(ended({ status: 'failed', error, late: true }), 80)).toEqual([
      '✗ Run npm test · failed · came late',
      '  npm was killed⟨U+001B⟩[2J',
    ]);
    expect(activity.receive(ended({ tool_id: 'u', status: 'timeout', error }), 80)).toEqual([
      '– Run · expired',
    ]);
    const blocked = {
      code: 'COMMAND_NOT_ALLOWED',
      message: 'Command not allowed: rm.',
      recoverable: true,
    } as const;
    expect(activity.receive(ended({ tool_id: 'u', status: 'failed', error: blocked }), 80)).toEqual([
      '✗ Run · blocked',
      '  Command not allowed: rm.',
    ]);
  });

  it('[RN-12] names what a command changed, what stayed out and why it cannot be undone, below the end of its output', () => {
    const activity = new ActivityLines(words, false);
    activity.receive(called, 80);
    const result = output(9, {
      changed_files: Array.from({ length: 8 }, (_, n) => ({ path: `f${n}.md`, operation: 'modified' })),
      withheld: [{ path: '.git/hooks/x' }],
      conflicts: [{ path: 'b.md' }],
      undoable: false,
      not_undoable: 'too large',
    });
    const lines = activity.receive(ended({ result }), 120);
    expect(lines[0]).toBe('✓ Ran npm test · 9 lines, 8 files changed');
    expect(lines.slice(2, 6)).toEqual(['  line 7', '  line 8', '  line 9', '  changed f0.md']);
    expect(lines.join(' ')).toMatch(/f5\.md .*2 .*\.git\/hooks\/x.*b\.md.*Cannot be undone: too large$/);
    expect(lines.join()).not.toContain('f6.md');
  });

  it('a call that was cancelled before it began says so, and why, unless a note of the conversation said it', () => {
    const activity = new ActivityLines(words, false);
    const stopped = {
      code: 'EXECUTION_CANCELLED',
      message: 'You stopped this run.',
      recoverable: false,
    } as const;
    const cancelled = ended({ status: 'cancelled', error: stopped, not_started: true });
    expect(activity.receive(cancelled, 80)).toEqual(['– Run · not started', '  You stopped this run.']);
    activity.noteTold(stopped.message);
    expect(activity.receive(cancelled, 80)).toEqual(['– Run · not started']);
    expect(activity.receive(ended({ status: 'cancelled', error: stopped }), 80)).toEqual([
      '– Run · cancelled',
    ]);
  });

  it('[TL-2] shows the last lines of a failed command by itself (founding documents: tools-specification)', () => {
    const activity = new ActivityLines(words, false);
    activity.receive(called, 80);
    const failed = output(30, {
      success: false,
      exit_code: 1,
      stderr: '\u001b[31mexpected 1\u001b[0m\u0007',
    });
    const lines = activity.receive(ended({ result: failed, exit_code: 1, execution_time_ms: 12 }), 80);
    expect([lines[0], lines[1], lines.at(-1), lines.length]).toEqual([
      '≠ Ran npm test · exit 1 · 12 ms',
      '  … 21 lines more',
      '  expected 1⟨U+0007⟩',
      12,
    ]);
    // The event of a result that could not be fetched still tells the exit code.
    expect(activity.receive(ended({ tool_id: 'u', exit_code: 1 }), 80)).toEqual(['≠ Ran · exit 1']);
    const stopped = output(1, {
      success: false,
      exit_code: null,
      error: 'Too long.',
      code: 'COMMAND_TIMEOUT',
    });
    const timeout = { code: 'COMMAND_TIMEOUT', message: 'Too long.', recoverable: true } as const;
    expect(
      activity.receive(ended({ tool_id: 'u', status: 'failed', error: timeout, result: stopped }), 80),
    ).toEqual(['✗ Run · failed', '  Too long.', '  line 1']);
  });

  it('shows the end of a long output, a diff with its signs, and the whole on request', () => {
    const activity = new ActivityLines(words, false);
    expect(activity.latestResult(80)).toBe(undefined);
    activity.receive(called, 80);
    expect(activity.receive(ended({ result: output(9) }), 80)).toEqual([
      '✓ Ran npm test · 9 lines',
      '  … 6 lines more',
      '  line 7',
      '  line 8',
      '  line 9',
    ]);
    expect(activity.latestResult(80)).toHaveLength(10);
    const read = { success: true, content: 'a\nb', encoding: 'utf-8', size: 3, truncated: false };
    expect(activity.receive(ended({ tool_id: 'u', tool_name: 'read_file', result: read }), 80)).toEqual([
      '✓ Read · 2 lines',
    ]);
    const hunk = { old_start: 1, old_lines: 1, new_start: 1, new_lines: 1, header: '', lines: ['-a', '+b'] };
    const diff = {
      success: true,
      files: [{ path: 'a.ts', state: 'modified', binary: false, hunks: [hunk] }],
      truncated: false,
    };
    expect(activity.receive(ended({ tool_id: 'v', tool_name: 'git_diff', result: diff }), 80)).toEqual([
      '✓ Compared with git · 1 file',
      '  a.ts  changed',
      '  @@ -1,1 +1,1 @@',
      '  -a',
      '  +b',
    ]);
    const narrow = activity.receive(ended({ result: output(0, { stdout: 'x'.repeat(200) }) }), 40);
    expect(narrow.every((line) => line.length <= 40)).toBe(true);
  });

  it('[EV-1] [UI-4] says how far a call is, and what it prints (founding documents: tool-system)', () => {
    const activity = new ActivityLines(words, false);
    const progressed = (
      progress: number | null,
      message: string | null,
      chunk?: string,
    ): CountersignEvent => ({
      event: 'tool.progress',
      data: {
        project_id: 'p',
        session_id: 's',
        tool_id: 't',
        progress,
        message,
        output: chunk === undefined ? null : { stream: 'stdout', chunk },
        timestamp,
      },
    });
    activity.receive(called, 80);
    activity.receive(progressed(40.4, 'Writing objects: 40% (4/10)\u001b[2J'), 80);
    expect(activity.running).toEqual(['40% · Running npm test · Writing objects: 40% (4/10)⟨U+001B⟩[2J']);
    activity.receive(progressed(null, 'done soon'), 80);
    expect(activity.running).toEqual(['40% · Running npm test · done soon']);
    activity.receive(progressed(null, 'first', 'first\n'), 80);
    activity.receive(progressed(null, 'second', 'second\n'), 80);
    expect(activity.runningOutput(80)).toEqual(['  first', '  second']);
    expect(activity.running).toEqual(['40% · Running npm test · done soon']);
  });

  it('tells an undo and a runner', () => {
    const activity = new ActivityLines(words, false);
    activity.receive(called, 80);
    activity.noteDecision('t', 'approved here');
    expect(activity.receive(ended({ result: output(0), execution_time_ms: 5 }), 80)).toEqual([
      '✓ Ran npm test · no output · approved here · 5 ms',
    ]);
    expect(activity.receive(ended({ undo_id: 'u' }), 80)).toEqual(['✓ Ran npm test · undone']);
    expect(activity.receive(ended({ undo_id: 'u', status: 'failed', error }), 80)).toEqual([
      '✗ Run npm test · could not be undone: npm was killed⟨U+001B⟩[2J',
    ]);
    const runner = (state: 'connected' | 'disconnected'): CountersignEvent => ({
      event: 'runner.changed',
      data: { project_id: 'p', runner_id: 'r', workspace: '/w', state, capabilities: [], timestamp },
    });
    expect(activity.receive(runner('connected'), 80)).toEqual(['A runner is connected for /w']);
    expect(activity.receive(runner('disconnected'), 80)).toEqual(['The runner of /w is gone']);
  });

  it('has a mark for each state', () => {
    expect(
      (['completed', 'failed', 'cancelled', 'executing'] as const).map((status) => statusMark(status, false)),
    ).toEqual(['✓', '✗', '–', '…']);
  });
});

describe('the connection in words', () => {
  const lost = new ApiError(0, 'UNAVAILABLE', 'gone');

  it('says nothing while all is well, and what to do when it is not', () => {
    const say = (state: Parameters<typeof streamWords>[0]) => streamWords(state, 'http://x', words);
    expect([
      say({ status: 'connecting' }),
      say({ status: 'open' }),
      say({ status: 'closed', why: 'stopped' }),
    ]).toEqual([undefined, undefined, undefined]);
    expect(say({ status: 'waiting', retryInMs: 0, error: lost })).toContain('Connecting again');
    expect(say({ status: 'waiting', retryInMs: 1_500, error: lost })).toContain('in 2 s');
    expect(say({ status: 'closed', why: 'unauthenticated', error: lost })).toContain('countersign sign-in');
    expect(say({ status: 'closed', why: 'refused', error: lost })).toContain('gone');
  });
});
