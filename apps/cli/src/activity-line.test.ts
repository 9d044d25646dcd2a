import { ApiError } from '@countersign/client';
import type { CountersignEvent, EventPayload } from '@countersign/protocol';
import { describe, expect, it } from 'vitest';
import { ActivityLines } from './activity-line.ts';
import { callWords, statusMark } from './call-line.ts';
import { streamWords } from './sign-in/stream-words.ts';
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

describe('what happens to calls, in lines', () => {
  it('tells each end with its time, and a failure with its reason', () => {
    const activity = new ActivityLines(words, false);
    expect(activity.receive(called, 80)).toEqual([]);
    expect(activity.running).toEqual(['execute_command npm test']);
    // Where it stands now, without what it was called with.
    const executing = { ...called.data, tool_params: {}, omitted: ['tool_params'], status: 'executing' };
    expect(activity.receive({ event: 'tool.call', data: executing } as CountersignEvent, 80)).toEqual([]);
    expect(activity.running).toEqual(['execute_command npm test']);
    expect(activity.receive(ended({ execution_time_ms: 1_234 }), 80)).toEqual([
      '✓ execute_command npm test · done · 1.2 s',
    ]);
    expect([activity.running, activity.ended]).toEqual([[], 1]);
    expect(activity.receive(ended({ status: 'failed', error, late: true }), 80)).toEqual([
      '✗ execute_command · failed · came late',
      '  npm was killed⟨U+001B⟩[2J',
    ]);
    expect(activity.receive(ended({ status: 'timeout', error }), 80)).toEqual([
      '– execute_command · expired',
    ]);
  });

  it('[TL-2] shows at a glance that a command exited with 1 (founding documents: tools-specification)', () => {
    const activity = new ActivityLines(words, false);
    expect(activity.receive(ended({ exit_code: 1, execution_time_ms: 12 }), 80)).toEqual([
      '≠ execute_command · done · exit 1 · 12 ms',
    ]);
    expect(activity.receive(ended({ exit_code: 0 }), 80)).toEqual(['✓ execute_command · done']);
  });

  it('[EV-1] [UI-4] says how far a call is, where that is known (founding documents: tool-system)', () => {
    const activity = new ActivityLines(words, false);
    const progressed = (progress: number | null, message: string | null): CountersignEvent => ({
      event: 'tool.progress',
      data: { project_id: 'p', session_id: 's', tool_id: 't', progress, message, output: null, timestamp },
    });
    activity.receive(called, 80);
    activity.receive(progressed(40.4, 'Writing objects: 40% (4/10)\u001b[2J'), 80);
    expect(activity.running).toEqual([
      '40% · execute_command npm test · Writing objects: 40% (4/10)⟨U+001B⟩[2J',
    ]);
    activity.receive(progressed(null, 'done soon'), 80);
    expect(activity.running).toEqual(['40% · execute_command npm test · done soon']);
  });

  it('tells an undo and a runner', () => {
    const activity = new ActivityLines(words, false);
    expect(activity.receive(ended({ undo_id: 'u' }), 80)).toEqual(['✓ execute_command · undone']);
    expect(activity.receive(ended({ undo_id: 'u', status: 'failed', error }), 80)).toEqual([
      '✗ execute_command · could not be undone: npm was killed⟨U+001B⟩[2J',
    ]);
    const runner = (state: 'connected' | 'disconnected'): CountersignEvent => ({
      event: 'runner.changed',
      data: { project_id: 'p', runner_id: 'r', workspace: '/w', state, capabilities: [], timestamp },
    });
    expect(activity.receive(runner('connected'), 80)).toEqual(['A runner is connected for /w']);
    expect(activity.receive(runner('disconnected'), 80)).toEqual(['The runner of /w is gone']);
  });

  it('names a call by what matters', () => {
    expect(callWords('write_file', { path: 'a.md', content: 'long' })).toBe('write_file a.md');
    expect(callWords('git_log', { limit: 3, path: ['x'] })).toBe('git_log ["x"] limit=3');
    expect(callWords('jira_issue', { content: 'x\u0007' })).toBe('jira_issue content=x⟨U+0007⟩');
    expect(callWords('shell_exec', { command: 'x'.repeat(400) })).toHaveLength(300);
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
