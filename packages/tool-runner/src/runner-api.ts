import type {
  EventPayload,
  errorBodySchema,
  JsonValue,
  RequestBody,
  ResponseBody,
  RouteName,
  RunChange,
  ToolErrorValue,
} from '@countersign/protocol';
import type { z } from 'zod';

/**
 * The requests that a runner sends, with the bodies of the protocol's routes. Methods throw a CountersignError with the
 * server's code if it refuses.
 */
export interface RunnerApi {
  approveToolExecution(approvalId: string, decision: RequestBody<'approve'>): Promise<DecisionAnswer>;
  rejectToolExecution(approvalId: string, decision: RequestBody<'reject'>): Promise<DecisionAnswer>;
  sendToolResult(toolId: string, result: SentBody<'submitResult'>): Promise<ResultAnswer>;
  /** Claims a call (EX-6). Without this method only LOW calls run. */
  startToolExecution?(toolId: string, claim: Claim): Promise<unknown>;
  sendToolPreview?(approvalId: string, preview: PreviewReport): Promise<unknown>;
  sendToolProgress?(toolId: string, progress: ProgressReport): Promise<unknown>;
  /** Asks about a host that a running command wants to reach. Without this method such hosts are refused. */
  askForHost?(toolId: string, wanted: { readonly host: string }): Promise<HostRequest>;
  sendHeartbeat?(beat: Heartbeat): Promise<HeartbeatAnswer>;
  /** Fetches parameters that an event omitted for their size (EV-2). */
  fetchToolParams?(toolId: string): Promise<Record<string, JsonValue>>;
}

/** A body without the runner's id and instance, which the implementation of the api adds. */
type SentBody<Name extends RouteName> = WithoutRunner<RequestBody<Name>>;
type WithoutRunner<Body> = Body extends unknown ? Omit<Body, 'runner_id' | 'instance'> : never;

/** A 409 is not thrown: the same decision stood `already`, or another decision or the timer `overruled` it. */
export type DecisionAnswer =
  | { readonly outcome: 'recorded'; readonly response: ResponseBody<'approve'> }
  | { readonly outcome: 'already' | 'overruled'; readonly standing: Standing };
type Standing = NonNullable<z.infer<typeof errorBodySchema>['standing']>;

export type Claim = SentBody<'startExecution'>;
export type ResultAnswer = Pick<ResponseBody<'submitResult'>, 'audit_head'>;
export type PreviewReport = SentBody<'submitPreview'>;
export type ProgressReport = SentBody<'submitProgress'>;
/** The call of `reach_host` that asks about a host. */
export type HostRequest = Pick<ResponseBody<'askForHost'>, 'tool_id' | 'status'>;
export type Heartbeat = SentBody<'heartbeat'>;
export type HeartbeatAnswer = Omit<ResponseBody<'heartbeat'>, 'success'>;

/** How a call or an undo ended. All fields but `error_details` are sent to the server. */
export type ResultReport = {
  readonly attempt: number;
  /** Undefined if the process that executed the call was lost. */
  readonly execution_time_ms?: number;
  readonly undo_id?: string;
  /** The calls that were undone as one. */
  readonly undo_tool_ids?: string[];
  /** Only for ToolExecutionResult and the journal (RE-3). */
  readonly error_details?: JsonValue;
} & (
  | {
      readonly status: 'completed';
      readonly result: JsonValue;
      /** How the whole run changed the files that the call changed. */
      readonly run_changes?: RunChange[];
      readonly error?: never;
    }
  | { readonly status: 'failed'; readonly error: ToolErrorValue; readonly result?: JsonValue }
  | { readonly status: 'cancelled'; readonly error?: ToolErrorValue; readonly result?: JsonValue }
);

export type ApprovalRequest = EventPayload<'tool.approval_request'>;
export type ExecutionSignal = EventPayload<'tool.execution_signal'>;
export type ResultAck = EventPayload<'tool.result_ack'>;
