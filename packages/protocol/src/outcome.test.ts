import { describe, expect, it } from 'vitest';
import { describeError } from './errors.ts';
import { readModelResult, type ToolOutcome, toModelResult, toolOutcomeSchema } from './outcome.ts';

const call = {
  tool_id: '123e4567-e89b-12d3-a456-426614174000',
  tool_call_id: 'tc_abc123',
  tool_name: 'write_file',
  approval_id: null,
  execution_time_ms: 15,
  executed_params: null,
};
const permissionDenied = describeError('PERMISSION_DENIED', { path: 'notes.txt' });
const rejected = {
  ...call,
  status: 'rejected',
  result: null,
  error: describeError('APPROVAL_REJECTED'),
} as const;

describe('toModelResult', () => {
  it('[EX-3] shows a completed call as success', () => {
    const result = { content: 'File written successfully', metadata: { bytes_written: 1024 } };
    expect(shown({ ...call, status: 'completed', result, error: null })).toEqual({
      status: 'success',
      tool_call_id: 'tc_abc123',
      result,
      execution_time_ms: 15,
    });
  });

  it('[EX-3] shows a rejected call with the words of the person', () => {
    expect(shown({ ...rejected, reason: 'Not now', user_message: 'Wrong file path' })).toEqual({
      status: 'rejected',
      tool_call_id: 'tc_abc123',
      reason: 'Not now',
      user_message: 'Wrong file path',
    });
  });

  it('[AP-5] has a reason where the person gave none', () => {
    expect(shown({ ...rejected, reason: null, user_message: null })).toEqual({
      status: 'rejected',
      tool_call_id: 'tc_abc123',
      reason: 'User rejected the operation',
      user_message: null,
    });
  });

  it.each(['failed', 'timeout', 'cancelled'] as const)(
    '[EX-3] shows a call that is %s as an error',
    (status) => {
      const outcome = { ...call, status, result: null, error: permissionDenied, execution_time_ms: null };
      expect(shown(outcome)).toEqual({
        status: 'error',
        tool_call_id: 'tc_abc123',
        error: {
          code: 'PERMISSION_DENIED',
          message:
            'The system does not permit access to "notes.txt". The person must change its permissions.',
          recoverable: false,
        },
        execution_time_ms: 0,
      });
    },
  );

  it('[EX-3] shows what a stopped command had printed', () => {
    const result = { success: false, stdout: 'half of it' };
    const error = describeError('COMMAND_TIMEOUT', { timeout: 30, limit: 300 });
    expect(shown({ ...call, status: 'failed', result, error })).toMatchObject({ status: 'error', result });
  });

  it('[AP-6] tells the parameters that ran when the person edited them', () => {
    const executed_params = { path: 'config.json', content: 'edited' };
    expect(shown({ ...call, executed_params, status: 'completed', result: {}, error: null })).toEqual({
      status: 'success',
      tool_call_id: 'tc_abc123',
      executed_params,
      result: {},
      execution_time_ms: 15,
    });
  });
});

describe('toolOutcomeSchema', () => {
  it('[EX-3] has no completed call with an error, and no failed call without one', () => {
    const completed = { ...call, status: 'completed', result: {}, error: permissionDenied };
    const failed = { ...call, status: 'failed', result: null, error: null };
    expect([completed, failed].map((outcome) => toolOutcomeSchema.safeParse(outcome).success)).toEqual([
      false,
      false,
    ]);
  });

  it('[EX-3] is final: a call that still waits has no outcome', () => {
    const waiting = { ...call, status: 'awaiting_approval', result: null, error: permissionDenied };
    expect(toolOutcomeSchema.safeParse(waiting).success).toBe(false);
  });
});

/** Parses the outcome with both schemas, as the other side would. */
function shown(outcome: ToolOutcome): unknown {
  return readModelResult(JSON.stringify(toModelResult(toolOutcomeSchema.parse(outcome))));
}
