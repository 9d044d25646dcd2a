import type { ChildProcess } from 'node:child_process';
import type { CallAssessment } from '@countersign/policy';
import type { BuiltInToolName, JsonValue, NetworkAccess, RiskLevel, ToolCall } from '@countersign/protocol';
import type { ChangeRecorder } from './files/file-snapshot.ts';
import type { Landed, LandingRequest } from './layers/landing.ts';

export interface CallContext {
  readonly toolId: string;
  readonly attempt: number;
  readonly sessionId: string;
  /** The stricter of the server's risk level and this runner's own (VA-8). */
  readonly riskLevel: RiskLevel;
  /** The network that the call may use. */
  readonly network: NetworkAccess;
  /** Asks whether the command may reach a host besides, and resolves when that is decided. */
  readonly askForHost?: ((host: string) => Promise<boolean>) | undefined;
  /** This runner's own reading of a command or shell line. */
  readonly details?: Pick<CallAssessment, 'commands' | 'environment'> | undefined;
  /** The base of the approved digest (AP-8). An executor that changes files compares it with its own plan. */
  readonly digest?: string;
  /** Aborted when the call is cancelled or the runner is disposed of. */
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
  /** Called with each process that is started for this call alone. */
  readonly onProcess?: ((running: RunningProcess) => void) | undefined;
  /** Journals the changes of a call before they are made (RN-3). */
  readonly changes: ChangeRecorder;
  /** For commands that write. Without it they run without layers. */
  readonly landing?: CallLanding | undefined;
}

/** Journals the layer of a call, and lands what its command wrote there (RN-12). */
export interface CallLanding {
  /** Call it before the command starts; with undefined if it starts without a layer after all. */
  begin(layerId: string | undefined): void;
  land(landing: Pick<LandingRequest, 'upper' | 'layerId' | 'effects' | 'result'>): Promise<Landed>;
}

export interface RunningProcess {
  readonly process: ChildProcess;
  /** Stops the process at its timeout. */
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
 * Executes calls of some tools. A failure is thrown as a CountersignError with its code; a cancelled call throws
 * `new ExecutionCancelled()`. Parameters are parsed and the policy has decided before `execute` is called.
 */
export interface Executor {
  readonly tools: readonly BuiltInToolName[];
  execute(call: ToolCall, context: CallContext): Promise<ToolResult>;
  /** True while a background job runs. */
  readonly isBusy?: boolean;
  /** Leaves no process, timer or file behind. Harmless twice. */
  dispose(): Promise<void>;
}
