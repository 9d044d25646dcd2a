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
import { EndedAfterChanges, RefusedHere } from './runner-errors.ts';

/** A command that ended by itself completed, also with exit code 1: then its `success` is false (TL-2). */
const hasCompleted = ({ success, exit_code, code }: ToolResult): boolean =>
  success || (typeof exit_code === 'number' && code === undefined);

/** A tool's result as the server is told it. A failed one still says what it had printed. */
export function reportOf(result: ToolResult, attempt: number, execution_time_ms: number): ResultReport {
  const told = { attempt, execution_time_ms, result: { ...result } };
  if (hasCompleted(result)) return { ...told, status: 'completed' };
  const code = Object.hasOwn(errorCodes, String(result.code))
    ? (result.code as ErrorCode)
    : 'EXECUTION_FAILED';
  const message = typeof result.error === 'string' ? result.error : describeError(code).message;
  return {
    ...told,
    status: 'failed',
    error: { ...describeError(code), message },
    ...(result.exit_code !== undefined && { error_details: { exit_code: result.exit_code } }),
  };
}

/** The report of a failure: a cancelled call is cancelled, every other one failed. */
export function failedReport(error: unknown, attempt: number, execution_time_ms?: number): ResultReport {
  const value = errorValueOf(error);
  const status = value.code === 'EXECUTION_CANCELLED' ? 'cancelled' : 'failed';
  const { code, message } = value;
  const error_details = detailsOf(error);
  return {
    status,
    error: value,
    attempt,
    ...(error_details && { error_details }),
    ...(execution_time_ms !== undefined && { execution_time_ms }),
    ...(error instanceof EndedAfterChanges && {
      result: { success: false, error: message, code, ...error.changes },
    }),
  };
}

export function errorValueOf(error: unknown): ToolErrorValue {
  if (error instanceof CountersignError) return { ...describeError(error.code), message: error.message };
  return describeError('EXECUTION_FAILED', {
    problem: error instanceof Error ? error.message : String(error),
  });
}

/** Details of an error for programs, beyond its code and message; undefined where there are none. */
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
