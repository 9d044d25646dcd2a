import { describeError } from '@countersign/protocol';
import type { ToolResult } from '../executor.ts';
import type { Ending } from './run-to-end.ts';

/** In seconds: what the command had, and the most that it could have asked for. */
interface CommandTimes {
  readonly timeout: number;
  readonly limit: number;
}

/**
 * The result of TL-2. A command that ended by itself has an exit code, and success says whether it was 0; one that was
 * stopped or killed failed, and still says what it had printed.
 */
export function commandResult(program: string, ending: Ending, times: CommandTimes): ToolResult {
  const { status, stdout, stderr, isCut, seconds } = ending;
  const exitCode = typeof status === 'object' && 'exitCode' in status ? status.exitCode : null;
  const failure = failureOf(program, status, times);
  return {
    success: exitCode === 0,
    stdout,
    stderr,
    exit_code: exitCode,
    execution_time: Math.round(seconds * 1_000) / 1_000,
    ...(isCut ? { truncated: true } : {}),
    ...(failure ? { error: failure.message, code: failure.code } : {}),
  };
}

function failureOf(program: string, status: Ending['status'], times: CommandTimes) {
  if (status === 'timeout') return describeError('COMMAND_TIMEOUT', { ...times });
  if ('exitCode' in status) return undefined;
  return describeError('COMMAND_FAILED', { program, outcome: `the signal ${status.signal}` });
}
