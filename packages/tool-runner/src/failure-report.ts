import {
  CountersignError,
  describeError,
  type ErrorCode,
  errorCodes,
  type ToolErrorValue,
} from '@countersign/protocol';
import type { ToolResult } from './executor.ts';
import type { ResultReport } from './runner-api.ts';

/** What a tool came back with. A command that exited with 1 failed, and still says what it had printed (TL-2). */
export function reportOf(result: ToolResult, attempt: number, executionTimeMs: number): ResultReport {
  const told = { attempt, executionTimeMs, result: { ...result } };
  if (result.success) return { ...told, status: 'completed' };
  const code = Object.hasOwn(errorCodes, String(result.code))
    ? (result.code as ErrorCode)
    : 'EXECUTION_FAILED';
  const message = typeof result.error === 'string' ? result.error : describeError(code).message;
  return { ...told, status: 'failed', error: { ...describeError(code), message } };
}

/** What went wrong, as the server is told: a cancelled call is cancelled, everything else failed. */
export function failedReport(error: unknown, attempt: number, executionTimeMs?: number): ResultReport {
  const value = errorValueOf(error);
  const status = value.code === 'EXECUTION_CANCELLED' ? 'cancelled' : 'failed';
  return { status, error: value, attempt, ...(executionTimeMs !== undefined && { executionTimeMs }) };
}

export function errorValueOf(error: unknown): ToolErrorValue {
  if (error instanceof CountersignError) return { ...describeError(error.code), message: error.message };
  return describeError('EXECUTION_FAILED', {
    problem: error instanceof Error ? error.message : String(error),
  });
}
