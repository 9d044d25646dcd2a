import { describeError } from '@countersign/protocol';
import type { ToolResult } from '../executor.ts';
import type { Ending } from './run-to-end.ts';

/** The result of TL-2. A command that failed or ran out of time still says what it had printed. */
export function commandResult(
  program: string,
  ending: Ending,
  { timeout, limit }: { readonly timeout: number; readonly limit: number },
): ToolResult {
  const { status, stdout, stderr, isCut, seconds } = ending;
  const exitCode = typeof status === 'object' && 'exitCode' in status ? status.exitCode : null;
  const failure =
    exitCode === 0
      ? undefined
      : status === 'timeout'
        ? describeError('COMMAND_TIMEOUT', { timeout, limit })
        : describeError('COMMAND_FAILED', { program, outcome: outcomeOf(status) });
  return {
    success: failure === undefined,
    stdout,
    stderr,
    exit_code: exitCode,
    execution_time: Math.round(seconds * 1_000) / 1_000,
    ...(isCut ? { truncated: true } : {}),
    ...(failure ? { error: failure.message, code: failure.code } : {}),
  };
}

function outcomeOf(status: Exclude<Ending['status'], 'timeout'>): string {
  return 'exitCode' in status ? `exit code ${status.exitCode}` : `the signal ${status.signal}`;
}
