import type {
  EventPayload,
  errorBodySchema,
  JsonValue,
  RequestBody,
  ResponseBody,
  RouteName,
  ToolErrorValue,
} from '@countersign/protocol';
import type { z } from 'zod';

/**
 * What a runner says to the server: the bodies of the protocol's routes. Methods throw CountersignError with the
 * server's code where it refuses.
 */
export interface RunnerApi {
  approveToolExecution(approvalId: string, decision: RequestBody<'approve'>): Promise<DecisionAnswer>;
  rejectToolExecution(approvalId: string, decision: RequestBody<'reject'>): Promise<DecisionAnswer>;
  sendToolResult(toolId: string, result: SentBody<'submitResult'>): Promise<ResultAnswer>;
  /** The claim (EX-6). Without it, nothing that is not read-only ever runs. */
  startToolExecution?(toolId: string, claim: Claim): Promise<unknown>;
  sendToolPreview?(approvalId: string, preview: PreviewReport): Promise<unknown>;
  sendToolProgress?(toolId: string, progress: ProgressReport): Promise<unknown>;
  sendHeartbeat?(beat: Heartbeat): Promise<HeartbeatAnswer>;
  /** Parameters that an event left out for their size (EV-2). */
  fetchToolParams?(toolId: string): Promise<Record<string, JsonValue>>;
}

/** A body without the runner's id and instance, which the implementation of the api adds. */
type SentBody<Name extends RouteName> = WithoutRunner<RequestBody<Name>>;
type WithoutRunner<Body> = Body extends unknown ? Omit<Body, 'runner_id' | 'instance'> : never;

/** A decision's 409 is a value: the same decision stood already, or somebody else or the timer was first. */
export type DecisionAnswer =
  | { readonly outcome: 'recorded'; readonly response: ResponseBody<'approve'> }
  | { readonly outcome: 'already' | 'overruled'; readonly standing: Standing };
type Standing = NonNullable<z.infer<typeof errorBodySchema>['standing']>;

export type Claim = SentBody<'startExecution'>;
export type ResultAnswer = Pick<ResponseBody<'submitResult'>, 'audit_head'>;
export type PreviewReport = SentBody<'submitPreview'>;
export type ProgressReport = SentBody<'submitProgress'>;
export type Heartbeat = SentBody<'heartbeat'>;
export type HeartbeatAnswer = Omit<ResponseBody<'heartbeat'>, 'success'>;

/** How a call or an undo ended: the body that the server gets, and what only this machine keeps. */
export type ResultReport = {
  readonly attempt: number;
  /** Left out where it is unknown: the runner that executed it was lost. */
  readonly execution_time_ms?: number;
  readonly undo_id?: string;
  /** For ToolExecutionResult and the journal; the server gets `error` alone (RE-3). */
  readonly error_details?: JsonValue;
} & (
  | { readonly status: 'completed'; readonly result: JsonValue; readonly error?: never }
  | { readonly status: 'failed'; readonly error: ToolErrorValue; readonly result?: JsonValue }
  | { readonly status: 'cancelled'; readonly error?: ToolErrorValue; readonly result?: JsonValue }
);

export type ApprovalRequest = EventPayload<'tool.approval_request'>;
export type ExecutionSignal = EventPayload<'tool.execution_signal'>;
export type ResultAck = EventPayload<'tool.result_ack'>;
