import type {
  CustomTool,
  EventPayload,
  JsonValue,
  Limits,
  Preview,
  Reason,
  RiskLevel,
} from '@countersign/protocol';

/** What a runner says to the server. A decision's 409 is turned into a value by whoever implements it. */
export interface RunnerApi {
  approveToolExecution(toolId: string, decision: ApprovedDecision): Promise<DecisionAnswer>;
  rejectToolExecution(toolId: string, reason: string, message?: string): Promise<DecisionAnswer>;
  sendToolResult(toolId: string, report: ResultReport): Promise<ResultAnswer>;
  /** The claim (EX-6). Without it, nothing that is not read-only ever runs. Throws CountersignError when refused. */
  startToolExecution?(toolId: string, claim: Claim): Promise<void>;
  sendToolPreview?(approvalId: string, preview: PreviewReport): Promise<void>;
  sendToolProgress?(toolId: string, progress: ProgressReport): Promise<void>;
  sendHeartbeat?(beat: Heartbeat): Promise<HeartbeatAnswer>;
  /** Parameters that an event left out for their size (EV-2). */
  fetchToolParams?(toolId: string): Promise<Record<string, JsonValue>>;
}

export interface ApprovedDecision {
  readonly approvalId: string;
  /** Of what was displayed (AP-8). */
  readonly digest?: string;
  readonly scope?: 'once' | 'class' | 'session' | 'always';
  readonly pattern?: string;
  readonly toolParams?: Record<string, JsonValue>;
  readonly includeHigh?: boolean;
}

export type DecisionAnswer =
  /** Recorded now, or the same decision stood already. */
  | { readonly outcome: 'stands' }
  /** Somebody else, or the timer, decided differently before. */
  | { readonly outcome: 'overruled'; readonly status: string };

export interface Claim {
  readonly digest: string | null;
  readonly attempt: number;
}

export interface ResultReport {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly result?: JsonValue;
  readonly error?: { readonly code: string; readonly message: string; readonly recoverable: boolean };
  /** For ToolExecutionResult and the journal; the server gets `error` alone (RE-3). */
  readonly errorDetails?: JsonValue;
  /** Not said where nobody knows: the runner that executed it was lost. */
  readonly executionTimeMs?: number;
  readonly attempt: number;
  readonly undoId?: string;
}

/** `refused`: the server has another result already, or knows no such call; sending it again is pointless. */
export type ResultAnswer =
  | { readonly outcome: 'acknowledged'; readonly auditHead?: string }
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string };

export type PreviewReport = { readonly revision: number; readonly reasons: readonly Reason[] } & (
  | {
      readonly preview: Preview;
      readonly base: string;
      readonly digest: string;
      readonly riskLevel: RiskLevel;
      readonly network: boolean;
    }
  | { readonly refused: { readonly code: string; readonly message: string } }
);

export interface ProgressReport {
  readonly progress: number | null;
  readonly message: string | null;
  readonly output: { readonly stream: 'stdout' | 'stderr'; readonly chunk: string } | null;
}

export interface Heartbeat {
  readonly queued: readonly string[];
  readonly executing: readonly string[];
  readonly unacknowledged: readonly string[];
  /** All that the person registered here: with the first heartbeat, and when they change (RN-8). */
  readonly customTools?: readonly CustomTool[];
  /** This machine's own bounds, with the first heartbeat and after a lost one (TL-3). */
  readonly limits?: Partial<Limits>;
}
export interface HeartbeatAnswer {
  readonly calls: Readonly<Record<string, 'go_on' | 'cancel' | 'acknowledged'>>;
  readonly auditHead?: string;
  /** The operator's bounds of the server. */
  readonly limits?: Partial<Limits>;
}

export type ApprovalRequest = EventPayload<'tool.approval_request'>;
export type ExecutionSignal = EventPayload<'tool.execution_signal'>;
export type ResultAck = EventPayload<'tool.result_ack'>;
