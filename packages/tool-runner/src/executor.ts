import type { ChildProcess } from 'node:child_process';
import type { BuiltInToolName, JsonValue, RiskLevel, ToolCall } from '@countersign/protocol';
import type { ChangeRecorder } from './files/file-snapshot.ts';

/** The context that a tool call is executed in. */
export interface CallContext {
  readonly toolId: string;
  readonly attempt: number;
  readonly sessionId: string;
  /** The stricter of what the server said and what this runner found itself (VA-8). */
  readonly riskLevel: RiskLevel;
  /** Granted by the assessment and shown on the card. */
  readonly network: boolean;
  /** The base of what was approved and claimed (AP-8): an executor that changes files compares it with its own plan. */
  readonly digest?: string;
  /** Aborted when the call is cancelled or the runner is disposed of. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** Told of each program that is started for this call alone, when it starts. */
  readonly onProcess?: ((running: RunningProcess) => void) | undefined;
  /** Where a call that changes files writes down what it is about to do, before it does it (RN-3). */
  readonly changes: ChangeRecorder;
}

export interface RunningProcess {
  readonly process: ChildProcess;
  /** Stops it when its time is over. */
  readonly timeout: NodeJS.Timeout;
}

export interface Progress {
  /** 0 to 100. */
  readonly percent?: number;
  readonly message?: string;
  readonly output?: { readonly stream: 'stdout' | 'stderr'; readonly chunk: string };
}

/** The result of a tool, in the shape of the catalogue (TL-2). A failure has `error` and `code`. */
export type ToolResult = { readonly success: boolean; readonly [key: string]: JsonValue };

/**
 * Does the work of some tools. A failure is thrown as a CountersignError with its code; a cancelled call ends by
 * throwing `new ExecutionCancelled()`. Parameters have been parsed and the policy has been asked before.
 */
export interface Executor {
  readonly tools: readonly BuiltInToolName[];
  execute(call: ToolCall, context: CallContext): Promise<ToolResult>;
  /** Whether something goes on behind calls that have ended: a background job. */
  readonly isBusy?: boolean;
  /** Leaves no process, timer or file behind. Harmless twice. */
  dispose(): Promise<void>;
}
