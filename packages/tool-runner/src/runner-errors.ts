import type { Refused } from '@countersign/policy';
import { builtInToolNames, CountersignError, type ErrorCode, type Reason } from '@countersign/protocol';
import type { CommandChanges } from './commands/workspace-changes.ts';

/** The call was cancelled by the person or because the runner ends. */
export class ExecutionCancelled extends CountersignError {
  /** `dropped`: how many changes of a command did not land because of it (RN-11). */
  constructor(dropped?: number) {
    super('EXECUTION_CANCELLED', {});
    if (dropped)
      this.message = `${this.message} Nothing that it wrote landed: ${dropped} ${dropped === 1 ? 'change was' : 'changes were'} dropped.`;
  }
}

/** Whether a call ended because it was cancelled, even if it had already changed files. */
export const isCancellation = (error: unknown): boolean =>
  error instanceof CountersignError && error.code === 'EXECUTION_CANCELLED';

/** What a call had done when it failed or was cancelled. */
export interface Begun extends CommandChanges {
  stdout?: string;
  stderr?: string;
  truncated?: true;
  exit_code?: null;
  execution_time?: number;
}

/** A failure or cancellation of a call that had already changed files or printed something: the report says so (TL-2). */
export class EndedAfterChanges extends CountersignError {
  readonly changes: Begun;

  constructor(cause: CountersignError, changes: Begun) {
    super(cause.code, cause.values, { cause });
    this.message = cause.message;
    this.changes = changes;
  }
}

/** The server refused a request, in its own words. */
export class RefusedByServer extends CountersignError {
  /** True: the server's code is unknown to this runner, and a retry would be refused too. */
  readonly isFinal: boolean;

  constructor(code: ErrorCode, message: string, isFinal: boolean, options?: { cause?: unknown }) {
    super(code, {}, options);
    this.message = message;
    this.isFinal = isFinal;
  }
}

/** No executor of this runner knows the tool. */
export class ToolTypeError extends CountersignError {
  constructor(tool: string) {
    super('UNKNOWN_TOOL', { tool: tool.slice(0, 100), known: builtInToolNames.join(', ') });
  }
}

/** This machine's own verdict refuses the call (VA-8), with its words and reasons. */
export class RefusedHere extends CountersignError {
  readonly reasons: readonly Reason[];

  constructor(verdict: Refused) {
    super(verdict.code);
    this.message = verdict.message;
    this.reasons = verdict.reasons;
  }
}

/** Too many calls are waiting (EX-4). */
export class ConcurrencyLimitError extends CountersignError {
  constructor(limit: number) {
    super('CONCURRENCY_LIMIT', { limit });
  }
}

/** The card's time is over. It is withdrawn; only the server expires the request (AP-3). */
export class ToolApprovalTimeout extends CountersignError {
  constructor() {
    super('APPROVAL_TIMEOUT', {});
  }
}

/** Throws ExecutionCancelled as soon as the signal aborts; the promise itself continues for other callers. */
export async function orCancelled<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: cancelled, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(new ExecutionCancelled());
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([promise, cancelled]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    cancelled.catch(() => {});
  }
}
