import {
  CountersignError,
  describeError,
  type ErrorCode,
  errorCodes,
  type JsonValue,
  type ToolErrorValue,
} from '@countersign/protocol';
import type { ToolResult } from './executor.ts';
import type { ResultReport } from './runner-api.ts';
import { RefusedHere } from './runner-errors.ts';

/** What a tool came back with. A command that exited with 1 failed, and still says what it had printed (TL-2). */
export function reportOf(result: ToolResult, attempt: number, executionTimeMs: number): ResultReport {
  const told = { attempt, executionTimeMs, result: { ...result } };
  if (result.success) return { ...told, status: 'completed' };
  const code = Object.hasOwn(errorCodes, String(result.code))
    ? (result.code as ErrorCode)
    : 'EXECUTION_FAILED';
  const message = typeof result.error === 'string' ? result.error : describeError(code).message;
  return {
    ...told,
    status: 'failed',
    error: { ...describeError(code), message },
    ...(result.exit_code !== undefined && { errorDetails: { exit_code: result.exit_code } }),
  };
}

/** What went wrong, as the server is told: a cancelled call is cancelled, everything else failed. */
export function failedReport(error: unknown, attempt: number, executionTimeMs?: number): ResultReport {
  const value = errorValueOf(error);
  const status = value.code === 'EXECUTION_CANCELLED' ? 'cancelled' : 'failed';
  const errorDetails = detailsOf(error);
  return {
    status,
    error: value,
    attempt,
    ...(errorDetails && { errorDetails }),
    ...(executionTimeMs !== undefined && { executionTimeMs }),
  };
}

export function errorValueOf(error: unknown): ToolErrorValue {
  if (error instanceof CountersignError) return { ...describeError(error.code), message: error.message };
  return describeError('EXECUTION_FAILED', {
    problem: error instanceof Error ? error.message : String(error),
  });
}

/** What a program can use of an error beyond its code and message; undefined where there is nothing. */
function detailsOf(error: unknown): JsonValue | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof RefusedHere) return { reasons: error.reasons.map(({ rule, why }) => ({ rule, why })) };
  const { syscall, path } = error as NodeJS.ErrnoException;
  const details = {
    ...(error instanceof CountersignError ? error.values : { name: error.name }),
    ...(!(error instanceof CountersignError) && 'code' in error && { code: String(error.code) }),
    ...(syscall !== undefined && { syscall }),
    ...(path !== undefined && { path }),
    ...(error.cause instanceof Error &&
      error.cause.message !== error.message && { cause: error.cause.message }),
  };
  return Object.keys(details).length === 0 ? undefined : details;
}
