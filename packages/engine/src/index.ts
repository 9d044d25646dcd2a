export {
  AgentRuns,
  type AgentRunsDeps,
  type StartedRun,
  type StartRun,
} from './agent/agent-runs.ts';
export { manualModel } from './agent/manual-model.ts';
export { messageView } from './agent/message-events.ts';
export {
  type Model,
  ModelError,
  type ModelMessage,
  type ModelPart,
  type ModelRequest,
  type Models,
  type ModelToolCall,
  UnparsableParams,
} from './agent/model.ts';
export { availableTools, type OfferedTool, offeredTools } from './agent/offered-tools.ts';
export { defaultBudget, type RunBudget } from './agent/run-budget.ts';
export type { RunObserver } from './agent/run-observer.ts';
export type { ApproveInput, DecisionAnswer, PreviewInput, RejectInput } from './approve/approval-input.ts';
export { ApprovalManager } from './approve/approval-manager.ts';
export { StoredPolicies } from './approve/stored-policies.ts';
export type { Caller } from './caller.ts';
export type { ClaimInput } from './claim/claims.ts';
export { type NamedRunner, notItsRunner, RunnerBindings } from './claim/runner-bindings.ts';
export { type Clock, systemClock } from './clock.ts';
export { digestOf } from './digests.ts';
export { Dispatcher } from './dispatch/dispatcher.ts';
export { rememberTold, runnerKey } from './dispatch/runner-facts.ts';
export type { ConnectedRunner } from './dispatch/runner-registry.ts';
export { Engine, type EngineDeps } from './engine.ts';
export {
  type AtPoint,
  commitMoments,
  type FaultPoint,
  type FaultPoints,
  labelledCommits,
  runPoints,
} from './fault-points.ts';
export { newId } from './ids.ts';
export {
  type Announced,
  auditGenesis,
  auditHash,
  auditHeadText,
  numberAnnounced,
} from './record/announced.ts';
export { approvalView, errorOf, predicateOf } from './record/call-events.ts';
export type { CallContext, CallRequest } from './record/call-request.ts';
export { announceCall, type EventData, isoTime, makeEvent, type ServerEvent } from './record/make-event.ts';
export { largestShown } from './record/shown-size.ts';
export { orderOfStep } from './record/step-order.ts';
export { notFound, Refusal } from './refusal.ts';
export type {
  ApprovalRow,
  AuditRow,
  ExecutionRow,
  GrantRow,
  Json,
  JsonObject,
  MessageRow,
  NodeRow,
  PayloadRow,
  PolicyRow,
  ProjectRow,
  ResultRow,
  RunnerBindingRow,
  RunnerRow,
  RunRow,
  SessionRow,
  ShownPayload,
  StoredEvent,
  TableName,
  Tables,
  TokenRow,
} from './rows.ts';
export type { ResultInput } from './settle/settlements.ts';
export {
  type Announcement,
  approvalsAtOnce,
  type Bus,
  DuplicateRow,
  type Hint,
  type HistoryFilter,
  type MetricsFilter,
  type MetricsPoint,
  type PendingRequest,
  type Reading,
  type ShownApproval,
  StorageFull,
  type Store,
  type ToolMetricsRow,
  type Transaction,
  type Unit,
} from './store.ts';
export { type EncodedRequest, endOfRequest } from './streams/pending-requests.ts';
export type { StreamOptions, StreamSink } from './streams/stream-manager.ts';
export { ToolExecutor } from './tool-executor.ts';
