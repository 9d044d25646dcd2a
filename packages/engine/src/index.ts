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
export { type AtPoint, type RunPoint, runPoints } from './agent/run-points.ts';
export { type Announced, auditHeadText, numberAnnounced } from './announced.ts';
export type { ApproveInput, DecisionAnswer, PreviewInput, RejectInput } from './approval-input.ts';
export { ApprovalManager } from './approval-manager.ts';
export { auditGenesis, auditHash } from './audit-chain.ts';
export { approvalView, errorOf, predicateOf } from './call-events.ts';
export type { CallContext, CallRequest } from './call-request.ts';
export type { Caller } from './caller.ts';
export type { ClaimInput } from './claims.ts';
export { type Clock, systemClock } from './clock.ts';
export { digestOf } from './digests.ts';
export { Dispatcher } from './dispatcher.ts';
export { Engine, type EngineDeps } from './engine.ts';
export {
  commitMoments,
  type FaultPoint,
  type FaultPoints,
  labelledCommits,
} from './fault-points.ts';
export { newId } from './ids.ts';
export { type EncodedRequest, endOfRequest } from './pending-request.ts';
export { PolicyBook } from './policy-book.ts';
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
export { type NamedRunner, notItsRunner, RunnerBindings } from './runner-bindings.ts';
export { rememberTold } from './runner-facts.ts';
export { runnerKey } from './runner-key.ts';
export type { ConnectedRunner } from './runner-registry.ts';
export type { ResultInput } from './settlements.ts';
export { largestShown } from './shown-size.ts';
export { orderOfStep } from './step-order.ts';
export { StorageFull } from './storage-full.ts';
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
  type Store,
  type ToolMetricsRow,
  type Transaction,
  type Unit,
} from './store.ts';
export type { StreamOptions, StreamSink } from './stream-manager.ts';
export { ToolExecutor } from './tool-executor.ts';
